"""`run` prints one JSON line per claim and its exit code keeps three outcomes apart."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks import registry
from benchmarks.claim import Claim, compared


def claim(value: float, baseline: float | None) -> Claim:
    return compared(
        name="n", value=value, unit="s", baseline=baseline, note="b", at_least=1
    )


INFORMS = compared(name="i", value=1, unit="s", baseline=None, note="b")


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([claim(2, 1), INFORMS], 0),
        ([claim(2, 1), claim(1, 2), claim(1, None)], 1),
        ([claim(2, 1), claim(1, None)], 2),
    ],
)
def test_met_missed_and_not_measured_are_three_exit_codes(
    found: list[Claim],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fake() -> Iterator[Claim]:
        yield from found

    monkeypatch.setitem(registry.BENCHMARKS, "fake", fake)
    assert registry.run("fake") == code
    lines = capsys.readouterr().out.splitlines()
    assert lines == [item.json_line() for item in found]
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="benchmark is 'nope'; allowed: .*signature"):
        registry.run("nope")


def test_importing_the_registry_imports_no_torch() -> None:
    code = "import sys, benchmarks.registry; print('torch' in sys.modules)"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "False\n"
