"""Each head against the paper's formula, one point and one class at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.space import Space
from hypergraph.nn import HEADS, make_head, make_space
from tests import reference

CURVATURES = [-1.0, -0.1, -0.5, -2.3]


def spread_parameters(module: nn.Module) -> None:
    """Parameters away from their initial zeros, so that nothing is tested at a special point."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim():
                parameter.add_(0.3 * torch.randn_like(parameter))


def make(name: str, n: int, C: int, K: float) -> tuple[nn.Module, Tensor, Space]:
    torch.manual_seed(0)
    space = make_space(HEADS[name].space, K).double()
    head = make_head(name, n, C, space).double()
    spread_parameters(head)
    return head, space.exp0(torch.randn(6, n, dtype=torch.float64)), space


def slow_logit(name: str, head: nn.Module, x: Tensor, k: int, K: float) -> Tensor:
    z = head.weight[k]
    model = HEADS[name].space
    if name in ("bmlr-p", "bmlr-l"):
        return reference.bmlr(x, z / z.norm(), head.alpha[k], head.b[k], K, model)
    if name == "pmlr":
        return reference.pmlr(x, z / z.norm(), head.alpha[k], head.b[k], K)
    if name == "pmlr-ganea":
        return reference.pmlr_ganea(x, reference.exp0(head.point[k], K, model), z, K)
    if name == "pbmlr-p":
        return reference.pbmlr(x, reference.exp0(head.point[k], K, model), z / z.norm(), K)
    if name == "lmlr":
        return reference.lmlr(x, z, head.b[k], K)
    tangent = x if model == "euclidean" else reference.log0(x, K, model)
    return z @ tangent + head.b[k]


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("name", HEADS)
def test_head_equals_the_paper(name: str, K: float) -> None:
    head, x, space = make(name, 5, 4, K)
    K = space.K.item()  # as stored
    expected = torch.stack([torch.stack([slow_logit(name, head, row, k, K) for k in range(4)]) for row in x])
    torch.testing.assert_close(head(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("name", ["bmlr-p", "bmlr-l"])
def test_bmlr_is_a_signed_distance_to_a_horosphere(name: str, K: float) -> None:
    head, x, space = make(name, 5, 4, K)
    tau = head.b / head.alpha
    distance = space.dist_horosphere(x, head.v, tau)
    torch.testing.assert_close(head(x), torch.sign(tau - space.busemann(x, head.v)) * head.alpha * distance)


def nearest_distance(space: Space, x: Tensor, p: Tensor, a: Tensor, n: int) -> Tensor:
    """The least distance from x to exp_p of the vectors orthogonal to a, by optimisation over them."""
    basis = torch.linalg.qr(torch.cat([a[:, None], torch.eye(n, dtype=torch.float64)], 1))[0][:, 1:]
    w = torch.zeros(n - 1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([w], max_iter=200, line_search_fn="strong_wolfe", tolerance_grad=1e-12)
    # vectors at p are transported from the origin, where they are plain
    origin = space.origin(n)

    def at(w: Tensor) -> Tensor:
        u = basis @ w
        u = torch.cat([u.new_zeros(1), u]) if space.model == "lorentz" else u
        return space.dist(x, space.exp(p, space.transport(origin, p, u)))

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = at(w).square()
        loss.backward()
        return loss

    optimiser.step(closure)
    return at(w).detach()


@pytest.mark.parametrize("K", [-1.0, -0.5, -2.3])
@pytest.mark.parametrize("name", ["pmlr", "pmlr-ganea", "lmlr"])
def test_logits_are_distances_to_hyperplanes(name: str, K: float) -> None:
    head, x, space = make(name, 3, 2, K)
    with torch.no_grad():
        for k in range(2):
            z = head.weight[k]
            direction = z / z.norm()
            if name == "pmlr":  # the offset is along the geodesic, in distance; on the ball exp0 doubles it
                p, scale = space.exp0(head.b[k] * direction), 2 * head.alpha[k]
            elif name == "lmlr":
                p, scale = space.exp0(head.b[k] * direction), z.norm()
            else:
                p = space.exp0(head.point[k])
                scale = 2 / (1 + space.K * p.square().sum()) * z.norm()
            for row, logit in zip(x[:2], head(x[:2])[:, k]):
                with torch.enable_grad():
                    expected = scale * nearest_distance(space, row, p, direction, 3)
                torch.testing.assert_close(logit.abs(), expected, rtol=1e-7, atol=1e-7)


def test_a_first_batch_without_points_checks_nothing_yet() -> None:
    head = make_head("bmlr-p", 5, 3)
    head(torch.zeros(0, 5))
    head(torch.full((2, 5), torch.nan))
    with pytest.raises(InputError, match="not lifted"):
        head(torch.full((2, 5), 3.0))


@pytest.mark.parametrize("name", HEADS)
def test_no_points(name: str) -> None:
    head = make_head(name, 5, 3)
    for shape in ((0,), (2, 0), (0, 2)):
        points = torch.zeros(*shape, head.space.ambient(5), requires_grad=True)
        out = head(points)
        out.sum().backward()
        assert out.shape == (*shape, 3)


@pytest.mark.parametrize(("name", "factor"), [("bmlr-p", 2), ("bmlr-l", 1)])
def test_bmlr_tends_to_euclidean_mlr(name: str, factor: int) -> None:
    errors = []
    for K in (-1e-4, -1e-6):
        head, _, space = make(name, 5, 4, K)
        u = torch.randn(6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        flat = factor * head.alpha * (u @ head.v.mT) + head.b
        errors.append((head(space.exp0(u)) - flat).abs().max().item())
    assert errors[1] < 0.2 * errors[0] and errors[1] < 2e-2


@pytest.mark.parametrize("name", HEADS)
def test_head_learns_a_separable_problem(name: str) -> None:
    torch.manual_seed(0)
    head = make_head(name, 2, 3)
    centres = torch.tensor([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    label = torch.arange(60) % 3
    x = head.space.exp0(centres[label] + 0.15 * torch.randn(60, 2))
    optimiser = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        nn.functional.cross_entropy(head(x), label).backward()
        optimiser.step()
    assert (head(x).argmax(-1) == label).all()
