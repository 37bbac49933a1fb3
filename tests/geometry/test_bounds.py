"""The bounds that ``docs/geometry.md`` states, where they are more than the plain tolerance: against mpmath,
at the places that are hardest for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from mpmath import mp

from hypergraph import Lorentz, PoincareBall
from tests.geometry import oracle
from tests.geometry.oracle import Kit, Vector, axpy, call_oracle, relative_error, times

SPACES = {"poincare": PoincareBall, "lorentz": Lorentz}
REACH = {torch.float32: [3.0, 6.0], torch.float64: [6.0, 12.0]}
both = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])


def call(kit: Kit, name: str, *args: Any) -> torch.Tensor:
    space = SPACES[kit.model](K=float(kit.K)).to(kit.dtype)
    kit.K = oracle.mpf(space.K.item())
    full = [kit.tensor(kit.full(a)) for a in args] if name == "transport" else list(args)
    return getattr(space, name)(*full).reshape(-1)


def kit_of(model: str, dtype: torch.dtype, n: int = 3) -> Kit:
    kit = Kit(model, -0.5, n, dtype, seed=7)
    kit.s = mp.sqrt(-kit.K)
    return kit


def crowds(kit: Kit) -> Iterator[tuple[float, list[Vector]]]:
    """Points near each other far out: along their ray, across it, both."""
    for sd in REACH[kit.dtype]:
        for spread in (1e-6, 1e-3, 0.1, 1.0):
            for along, across in ((1, 0), (0, 1), (1, 1)):
                v = kit.direction()
                yield (
                    sd,
                    [
                        kit.point(
                            kit.near(v, across * spread * kit.random.random() / math.sinh(sd)),
                            sd - along * spread * kit.random.random(),
                        )
                        for _ in range(4)
                    ],
                )


@both
@pytest.mark.parametrize("model", SPACES)
def test_centroid_of_near_points(model: str, dtype: torch.dtype) -> None:
    kit, eps = kit_of(model, dtype), torch.finfo(dtype).eps
    for sd, points in crowds(kit):
        got = call(kit, "centroid", torch.stack([kit.tensor(kit.full(p)) for p in points]))
        error = relative_error(got, call_oracle(kit, "centroid", [points]))
        assert error <= 10 * eps * math.exp(sd)


@both
def test_transport_of_radial_vectors(dtype: torch.dtype) -> None:
    """On the Lorentz model: inwards, outwards, to the other side and across, also of vectors that lean."""
    kit, eps = kit_of("lorentz", dtype), torch.finfo(dtype).eps
    top = REACH[dtype][-1]
    space = Lorentz(K=-0.5).to(dtype)
    for sd in (top / 2, 0.9 * top, top):
        v = kit.direction()
        x, side = kit.point(v, sd), kit.near(v, math.pi / 2)
        for u in (times(0.3, v), axpy(1, v, 1 / math.cosh(sd), side)):
            u = kit.round(u)
            for to in (0.1, 0.5, 0.9, 1.0):
                for y in (
                    kit.point(v, to * top),
                    kit.point(times(-1, v), to * top),
                    kit.point(side, to * top),
                ):
                    args = [x, y, u]
                    full = [kit.tensor(kit.full(x)), kit.tensor(kit.full(y))]
                    got = space.transport(*full, kit.tensor(kit.full_tangent(x, u)))
                    error = relative_error(got, call_oracle(kit, "transport", args))
                    bound = 10 * eps * math.exp(sd)
                    assert error <= bound or error <= 10 * eps * oracle.condition(kit, "transport", args)


@both
@pytest.mark.parametrize("model", SPACES)
def test_busemann_straight_ahead(model: str, dtype: torch.dtype) -> None:
    """``exp(s B)`` is a difference of numbers of size cosh(s d): so much is left of their rounding."""
    for n in (3, 64):
        kit, eps = kit_of(model, dtype, n), torch.finfo(dtype).eps
        for sd in (1.0, *REACH[dtype]):
            for angle in (0.0, 1e-4, 1e-2, 1.0, math.pi):
                v = kit.round(kit.direction())
                unit = times(1 / oracle.norm(v), v)
                x = kit.point(kit.near(unit, angle), sd)
                got = call(kit, "busemann", kit.tensor(kit.full(x)), kit.tensor(v)[None]).item()
                want = float(call_oracle(kit, "busemann", [x, unit])[0])
                s = float(kit.s)
                # on the ball 1 - s|x| is a difference of its own
                size = math.exp(-s * want) + (model == "poincare")
                bound = 4 * eps * (math.cosh(sd) * size / s + abs(want))
                assert abs(got - want) <= bound


@both
@pytest.mark.parametrize("model", SPACES)
def test_frechet_mean_converges_as_stated(model: str, dtype: torch.dtype) -> None:
    """Every step leaves at most 1 - tanh(rho)/rho of the way from the centroid to the mean."""
    kit, eps = kit_of(model, dtype, 2), torch.finfo(dtype).eps
    space = SPACES[model](K=-0.5).to(dtype)
    for sd in (1.0, *REACH[dtype]):
        points = [kit.point(kit.direction(), sd * r) for r in (1, 0.9, 0.4, 0.8)]
        full = torch.stack([kit.tensor(kit.full(p)) for p in points])
        want = call_oracle(kit, "frechet_mean", [points])
        start = call_oracle(kit, "centroid", [points])
        dist = kit.oracle.dist
        rho = max(float(kit.s * dist(want, kit.full(p), kit.K)) for p in points)
        left = 1 - math.tanh(rho) / rho
        for steps in (4, 64, 400):
            got = oracle.vector(space.frechet_mean(full, max_iter=steps).tolist())
            got = got if model == "poincare" else oracle.sheet(got[1:], kit.K)
            gap = float(kit.s * dist(got, want, kit.K))
            bound = left**steps * float(kit.s * dist(start, want, kit.K)) + 10 * eps * math.exp(sd)
            assert gap <= bound, (sd, steps, gap, bound)
