"""The gradients of every operator at ties, against differences of the oracle at 50 digits.

A tie is where two things that the code compares are equal: points at one radius, opposite or coinciding
points, the origin, a zero vector, an ideal point straight ahead. There a ``minimum`` splits its gradient
between two branches that are both right, and a bound that holds with equality swallows half of it. Where a
distance has a kink the two-sided difference is 0, and so must the gradient be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from mpmath import mp, mpf
from torch import Tensor

from hypergraph import Lorentz, PoincareBall
from tests.geometry import oracle
from tests.geometry.oracle import SIGNATURES, Kit, Vector, vector

pytestmark = pytest.mark.usefixtures("either_way")
MODELS = {"poincare": PoincareBall, "lorentz": Lorentz}
STEP = mpf(10) ** -15


def points(kit: Kit, a: Vector) -> Iterator[tuple[str, Vector, Vector, Vector]]:
    """Three points with ties among them; ``a`` is the spatial part of one."""
    zero, turned, opposite = [mpf(0)] * 3, [-a[1], a[0], a[2]], [-c for c in a]
    half = kit.round([c / 2 for c in a])
    yield "equal radius", a, turned, opposite
    yield "opposite", a, opposite, turned
    yield "coincident", a, a, a
    yield "one ray", a, half, opposite
    yield "first at the origin", zero, a, turned
    yield "second at the origin", a, zero, turned
    yield "all at the origin", zero, zero, zero


def cases(kit: Kit, name: str) -> Iterator[tuple[str, list[Any]]]:
    """Arguments of the operator, points and tangent vectors by their spatial parts."""
    a = vector([0.375, -0.5, 0.25] if kit.model == "poincare" else [1.5, -2.0, 1.0])
    axis, across = vector([0, -1, 0]), vector([0.6, 0, 0.8])
    for where, *given in points(kit, a):
        for u in ([mpf(0)] * 3, vector([0.25, 0.5, -0.125]), given[0]):
            zero = not any(u)
            if zero and name == "dist_hyperplane":  # a hyperplane has a normal
                continue
            for v in (axis, across):
                rest, args = list(given), []
                for kind in SIGNATURES[name]:
                    if kind == "point":
                        args.append(rest.pop(0))
                    elif kind == "points":
                        args.append(given[: 2 if name == "frechet_mean" else 3])  # which takes long
                    elif kind in ("vector",) or kind.startswith("tangent"):
                        args.append(u)
                    else:
                        args.append(v if kind == "ideal" else mpf(0.75))
                yield f"{where}{', zero vector' * zero}", args
                if "ideal" not in SIGNATURES[name]:
                    break
            if not any(kind == "vector" or kind.startswith("tangent") for kind in SIGNATURES[name]):
                break
    if "ideal" in SIGNATURES[name]:  # straight ahead, straight back, and on the horosphere of the origin
        for x, tau in (([0, -0.5, 0], 0.75), ([0, 0.5, 0], 0.75), ([0, 0, 0], 0)):
            yield f"straight {x}", [vector(x), axis, mpf(tau)][: len(SIGNATURES[name])]


def flat(args: list[Any]) -> list[Any]:
    return [c for arg in args for c in (flat(arg) if isinstance(arg, list) else [arg])]


def rebuilt(args: list[Any], numbers: Iterator[Any]) -> list[Any]:
    return [rebuilt(arg, numbers) if isinstance(arg, list) else next(numbers) for arg in args]


def true_gradient(kit: Kit, name: str, args: list[Any], weights: list[Any]) -> list[float]:
    """The derivatives of the weighted sum of the result by every number of the arguments, and by K."""

    def value(numbers: list[Any], K: Any) -> Any:
        out = oracle.call_oracle(kit, name, rebuilt(args, iter(numbers)), K)
        return mp.fdot(weights[: len(out)], out)

    numbers = flat(args)
    out = []
    for i in range(len(numbers)):
        sides = [value([c + h * (i == j) for j, c in enumerate(numbers)], kit.K) for h in (STEP, -STEP)]
        out.append(float((sides[0] - sides[1]) / (2 * STEP)))
    sides = [value(numbers, kit.K + h) for h in (STEP, -STEP)]
    return [*out, float((sides[0] - sides[1]) / (2 * STEP))]


def torch_gradient(
    kit: Kit, name: str, args: list[Any], weights: list[Any], learnable: bool, dtype: torch.dtype
) -> list[float]:
    """The same by autograd through the space: a Lorentz point and tangent vector by their spatial parts."""
    space = MODELS[kit.model](K=float(kit.K), learnable=learnable).to(dtype)
    leaves: list[Tensor] = []
    full: list[Any] = []

    def leaf(value: Any) -> Tensor:
        numbers = [[float(c) for c in row] if isinstance(row, list) else float(row) for row in value]
        leaves.append(torch.tensor(numbers, dtype=dtype, requires_grad=True))
        return leaves[-1]

    def on_model(x: Tensor) -> Tensor:
        if kit.model == "poincare":
            return x
        return torch.cat([(x.square().sum(-1, keepdim=True) - 1 / space.K).sqrt(), x], -1)

    for kind, arg in zip(SIGNATURES[name], args):
        if kind in ("point", "points"):
            full.append(on_model(leaf(arg)))
        elif kind.startswith("tangent"):
            u, at = leaf(arg), full[int(kind[-1])]
            if kit.model == "lorentz":
                u = torch.cat([(at[1:] * u).sum(-1, keepdim=True) / at[:1], u])
            full.append(u)
        elif kind == "scalar":
            full.append(leaf([arg]).squeeze(0))
        else:
            full.append(leaf(arg)[None] if kind == "ideal" else leaf(arg))
    if name == "convert":
        name = "to_lorentz" if kit.model == "poincare" else "to_poincare"
    out = getattr(space, name)(*full).reshape(-1)
    total = (out * torch.tensor([float(w) for w in weights[: out.numel()]], dtype=dtype)).sum()
    raw = list(space.parameters())
    grads = torch.autograd.grad(total, leaves + raw, materialize_grads=True)
    found = [g for grad in grads[: len(leaves)] for g in grad.reshape(-1).tolist()]
    # K = -softplus(raw)
    return [*found, (grads[-1] / -torch.sigmoid(raw[0])).item()] if learnable else found


@pytest.mark.parametrize("name", SIGNATURES)
@pytest.mark.parametrize("model", MODELS)
def test_gradients_at_ties(model: str, name: str) -> None:
    weights = vector([0.7, -1.1, 0.6, 0.9])
    kit = Kit(model, -0.4, 3, torch.float64)
    failures = []
    for where, args in cases(kit, name):
        # an ideal point is a unit vector: nothing is promised of the derivative along it
        want = torch.tensor(true_gradient(kit, name, args, weights), dtype=torch.float64)
        for learnable, dtype in ((False, torch.float64), (True, torch.float64), (False, torch.float32)):
            found = torch_gradient(kit, name, args, weights, learnable, dtype)
            got = torch.tensor(found, dtype=torch.float64)
            gap = got - want[: got.numel()]
            if "ideal" in SIGNATURES[name]:
                v = torch.tensor([float(c) for c in args[1]], dtype=torch.float64)
                gap[3:6] -= (gap[3:6] @ v) * v
            error = gap.norm() / want.norm().clamp_min(1)
            if not error <= (1e-8 if dtype == torch.float64 else 1e-4):
                failures.append(f"{where}: {error:.1e} ({dtype}, learnable {learnable})")
    assert not failures, "\n".join(failures)
