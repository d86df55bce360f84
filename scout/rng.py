"""Capture, install and restore random states around a replay (SCOUT sec. 6.1.1).

The source's torch states are broadcast and installed, so that dropout masks are the
same on every peer; afterwards each peer gets all of its own streams back, so that
diagnosis does not advance training's randomness.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch


def capture(device: torch.device) -> list[torch.Tensor]:
    """Copies of the CPU state and, on an accelerator, of the device's state (uint8)."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def install(states: Sequence[torch.Tensor], device: torch.device) -> None:
    """Set the states that `capture` made for the same kind of device."""
    # Cloned: set_rng_state reads from the start of the storage, not of the view.
    torch.set_rng_state(states[0].cpu().clone())
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1].cpu().clone(), device)


@contextmanager
def preserved(device: torch.device) -> Iterator[None]:
    """Give torch's, Python's and NumPy's streams back as they were."""
    states = capture(device)
    python_state = random.getstate()
    numpy_random = getattr(sys.modules.get("numpy"), "random", None)
    numpy_state = numpy_random.get_state() if numpy_random is not None else None
    try:
        yield
    finally:
        install(states, device)
        random.setstate(python_state)
        if numpy_random is not None:
            numpy_random.set_state(numpy_state)
