"""Functions are timed in turns."""

from __future__ import annotations

from benchmarks.interleaved import median_seconds


def test_functions_take_turns_after_one_call_that_is_not_counted() -> None:
    order: list[str] = []
    functions = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    found = median_seconds(functions, rounds=2, calls=2)
    assert "".join(order) == "ab" + "aabb" * 2
    assert sorted(found) == ["a", "b"]
    assert min(found.values()) >= 0
