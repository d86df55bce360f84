"""JSON and back, strictly, for every event there is."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocab.codec import from_json, to_json
from vocab.errors import DecodeError
from vocab.events import EVENT_TYPES, Event, Stamped, decode, encode
from vocab.verdict import Statistic, Verdict

# Verdicts are drawn so that only attributed ones name somebody.
st.register_type_strategy(
    Verdict,
    lambda _: st.builds(_verdict_of, st.fixed_dictionaries(_fields_of(Verdict))),
)
_FLOATS = st.floats(allow_nan=False)


def _fields_of(cls: type) -> dict[str, st.SearchStrategy[Any]]:
    hints = get_type_hints(cls)
    return {
        field.name: _FLOATS if hints[field.name] is float
        else st.from_type(hints[field.name])
        for field in dataclasses.fields(cls)
    }  # fmt: skip


def _verdict_of(fields: dict[str, Any]) -> Verdict:
    blamed = fields["blamed"] or ("rank0",)
    is_attributed = fields["state"] == "attributed"
    return Verdict(**{**fields, "blamed": blamed if is_attributed else ()})


@pytest.mark.parametrize("cls", EVENT_TYPES.values(), ids=EVENT_TYPES)
@given(data=st.data())
def test_every_event_comes_back_as_it_was(
    cls: type[Event], data: st.DataObject
) -> None:
    event = data.draw(st.from_type(cls))
    stamped = Stamped(seq=1, t_ns=2, source="rank0", event=event)
    line = json.dumps(encode(stamped), allow_nan=False)
    again = decode(json.loads(line))
    # NaN is unequal to itself: compare what is written.
    assert json.dumps(encode(again)) == line
    assert type(again.event) is cls


def test_every_event_class_is_registered() -> None:
    subclasses = {cls.__name__: cls for cls in Event.__subclasses__()}
    assert subclasses == EVENT_TYPES


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_has_not_becomes_a_word(value: float) -> None:
    statistic = Statistic(name="x", value=value, threshold=None, expression="x")
    data = json.loads(json.dumps(to_json(statistic), allow_nan=False))
    again = from_json(Statistic, data).value
    assert again is not None
    assert math.isnan(again) if math.isnan(value) else again == value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    name: str
    size: int = 0
    part: float | None = None
    pairs: tuple[tuple[int, str], ...] = ()
    by_name: dict[str, float] = dataclasses.field(default_factory=dict)
    is_on: bool = False


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], r"Sample: expected an object"),
        ({}, r"Sample: .*name"),
        ({"name": "a", "siez": 1}, r"unknown field 'siez'; allowed: .*size"),
        ({"name": 3}, r"Sample.name: expected str, got 3"),
        ({"name": "a", "size": 1.5}, r"Sample.size: expected int, got 1.5"),
        ({"name": "a", "size": True}, r"Sample.size: expected int, got True"),
        ({"name": "a", "part": "x"}, r"Sample.part: expected float, got 'x'"),
        ({"name": "a", "part": True}, r"Sample.part: expected float, got True"),
        ({"name": "a", "is_on": 1}, r"Sample.is_on: expected bool, got 1"),
        ({"name": "a", "pairs": [[1]]}, r"Sample.pairs\[0\]: expected 2 items, got 1"),
        ({"name": "a", "pairs": [["x", "y"]]}, r"Sample.pairs\[0\]\[0\]: expected int"),
        ({"name": "a", "pairs": "xy"}, r"Sample.pairs: expected a list"),
        ({"name": "a", "by_name": [1]}, r"Sample.by_name: expected an object"),
        ({"name": "a", "by_name": {"k": "v"}}, r"Sample.by_name: expected float"),
    ],
)
def test_what_does_not_fit_names_the_field(data: Any, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        from_json(Sample, data)


def test_an_unknown_enum_value_lists_the_known_ones() -> None:
    with pytest.raises(DecodeError, match=r"Verdict.state: 'guilty'; allowed: 'attr"):
        from_json(Verdict, {"state": "guilty"})


def test_a_verdict_that_breaks_the_rule_is_not_read() -> None:
    data = {
        "verdict_id": "v", "incident": 1, "kind": "sdc", "state": "attributed",
        "scope": "rank", "reason_code": "", "reason": "", "action": "continue",
        "group": "", "blamed": ["rank1"],
    }  # fmt: skip
    assert from_json(Verdict, data).blamed == ("rank1",)
    with pytest.raises(DecodeError, match="exactly the attributed verdicts"):
        from_json(Verdict, {**data, "blamed": []})


@pytest.mark.parametrize(
    "data",
    [None, [], {"seq": "1"}, {"seq": 1, "t_ns": 1, "source": "x", "type": "Nothing"}],
)
def test_what_is_no_event_is_refused(data: Any) -> None:
    with pytest.raises(DecodeError):
        decode(data)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot write object as JSON"):
        to_json(object())
