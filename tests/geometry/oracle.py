"""The paper's operators in mpmath at 50 digits, and points to try them at: an oracle that shares no code
with torch.

A vector is a list of mpf. A Lorentz point is given by its space coordinates alone (`sheet` adds the time),
and a Lorentz tangent vector likewise (`tangent` adds it), so that rounding a point to float32 does not
leave the model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from mpmath import mp, mpf

mp.dps = 50
Vector = list[Any]


def vector(values: Sequence[Any]) -> Vector:
    return [mpf(v) for v in values]


def dot(x: Vector, y: Vector) -> Any:
    return mp.fdot(x, y)


def norm(x: Vector) -> Any:
    return mp.sqrt(dot(x, x))


def axpy(a: Any, x: Vector, b: Any, y: Vector) -> Vector:
    return [a * p + b * q for p, q in zip(x, y)]


def times(a: Any, x: Vector) -> Vector:
    return [a * p for p in x]


def _ball() -> SimpleNamespace:
    def conformal(x: Vector, K: Any) -> Any:
        return 2 / (1 + K * dot(x, x))

    def gyro_add(x: Vector, y: Vector, K: Any) -> Vector:
        xx, xy, yy = dot(x, x), dot(x, y), dot(y, y)
        den = 1 - 2 * K * xy + K**2 * xx * yy
        return axpy((1 - 2 * K * xy - K * yy) / den, x, (1 + K * xx) / den, y)

    def gyro_neg(x: Vector, K: Any) -> Vector:
        return times(-1, x)

    def gyro_scale(t: Any, x: Vector, K: Any) -> Vector:
        s, r = mp.sqrt(-K), norm(x)
        return times(mp.tanh(t * mp.atanh(s * r)) / (s * r), x) if r else x

    def gyration(x: Vector, y: Vector, z: Vector, K: Any) -> Vector:
        inner = gyro_add(x, gyro_add(y, z, K), K)
        return gyro_add(gyro_neg(gyro_add(x, y, K), K), inner, K)

    def dist(x: Vector, y: Vector, K: Any) -> Any:
        s = mp.sqrt(-K)
        return 2 / s * mp.atanh(s * norm(gyro_add(times(-1, x), y, K)))

    def exp(x: Vector, u: Vector, K: Any) -> Vector:
        s, r = mp.sqrt(-K), norm(u)
        return gyro_add(x, times(mp.tanh(s * conformal(x, K) * r / 2) / (s * r), u), K) if r else x

    def log(x: Vector, y: Vector, K: Any) -> Vector:
        s, m = mp.sqrt(-K), gyro_add(times(-1, x), y, K)
        r = norm(m)
        return times(2 / (s * conformal(x, K)) * mp.atanh(s * r) / r, m) if r else m

    def exp0(u: Vector, K: Any) -> Vector:
        s, r = mp.sqrt(-K), norm(u)
        return times(mp.tanh(s * r) / (s * r), u) if r else u

    def log0(x: Vector, K: Any) -> Vector:
        s, r = mp.sqrt(-K), norm(x)
        return times(mp.atanh(s * r) / (s * r), x) if r else x

    def dist0(x: Vector, K: Any) -> Any:
        return dist(times(0, x), x, K)

    def transport(x: Vector, y: Vector, u: Vector, K: Any) -> Vector:
        # A gyration is linear; applied to a short vector it does not leave the ball.
        h = mpf(10) ** -3 / (mp.sqrt(-K) * (norm(u) or 1))
        turned = times(1 / h, gyration(y, times(-1, x), times(h, u), K))
        return times(conformal(x, K) / conformal(y, K), turned)

    def inner(x: Vector, u: Vector, v: Vector, K: Any) -> Any:
        return conformal(x, K) ** 2 * dot(u, v)

    def busemann(x: Vector, v: Vector, K: Any) -> Any:
        # |v - s x|^2 with |v| = 1
        s = mp.sqrt(-K)
        return mp.log((1 - 2 * s * dot(x, v) - K * dot(x, x)) / (1 + K * dot(x, x))) / s

    def dist_hyperplane(x: Vector, p: Vector, a: Vector, K: Any) -> Any:
        # Ganea et al., Theorem 5.
        s, z = mp.sqrt(-K), gyro_add(times(-1, p), x, K)
        return mp.asinh(2 * s * dot(z, a) / ((1 + K * dot(z, z)) * norm(a))) / s

    def to_lorentz(x: Vector, K: Any) -> Vector:
        lam = conformal(x, K)
        return [(lam - 1) / mp.sqrt(-K), *times(lam, x)]

    def centroid(x: list[Vector], K: Any) -> Vector:
        return lorentz.to_poincare(lorentz.centroid([to_lorentz(p, K) for p in x], K), K)

    def frechet_mean(x: list[Vector], K: Any) -> Vector:
        return lorentz.to_poincare(lorentz.frechet_mean([to_lorentz(p, K) for p in x], K), K)

    def project(x: Vector, K: Any) -> Vector:
        return x

    return SimpleNamespace(**locals())


def _lorentz() -> SimpleNamespace:
    def linner(x: Vector, y: Vector) -> Any:
        return dot(x[1:], y[1:]) - x[0] * y[0]

    def origin(n: int, K: Any) -> Vector:
        return [1 / mp.sqrt(-K), *[mpf(0)] * n]

    def dist(x: Vector, y: Vector, K: Any) -> Any:
        return mp.acosh(max(mpf(1), K * linner(x, y))) / mp.sqrt(-K)

    def exp(x: Vector, u: Vector, K: Any) -> Vector:
        a = mp.sqrt(-K * max(mpf(0), linner(u, u)))
        return axpy(mp.cosh(a), x, mp.sinh(a) / a if a else mpf(1), u)

    def log(x: Vector, y: Vector, K: Any) -> Vector:
        beta = max(mpf(1), K * linner(x, y))
        factor = mp.acosh(beta) / mp.sqrt(beta**2 - 1) if beta > 1 else mpf(1)
        return axpy(factor, y, -factor * beta, x)

    def exp0(u: Vector, K: Any) -> Vector:
        return exp(origin(len(u), K), [mpf(0), *u], K)

    def log0(x: Vector, K: Any) -> Vector:
        return log(origin(len(x) - 1, K), x, K)[1:]

    def dist0(x: Vector, K: Any) -> Any:
        return dist(origin(len(x) - 1, K), x, K)

    def transport(x: Vector, y: Vector, u: Vector, K: Any) -> Vector:
        return axpy(1, u, -K * linner(y, u) / (1 + K * linner(x, y)), axpy(1, x, 1, y))

    def inner(x: Vector, u: Vector, v: Vector, K: Any) -> Any:
        return linner(u, v)

    def gyro_add(x: Vector, y: Vector, K: Any) -> Vector:
        k = mp.sqrt(-K)
        a, b = 1 + k * x[0], 1 + k * y[0]
        n_x, n_y, s_xy = dot(x[1:], x[1:]), dot(y[1:], y[1:]), dot(x[1:], y[1:])
        D = a**2 * b**2 - 2 * K * a * b * s_xy + K**2 * n_x * n_y
        N = a**2 * n_y + 2 * a * b * s_xy + b**2 * n_x
        A_s = a * b**2 - 2 * K * b * s_xy - K * a * n_y
        A_y = b * (a**2 + K * n_x)
        return [(D - K * N) / (D + K * N) / k, *times(2 / (D + K * N), axpy(A_s, x[1:], A_y, y[1:]))]

    def gyro_neg(x: Vector, K: Any) -> Vector:
        return [x[0], *times(-1, x[1:])]

    def gyro_scale(t: Any, x: Vector, K: Any) -> Vector:
        k, r = mp.sqrt(-K), norm(x[1:])
        theta = mp.asinh(k * r)
        return [mp.cosh(t * theta) / k, *(times(mp.sinh(t * theta) / (k * r), x[1:]) if r else x[1:])]

    def gyration(x: Vector, y: Vector, z: Vector, K: Any) -> Vector:
        inner = gyro_add(x, gyro_add(y, z, K), K)
        return gyro_add(gyro_neg(gyro_add(x, y, K), K), inner, K)

    def busemann(x: Vector, v: Vector, K: Any) -> Any:
        s = mp.sqrt(-K)
        return mp.log(s * (x[0] - dot(x[1:], v))) / s

    def dist_hyperplane(x: Vector, p: Vector, a: Vector, K: Any) -> Any:
        s = mp.sqrt(-K)
        return mp.asinh(s * linner(x, a) / mp.sqrt(linner(a, a))) / s

    def to_poincare(x: Vector, K: Any) -> Vector:
        return times(1 / (1 + mp.sqrt(-K) * x[0]), x[1:])

    def centroid(x: list[Vector], K: Any) -> Vector:
        total = [mp.fsum(c) for c in zip(*x)]
        return times(1 / mp.sqrt(K * linner(total, total)), total)

    def frechet_mean(x: list[Vector], K: Any) -> Vector:
        # Newton's method on half the sum of squares: along a geodesic to a point at distance d the second
        # derivative is 1, across it d coth d (in units of the radius)
        s, mean = mp.sqrt(-K), centroid(x, K)
        for _ in range(60):
            at_origin = [gyro_add(gyro_neg(mean, K), p, K) for p in x]
            n = len(mean) - 1
            slope, bend = [mpf(0)] * n, mp.zeros(n)
            for p in at_origin:
                u = times(s, log0(p, K))
                r = norm(u)
                slope = axpy(1, slope, 1, u)
                for i in range(n):
                    for j in range(n):
                        across = r * mp.coth(r) if r else mpf(1)
                        along = u[i] * u[j] / r**2 if r else mpf(0)
                        bend[i, j] += along * (1 - across) + across * (i == j)
            step = list(mp.lu_solve(bend, mp.matrix(slope)))
            # far out Newton's step is short enough: the distance is convex
            mean = gyro_add(mean, exp0(times(1 / s, step), K), K)
            if norm(step) < mpf(10) ** -20:  # the next one would be of its square
                return mean
        raise ArithmeticError("no Fréchet mean found")

    def project(x: Vector, K: Any) -> Vector:
        return x

    return SimpleNamespace(**locals())


poincare, lorentz = _ball(), _lorentz()


def sheet(x: Vector, K: Any) -> Vector:
    """The Lorentz point with space coordinates `x`."""
    return [mp.sqrt(dot(x, x) - 1 / K), *x]


def tangent(x: Vector, u: Vector) -> Vector:
    """The vector tangent to the sheet at `x` with space coordinates `u`."""
    return [dot(x[1:], u) / x[0], *u]


def dist_horosphere(model: SimpleNamespace) -> Callable[..., Any]:
    return lambda x, v, tau, K: abs(model.busemann(x, v, K) - tau)


class Kit:
    """Points of one model, at one K and dtype, with coordinates that the dtype holds exactly."""

    def __init__(self, model: str, K: float, n: int, dtype: torch.dtype, seed: int = 0) -> None:
        self.model, self.K, self.n, self.dtype = model, mpf(K), n, dtype
        self.oracle = poincare if model == "poincare" else lorentz
        self.s = mp.sqrt(-self.K)
        self.random = random.Random(seed)

    def direction(self) -> Vector:
        v = vector([self.random.gauss(0, 1) for _ in range(self.n)])
        return times(1 / norm(v), v)

    def near(self, v: Vector, angle: float) -> Vector:
        """A direction at `angle` from `v`, exact at angle 0 and pi."""
        w = self.direction()
        w = axpy(1, w, -dot(w, v), v)
        return axpy(mp.cos(angle), v, mp.sin(angle) / norm(w), w)

    def round(self, x: Vector) -> Vector:
        return vector(torch.tensor([float(c) for c in x], dtype=self.dtype).tolist())

    def point(self, v: Vector, sd: float) -> Vector:
        """The point in direction `v` at scaled distance `sd = sqrt(-K) d`: its (space) coordinates,
        rounded."""
        r = mp.tanh(mpf(sd) / 2) if self.model == "poincare" else mp.sinh(mpf(sd))
        return self.round(times(r / self.s, v))

    def scale(self, x: Vector) -> Any:
        """Coordinate length of a unit tangent vector across the radius at `x`."""
        return 1 / self.oracle.conformal(x, self.K) if self.model == "poincare" else mpf(1)

    def full(self, x: Vector, K: Any = None) -> Vector:
        return x if self.model == "poincare" else sheet(x, self.K if K is None else K)

    def full_tangent(self, x: Vector, u: Vector, K: Any = None) -> Vector:
        return u if self.model == "poincare" else tangent(self.full(x, K), u)

    def tensor(self, x: Vector) -> torch.Tensor:
        return torch.tensor([float(c) for c in x], dtype=torch.float64).to(self.dtype)


# The kinds of an operator's arguments, in order, and what it returns. "tangent@i" lives at argument i.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "exp0": ("vector",),
    "log0": ("point",),
    "dist0": ("point",),
    "dist": ("point", "point"),
    "exp": ("point", "tangent@0"),
    "log": ("point", "point"),
    "transport": ("point", "point", "tangent@0"),
    "inner": ("point", "tangent@0", "tangent@0"),
    "gyro_add": ("point", "point"),
    "gyro_neg": ("point",),
    "gyro_scale": ("scalar", "point"),
    "gyration": ("point", "point", "point"),
    "busemann": ("point", "ideal"),
    "dist_horosphere": ("point", "ideal", "scalar"),
    "dist_hyperplane": ("point", "point", "tangent@1"),
    "convert": ("point",),
    "centroid": ("points",),
    "frechet_mean": ("points",),
    "project": ("point",),
}


def call_oracle(kit: Kit, name: str, args: list[Any], K: Any = None) -> Vector:
    """The true value, as a list, of an operator at (space) coordinates."""
    K = kit.K if K is None else K
    full: list[Any] = []
    for kind, arg in zip(SIGNATURES[name], args):
        if kind == "point":
            full.append(kit.full(arg, K))
        elif kind == "points":
            full.append([kit.full(p, K) for p in arg])
        elif kind.startswith("tangent"):
            full.append(kit.full_tangent(args[int(kind[-1])], arg, K))
        else:
            full.append(arg)
    if name == "convert":
        name = "to_lorentz" if kit.model == "poincare" else "to_poincare"
    function = dist_horosphere(kit.oracle) if name == "dist_horosphere" else getattr(kit.oracle, name)
    out = function(*full, K)
    return out if isinstance(out, list) else [out]


def call_torch(model: Any, kit: Kit, name: str, args: list[Any], K: Any) -> torch.Tensor:
    """The same from the package, at the same coordinates (the time coordinate rounded)."""
    full: list[Any] = []
    for kind, arg in zip(SIGNATURES[name], args):
        if kind == "point":
            full.append(kit.tensor(kit.full(arg)))
        elif kind == "points":
            full.append(torch.stack([kit.tensor(kit.full(p)) for p in arg]))
        elif kind.startswith("tangent"):
            full.append(kit.tensor(kit.full_tangent(args[int(kind[-1])], arg)))
        elif kind == "ideal":
            full.append(kit.tensor(arg)[None])
        elif kind == "vector":
            full.append(kit.tensor(arg))
        else:
            full.append(float(arg))
    if name == "convert":
        name = "to_lorentz" if kit.model == "poincare" else "to_poincare"
    return getattr(model, name)(*full, K=K).reshape(-1)


def relative_error(got: torch.Tensor, want: Vector) -> float:
    """Of a vector in the Euclidean norm of its coordinates; of nothing against nothing, 0."""
    size, gap = norm(want), norm(axpy(1, vector(got.tolist()), -1, want))
    return float(gap / size) if size else float(gap)


def condition(kit: Kit, name: str, args: list[Any], trials: int = 6) -> float:
    """How much a relative change of the inputs (and of K) grows in the result, by trying.

    Each argument is moved by one part in 10^25 of its length: along itself, in random directions, and all
    together.
    """
    rng, h = random.Random(1), mpf(10) ** -25
    base = call_oracle(kit, name, args)
    size = norm(base)
    worst = mpf(0)

    def moved(arg: Any, how: str) -> Any:
        if not isinstance(arg, list):
            return arg * (1 + h * rng.choice([-1, 1]))
        if arg and isinstance(arg[0], list):
            return [moved(p, how) for p in arg]
        if how == "along":
            return times(1 + h * rng.choice([-1, 1]), arg)
        step = vector([rng.gauss(0, 1) for _ in arg])
        return axpy(1, arg, h * norm(arg) / norm(step), step)

    def record(new_args: list[Any], K: Any = None) -> None:
        nonlocal worst
        gap = norm(axpy(1, call_oracle(kit, name, new_args, K), -1, base))
        worst = max(worst, gap / h / (size or 1))

    record(args, kit.K * (1 + h))
    for i in range(len(args)):
        record([moved(a, "along") if i == j else a for j, a in enumerate(args)])
    for _ in range(trials):
        record([moved(a, "random") for a in args])
    return float(worst)
