"""`faultyard calibrate`: which s belongs to which simulated fabric (SprayCheck 5.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeGuard

import typer


def calibrate(
    spines: Annotated[
        str, typer.Option(help="Numbers of usable spines, such as 2-8 or 4.")
    ] = "2-8",
    policy: Annotated[str, typer.Option(help="Spraying policy.")] = "jsq2",
    load: Annotated[float, typer.Option(help="Load of the uplinks, 0 to 1.")] = 0.98,
    burst_pkts: Annotated[
        int, typer.Option(help="Packets that a host sends back to back.")
    ] = 1,
    flows: Annotated[
        int, typer.Option(help="Healthy flows to play for each.", min=100)
    ] = 2000,
    output: Annotated[
        Path | None, typer.Option(help="File; its other entries stay. Absent: print.")
    ] = None,
) -> int:
    """Play healthy flows on the simulated fabric, and write the s of each k.

    The same command made the file that scenarios with `fabric: simulated` use.
    """
    from harness.commands.terminal import plain
    from harness.errors import UsageError
    from harness.fabric.calibration import sample
    from spraycheck.calibrate import Key
    from spraycheck.calibration_file import dump
    from spraycheck.calibration_file import load as read
    from spraycheck.errors import CalibrationError, SimulationError

    try:
        found = list(read(output.read_text("utf-8"))) if _exists(output) else []
        for num_spines in _numbers(spines):
            key = Key(
                policy=policy, num_spines=num_spines, load=load, burst_pkts=burst_pkts
            )
            new = sample(key, num_flows=flows)
            found = [item for item in found if item.key != key] + [new]
            plain(
                f"k = {num_spines}: s = {new.sensitivity:.4f}, Var X / lambda = "
                f"{new.variance_ratio:.5f}, {new.false_alarm.k} of {new.false_alarm.n} "
                "healthy flows fail"
            )
    except (CalibrationError, SimulationError) as error:
        raise UsageError(str(error)) from None
    text = dump(found)
    if output is None:
        plain(text.rstrip())
    else:
        output.write_text(text, "utf-8")
    return 0


def _exists(output: Path | None) -> TypeGuard[Path]:
    return output is not None and output.exists()


def _numbers(text: str) -> range:
    from harness.errors import UsageError

    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise UsageError(f"spines is {text!r}; allowed: 4 or 2-8") from None
