"""What a fingerprint says of each operation, and what may differ between callers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup

from scout.fingerprint import differing_fields
from scout.recording.operations import OPERATIONS, Describer

X = torch.zeros(2, 3)
SUM = SimpleNamespace(reduceOp=dist.ReduceOp(dist.ReduceOp.SUM), asyncOp=False)
PLAIN = SimpleNamespace(asyncOp=False)


def rooted(root: int) -> SimpleNamespace:
    return SimpleNamespace(rootRank=root, asyncOp=False)


def describe(method: str, *args: Any) -> str | None:
    return Describer().describe(OPERATIONS[method], args)


@pytest.mark.parametrize(
    ("method", "args", "text"),
    [
        ("allreduce", ([X], SUM), "all_reduce|sum|float32|[2,3]|root=-"),
        (
            "allreduce_coalesced",
            ([X, X.int()], SUM),
            "all_reduce_coalesced|sum|float32+int32|[2,3]+[2,3]|root=-",
        ),
        ("broadcast", ([X], rooted(2)), "broadcast|-|float32|[2,3]|root=2"),
        ("allgather", ([[X, X]], [X], PLAIN), "all_gather|-|float32|[2,3]|root=-"),
        (
            "all_gather_single",
            (X, X[0], PLAIN),
            "all_gather_single|-|float32|[3]|root=-",
        ),
        ("gather", ([], [X], rooted(0)), "gather|-|float32|[2,3]|root=0"),
        ("scatter", ([X], [], rooted(1)), "scatter|-|float32|[2,3]|root=1"),
        ("barrier", (PLAIN,), "barrier|-|-|-|root=-"),
        (
            "all_to_all_single",
            (X, X, [], [], PLAIN),
            "all_to_all_single|-|float32|[2,3]|root=-",
        ),
    ],
)
def test_a_fingerprint_names_what_callers_share(
    method: str, args: tuple[Any, ...], text: str
) -> None:
    assert describe(method, *args) == text


def test_every_reduction_has_a_name_of_its_own() -> None:
    names = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
    found = [
        describe(
            "allreduce",
            [X],
            SimpleNamespace(reduceOp=dist.ReduceOp(getattr(dist.ReduceOp, name))),
        )
        for name in names
    ]
    assert [text.split("|")[1] for text in found if text] == [n.lower() for n in names]


def test_the_newer_and_the_older_name_of_a_call_are_one_operation() -> None:
    for older, newer in (
        ("_allgather_base", "all_gather_single"),
        ("_reduce_scatter_base", "reduce_scatter_single"),
        ("alltoall_base", "all_to_all_single"),
        ("allgather_into_tensor_coalesced", "all_gather_single_coalesced"),
        ("reduce_scatter_tensor_coalesced", "reduce_scatter_single_coalesced"),
    ):
        assert OPERATIONS[older] == OPERATIONS[newer]


def test_splits_and_ragged_lists_may_differ() -> None:
    a = describe("all_to_all_single", X, X, [1, 1], [2, 0], PLAIN)
    b = describe("all_to_all_single", X, torch.zeros(9), [2, 0], [1, 1], PLAIN)
    assert a is not None
    assert b is not None
    assert differing_fields(a, b) == ()
    ragged = describe("allgather", [[X, X[0]]], [X], PLAIN)
    other = describe("allgather", [[X, X[0]]], [X[0]], PLAIN)
    assert ragged == other


def test_point_to_point_has_no_fingerprint() -> None:
    assert describe("send", [X], 1, 0) is None
    assert describe("recv_anysource", [X], 0) is None


def test_unusual_overloads_are_described_as_far_as_possible() -> None:
    assert describe("allreduce", X) == "all_reduce|-|float32|[2,3]|root=-"
    assert describe("barrier") == "barrier|-|-|-|root=-"


def test_a_description_is_remembered_and_the_memory_is_bounded() -> None:
    describer = Describer()
    entry = OPERATIONS["allreduce"]
    texts = {
        describer.describe(entry, ([torch.empty(size, 0)], SUM)) for size in range(5000)
    }
    assert len(texts) == 5000
    assert len(describer._known) <= 4096


def test_every_collective_of_this_torch_is_in_the_table() -> None:
    # A new name would bypass the recording, and fail in the base class.
    words = (
        "reduce",
        "gather",
        "scatter",
        "broadcast",
        "barrier",
        "all",
        "send",
        "recv",
    )
    methods = {
        name
        for name in dir(ProcessGroup)
        if not name.startswith("__")
        and any(word in name for word in words)
        and callable(getattr(ProcessGroup, name))
    }
    assert methods - set(OPERATIONS) == set()
