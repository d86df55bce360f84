"""The signature benchmark measures what it names; `make bench` judges its goals."""

from __future__ import annotations

import importlib.util

import torch

from benchmarks.signature import MIB, claims

HAS_PEER = importlib.util.find_spec("lm_resiliency") is not None


def test_every_claim_is_measured_or_says_why_not() -> None:
    num_threads = torch.get_num_threads()
    found = list(claims(size_bytes=MIB, rounds=1))
    assert [claim.goal for claim in found] == [">= 0.3", ">= 10", None, None]
    assert all(claim.value > 0 for claim in found)
    of_peer = [found[1], found[3]]
    assert all((claim.baseline is not None) == HAS_PEER for claim in of_peer)
    assert all(claim.note.startswith("not measured") != HAS_PEER for claim in of_peer)
    assert "1 MiB" in found[0].name
    assert torch.get_num_threads() == num_threads
