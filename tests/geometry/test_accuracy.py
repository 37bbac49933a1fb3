"""Every operator, its definition and its kernel, against mpmath at 50 digits, over K, dimension, distance and
the hard configurations.

The bound: a relative error of at most 1e-5 in float32 and 1e-11 in float64 within the stated range (a
distance of 6 and 12 curvature radii), or `SLACK` units of rounding times the condition number where that is
more. The condition number is measured: by how much the true value moves when the inputs do. Run with `-s`
to see the table of worst errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from mpmath import mpf

from tests.geometry import oracle
from tests.geometry.operators import MODELS
from tests.geometry.oracle import Kit, times
from tests.ways import WAYS, way

CURVATURES = [-10.0, -2.3, -1.0, -0.5, -0.1, -1e-3]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-11}
SLACK = 10
RADII = {
    torch.float32: [1e-8, 1e-3, 0.4, 1.0, 3.0, 6.0],
    torch.float64: [1e-8, 1e-3, 0.4, 1.0, 3.0, 6.0, 12.0],
}


def pairs(kit: Kit) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Two points and the direction of the first: anywhere, near each other, opposite, on one ray, equal."""
    radii = RADII[kit.dtype]
    for r in radii:
        v = kit.direction()
        x = kit.point(v, r)
        yield x, kit.point(kit.direction(), kit.random.choice(radii)), v
        yield x, kit.point(kit.near(v, 1e-4), r * 1.0001), v
        yield x, kit.point(times(-1, v), r), v
        yield x, kit.point(kit.near(v, math.pi - 1e-3), r), v
        yield x, kit.point(v, r / 2), v
        yield x, kit.point(v, r + 1e-4), v
        yield x, x, v


def cases(kit: Kit) -> Iterator[tuple[str, list[Any]]]:
    for x, y, v in pairs(kit):
        size = kit.scale(x) / kit.s * kit.random.choice([1e-8, 0.3, 2.0])
        u = kit.round(times(size, kit.direction()))
        across = kit.round(times(size, v))
        for w in (u, across):
            yield "exp", [x, w]
            yield "transport", [x, y, w]
            yield "inner", [x, w, u]
            yield "dist_hyperplane", [y, x, w]
        yield "exp0", [kit.round(times(kit.random.choice(RADII[kit.dtype]) / 2 / kit.s, v))]
        for name in ("log0", "dist0", "gyro_neg", "convert"):
            yield name, [x]
        for name in ("dist", "log", "gyro_add"):
            yield name, [x, y]
        yield "gyro_scale", [mpf(kit.random.choice([-1.5, 0.5, 0.0])), kit.point(v, min(4, oracle.norm(x)))]
        yield "gyration", [x, y, kit.point(kit.direction(), kit.random.choice([0.1, 1, 3]))]
        yield "centroid", [[x, y, kit.point(kit.direction(), 0.7)]]
        for angle in (0.0, 1e-6, 1e-3, 0.7, math.pi):
            ideal = kit.round(kit.near(v, angle))
            yield "busemann", [x, ideal]
        yield "dist_horosphere", [x, ideal, mpf(0.75)]


class Worst:
    """The largest error where the plain tolerance holds, and the largest share of the bound elsewhere."""

    def __init__(self) -> None:
        self.plain = self.ratio = self.loose = 0.0
        self.condition = 1.0


@pytest.fixture(scope="module")
def table() -> Iterator[dict[tuple[str, str, str], Worst]]:
    rows: dict[tuple[str, str, str], Worst] = {}
    yield rows
    print("\n  model     dtype    operator          worst error | ill-conditioned: error, condition, ratio")
    for (model, dtype, name), row in sorted(rows.items()):
        rest = f"{row.loose:.1e}  {row.condition:.1e}  {row.ratio:5.2f}" if row.loose else ""
        print(f"  {model:9} {dtype:8} {name:17} {row.plain:.1e}     | {rest}")


def stated_condition(kit: Kit, name: str, args: list[Any]) -> float:
    """The condition number of the bound: the measured one, but more for six operators.

    The centroid weighs points by cosh(s d), so that beside a far point a near one keeps what that leaves of
    its digits. A radial Lorentz vector at distance d is shorter than its coordinates by cosh(s d): so much of
    their rounding is left in its length when it moves towards the origin or is the normal of a hyperplane.
    These have at least exp(s d). The distance between Lorentz points is that of their chord, whose
    coordinates are longer by exp(s d): on one ray a small one keeps exp(s d) / (s dist). The inner product
    is a sum, and each of its terms has its own rounding.
    """
    condition = oracle.condition(kit, name, args)
    if name == "inner":
        products = [a * b for a, b in zip(*(kit.full_tangent(args[0], w) for w in args[1:]))]
        total = sum(products) - 2 * products[0] * (kit.model == "lorentz")
        condition = max(condition, float(sum(abs(p) for p in products) / abs(total))) if total else math.inf
    if name in ("dist", "log") and kit.model == "lorentz":
        apart = kit.s * oracle.call_oracle(kit, "dist", args)[0]
        reach = kit.s * min(oracle.call_oracle(kit, "dist0", [x])[0] for x in args)
        condition = max(condition, float(math.exp(reach) / apart)) if apart else condition
    far = {"centroid": args[0], "transport": args[:1], "dist_hyperplane": args[1:2]}.get(name, [])
    for x in far:
        condition = max(condition, math.exp(kit.s * oracle.call_oracle(kit, "dist0", [x])[0]))
    return condition


def check(
    model: str, dtype: torch.dtype, K: float, n: int, share: float, table: dict[tuple[str, str, str], Worst]
) -> None:
    kit = Kit(model, K, n, dtype, seed=n + round(1000 * -K))
    eps = torch.finfo(dtype).eps
    failures = []
    for name, args in cases(kit):
        if kit.random.random() > share:
            continue
        want, errors = oracle.call_oracle(kit, name, args), []
        for which in WAYS:
            with way(which):
                got = oracle.call_torch(MODELS[model], kit, name, args, K)
            assert got.dtype == dtype
            errors.append(oracle.relative_error(got, want))
        error = max(errors)
        row = table.setdefault((model, str(dtype)[6:], name), Worst())
        if error <= TOLERANCE[dtype]:
            row.plain = max(row.plain, error)
            continue
        condition = stated_condition(kit, name, args)
        ratio = error / (eps * condition) if condition else math.inf
        if ratio >= row.ratio:
            row.loose, row.condition, row.ratio = error, condition, ratio
        if not ratio <= SLACK:
            failures.append(f"{name}: error {error:.1e}, condition {condition:.1e}, ratio {ratio:.1f}")
    assert not failures, "\n".join(failures)


sweep = [
    pytest.mark.parametrize("n", [2, 16, 128]),
    pytest.mark.parametrize("K", CURVATURES),
    pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"]),
    pytest.mark.parametrize("model", ["poincare", "lorentz"]),
]


def swept(test: Any) -> Any:
    for mark in sweep:
        test = mark(test)
    return test


@swept
def test_against_mpmath(
    model: str, dtype: torch.dtype, K: float, n: int, table: dict[tuple[str, str, str], Worst]
) -> None:
    """A sample of the cases, drawn anew for each K and n."""
    check(model, dtype, K, n, {2: 0.12, 16: 0.06, 128: 0.01}[n], table)


@pytest.mark.slow
@swept
def test_all_cases_against_mpmath(
    model: str, dtype: torch.dtype, K: float, n: int, table: dict[tuple[str, str, str], Worst]
) -> None:
    check(model, dtype, K, n, 1.0 if n < 100 else 0.2, table)
