"""The same gradients as torch's own call, without what that call imports."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scout.seeded_backward import seeded_backward
from tests.repo.source import ROOT


def made(seed: int, dtype: torch.dtype) -> tuple[list[torch.Tensor], ...]:
    """(outputs, wanted, gradients) of a small graph with two outputs."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(4, 3, generator=generator).to(dtype).requires_grad_()
    w = torch.randn(3, 3, generator=generator).to(dtype).requires_grad_()
    unused = torch.zeros(2, dtype=dtype, requires_grad=True)
    first = torch.tanh(x @ w)
    second = first.sum(0) * x[0]
    gradients = [torch.randn(t.shape, generator=generator).to(dtype)
                 for t in (first, second)]  # fmt: skip
    return [first, second], [x, w, unused], gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@given(seed=st.integers(0, 10_000))
def test_gradients_are_bitwise_those_of_autograd_grad(
    dtype: torch.dtype, seed: int
) -> None:
    outputs, wanted, gradients = made(seed, dtype)
    own = seeded_backward(*made(seed, dtype))
    reference = torch.autograd.grad(outputs, wanted, gradients, allow_unused=True)
    assert own[2] is None
    assert reference[2] is None
    assert all(
        a is not None and torch.equal(a, b)
        for a, b in zip(own[:2], reference[:2], strict=True)
    )


def test_signs_of_zero_infinities_and_nan_arrive_as_they_are() -> None:
    x = torch.ones(4, requires_grad=True)
    gradient = torch.tensor([-0.0, float("inf"), float("nan"), 1e-45])
    [found] = seeded_backward([x * 1], [x], [gradient])
    assert found is not None
    assert torch.equal(found.view(torch.int32), gradient.view(torch.int32))


def test_gradients_of_complex_outputs_arrive() -> None:
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    gradient = torch.tensor([1 + 2j, 3 - 1j])
    [found] = seeded_backward([x * 2], [x], [gradient])
    assert found is not None
    assert torch.equal(found, gradient * 2)


def test_parameters_keep_their_own_gradients() -> None:
    layer = torch.nn.Linear(2, 2)
    out = layer(torch.ones(1, 2))
    seeded_backward([out], list(layer.parameters()), [torch.ones(1, 2)])
    assert layer.weight.grad is None


def test_a_gradient_of_another_shape_is_an_error() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        seeded_backward([x * 2], [x], [torch.ones(2)])


def test_nothing_large_is_imported_for_it() -> None:
    code = (
        "import sys, torch; from scout.seeded_backward import seeded_backward\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "seeded_backward([x * 2], [x], [torch.ones(2)])\n"
        "sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
