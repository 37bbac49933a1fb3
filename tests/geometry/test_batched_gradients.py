"""Gradients of the Lorentz operators for a graph that is kept, and with a batch of their own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hypergraph.geometry import lorentz


def points(seed: int) -> Tensor:
    return torch.randn(7, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(7, 3), (1, 3), (2, 7, 3)])
def test_second_pass_over_a_kept_graph(shape: tuple[int, ...]) -> None:
    """The first one may use up what was kept, and its gradients are the caller's."""
    x = lorentz.exp0(points(0), K=-0.5).requires_grad_()
    y = lorentz.exp0(torch.randn(shape, dtype=torch.float64), K=-0.5).requires_grad_()
    distances = lorentz.dist(x, y, K=-0.5)
    weights = torch.rand_like(distances)
    first = torch.autograd.grad(distances, (x, y), weights, retain_graph=True)
    expected = [g.clone() for g in first]
    for g in first:
        g.zero_()
    batched = torch.autograd.grad(distances, (x, y), weights[None], retain_graph=True, is_grads_batched=True)
    torch.testing.assert_close([g[0] for g in batched], expected)
    recorded = torch.autograd.grad(distances, (x, y), weights, create_graph=True)
    torch.testing.assert_close(list(recorded), expected)
    torch.testing.assert_close(list(torch.autograd.grad(distances, (x, y), weights)), expected)


@pytest.mark.parametrize("name", ["dist", "dist0", "project", "gyro_add"])
def test_vectorised_jacobian(name: str) -> None:
    """Backward passes that write in place, under a gradient with a batch that the points have not."""
    args = tuple(
        lorentz.exp0(points(seed), K=-0.5) for seed in range(2 if name in ("dist", "gyro_add") else 1)
    )

    def function(*args: Tensor) -> Tensor:
        return getattr(lorentz, name)(*args, K=-0.5)

    batched, one_by_one = (
        torch.autograd.functional.jacobian(function, args, vectorize=vectorize) for vectorize in (True, False)
    )
    torch.testing.assert_close(batched, one_by_one)
