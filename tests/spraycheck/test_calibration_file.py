"""Calibration files come back as they were, fit exactly, and fail by name."""

from __future__ import annotations

import json

import pytest

from spraycheck.calibrate import Calibration, Key
from spraycheck.calibration_file import by_spines, dump, find, load
from spraycheck.errors import CalibrationError
from tests.repo.source import ROOT
from vocab.intervals import wilson


def calibration(k: int, s: float) -> Calibration:
    return Calibration(
        key=Key(policy="jsq2", num_spines=k, load=0.98, burst_pkts=1),
        sensitivity=s,
        wanted_false_alarm=0.01,
        false_alarm=wilson(0, 500),
        variance_ratio=0.01,
        num_packets=160_000,
    )


TWO = (calibration(8, 0.5), calibration(4, 0.6))


def test_a_file_comes_back_as_it_was() -> None:
    assert load(dump(TWO)) == TWO
    assert load(dump(())) == ()


def test_only_the_exact_key_fits_and_the_newest_wins() -> None:
    newer = calibration(8, 0.7)
    assert find((*TWO, newer), TWO[0].key) is newer
    s = by_spines(TWO, policy="jsq2", load=0.98, burst_pkts=1)
    assert (s(8), s(4)) == (0.5, 0.6)
    with pytest.raises(
        CalibrationError,
        match=r"no s for jsq2, k = 7, load 0.98, bursts of 1; calibrated: jsq2, k = 4",
    ):
        s(7)
    with pytest.raises(CalibrationError, match=r"load 0.9, .* calibrated: none"):
        by_spines((), policy="jsq2", load=0.9, burst_pkts=1)(8)


def test_none_is_shipped() -> None:
    shipped = [path for path in ROOT.glob("spraycheck/**/*") if path.suffix == ".json"]
    assert shipped == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a calibration file; allowed: format"),
        ({"version": 2}, "version is 2; allowed: 1"),
        ({"calibrations": None}, "calibrations is missing"),
        ({"calibrations": [{}]}, r"calibrations\[0\]"),
        ({"calibrations": [{"s": 1}]}, r"calibrations\[0\]: unknown field 's'"),
    ],
)
def test_what_is_no_calibration_file_is_a_named_error(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(CalibrationError, match=message):
        load(json.dumps({**json.loads(dump(TWO)), **change}))


def test_a_sensitivity_below_zero_is_a_named_error() -> None:
    text = dump((calibration(8, -1.0),))
    with pytest.raises(CalibrationError, match="sensitivity is -1.0; allowed: 0"):
        load(text)


def test_text_that_is_no_json_is_a_named_error() -> None:
    with pytest.raises(CalibrationError, match="is not JSON"):
        load("{")
