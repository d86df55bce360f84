"""Calibrations as a JSON text, and the look-up of one that fits (SprayCheck 5.3).

Pure: text in and out; whoever calls it reads and writes the file. Format 1:

    {"format": "faultyard.spraycheck.calibration", "version": 1,
     "calibrations": [{"key": {"policy": "jsq2", "num_spines": 8, "load": 0.98,
                               "burst_pkts": 1},
                       "sensitivity": ..., "wanted_false_alarm": ...,
                       "false_alarm": {"k", "n", "value", "low", "high", "confidence"},
                       "variance_ratio": ..., "num_packets": ...}, ...]}

No such file comes with Faultyard: an s is true of the fabric that it was measured on.
Nothing is interpolated; a key that is not there is an error that lists those that are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence

from spraycheck.calibrate import Calibration, Key
from spraycheck.errors import CalibrationError
from vocab.codec import from_json, to_json
from vocab.errors import DecodeError

FORMAT = "faultyard.spraycheck.calibration"
VERSION = 1


def dump(calibrations: Iterable[Calibration]) -> str:
    """The text of a calibration file."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "calibrations": [to_json(item) for item in calibrations],
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def load(text: str) -> tuple[Calibration, ...]:
    """Read a calibration file.

    Raises:
        CalibrationError: not of this format, or a field is missing or impossible.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise CalibrationError(f"calibration file is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CalibrationError(f"not a calibration file; allowed: format {FORMAT!r}")
    if data.get("version") != VERSION:
        raise CalibrationError(
            f"version is {data.get('version')!r}; allowed: {VERSION}"
        )
    entries = data.get("calibrations")
    if not isinstance(entries, list):
        raise CalibrationError("calibrations is missing; allowed: a list")
    try:
        found = tuple(
            from_json(Calibration, item, f"calibrations[{place}]")
            for place, item in enumerate(entries)
        )
    except DecodeError as error:
        raise CalibrationError(str(error)) from None
    for place, item in enumerate(found):
        if not 0 <= item.sensitivity < math.inf:
            raise CalibrationError(
                f"calibrations[{place}].sensitivity is {item.sensitivity}; "
                "allowed: 0 or more"
            )
    return found


def find(calibrations: Sequence[Calibration], key: Key) -> Calibration:
    """The calibration of exactly this key; the newest where there are several.

    Raises:
        CalibrationError: there is none.
    """
    for item in reversed(calibrations):
        if item.key == key:
            return item
    known = "; ".join(sorted({_words(item.key) for item in calibrations})) or "none"
    raise CalibrationError(f"no s for {_words(key)}; calibrated: {known}")


def by_spines(
    calibrations: Sequence[Calibration], *, policy: str, load: float, burst_pkts: int
) -> Callable[[int], float]:
    """s as a function of k, for `control.ControlConfig.sensitivity`."""

    def sensitivity(num_spines: int) -> float:
        key = Key(
            policy=policy, num_spines=num_spines, load=load, burst_pkts=burst_pkts
        )
        return find(calibrations, key).sensitivity

    return sensitivity


def _words(key: Key) -> str:
    return (
        f"{key.policy}, k = {key.num_spines}, load {key.load:g}, "
        f"bursts of {key.burst_pkts}"
    )
