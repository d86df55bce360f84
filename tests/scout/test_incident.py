"""What belongs to an open incident, and what is a new one."""

from __future__ import annotations

from scout.incident import Ledger

TWO = frozenset({2})
OTHERS = frozenset({0, 1, 3})
ALL = TWO | OTHERS


def test_a_second_sighting_is_the_same_incident() -> None:
    ledger = Ledger()
    assert ledger.on_found(TWO, {"a"}) is not None
    assert ledger.on_found(TWO, {"a"}) is None


def test_further_layers_of_one_fault_are_the_same_incident() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"a"})
    ledger.on_clean(OTHERS, {"a"})
    assert ledger.on_found(TWO, {"b"}) is None


def test_residue_keeps_its_incident_open() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"a"})
    for _ in range(3):
        assert ledger.on_clean(ALL, {"b"}) == []
        assert ledger.on_found(TWO, {"a"}) is None


def test_a_clean_measurement_of_its_place_closes_it() -> None:
    ledger = Ledger()
    first = ledger.on_found(TWO, {"a"})
    assert ledger.on_clean(ALL, {"a"}) == [first]
    second = ledger.on_found(TWO, {"a"})
    assert second is not None
    assert second.number == 2


def test_it_closes_only_after_as_many_clean_measurements_as_asked_for() -> None:
    ledger = Ledger(close_after=2)
    first = ledger.on_found(TWO, {"a"})
    assert ledger.on_clean(ALL, {"a"}) == []
    assert ledger.on_found(TWO, {"a"}) is None  # it came back: the count begins again
    assert ledger.on_clean(ALL, {"a"}) == []
    assert ledger.on_clean(ALL, {"a"}) == [first]


def test_peers_that_agree_do_not_close_the_incident_of_one_that_does_not() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"a"})
    assert ledger.on_clean(OTHERS, {"a"}) == []


def test_another_culprit_is_a_new_incident_while_the_first_is_open() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"a"})
    fresh = ledger.on_found(TWO | {1}, {"a"})
    assert fresh is not None
    assert fresh.culprits == {1}


def test_a_place_that_was_clean_since_is_a_new_incident_of_the_same_rank() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"a"})
    ledger.on_clean(ALL, {"b"})
    fresh = ledger.on_found(TWO, {"b"})
    assert fresh is not None
    assert fresh.number == 2


def test_a_slice_that_holds_parameters_of_its_layer_is_the_same_incident() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"blocks.1"})
    ledger.on_clean(ALL, {"a .. b"})  # an intermittent fault did not strike there
    held = frozenset({"blocks.0.weight", "blocks.1.norm.weight"})
    assert ledger.on_found(TWO, {"a .. b"}, held) is None


def test_a_layer_whose_parameters_its_slice_held_is_the_same_incident() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"a .. b"}, frozenset({"blocks.1.norm.weight"}))
    ledger.on_clean(ALL, {"blocks.1"})
    assert ledger.on_found(TWO, {"blocks.1"}) is None


def test_a_slice_of_other_parameters_is_a_new_incident() -> None:
    ledger = Ledger()
    ledger.on_found(TWO, {"blocks.1"})
    ledger.on_clean(ALL, {"a .. b"})
    held = frozenset({"blocks.0.weight", "blocks.10.weight"})
    assert ledger.on_found(TWO, {"a .. b"}, held) is not None


def test_nobody_named_and_somebody_named_are_different_incidents() -> None:
    ledger = Ledger()
    assert ledger.on_found(frozenset(), {"a"}) is not None
    assert ledger.on_found(frozenset(), {"a"}) is None
    assert ledger.on_found(TWO, {"a"}) is not None
