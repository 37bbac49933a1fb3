"""Special functions, norms and bounds: right values, gradients and second derivatives, also at 0 and at the
limits.

The radial functions take the *square* of their argument: as functions of ``q = r^2`` they are smooth at 0,
so nothing needs an epsilon. Their values do not cancel; their slopes do, below ``_SERIES_BELOW``, where a
Taylor series is used.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import torch
from torch import Tensor

from hypergraph.geometry.rows import apply, at_hand, dot, overflow, row_dot, sq_norm, times

P = ParamSpec("P")
Scalar = float | Tensor
_SERIES_BELOW = 1e-3
_TINY = 1e-30  # a stand-in for q = 0 under a division: it changes no value above rounding
_HALF = (torch.float16, torch.bfloat16)


def raised(a: Any) -> Any:
    """A tensor of half precision in float32; anything else as it is."""
    return a.float() if isinstance(a, Tensor) and a.dtype in _HALF else a


def number(K: Tensor) -> Scalar:
    """A curvature that nobody differentiates as a number: arithmetic with a number is the cheap one."""
    return K.item() if K.numel() == 1 and not K.requires_grad and at_hand(K) else K


def operator(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """An operator runs in float32 at least: half-precision inputs are raised, and autocast is off inside.

    Half precision has 8 or 11 bits; 1 - s|x| and |v - sx| near the boundary need all 24. And the
    curvature is a :func:`number` where it can be.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        K: Any = kwargs.get("K")
        if isinstance(K, Tensor):
            kwargs["K"] = number(K)
        first = next((a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)), None)
        if first is None or not (torch.is_autocast_enabled(first.device.type) or first.dtype in _HALF):
            return function(*args, **kwargs)
        higher: Any = [raised(a) for a in args]
        with torch.autocast(first.device.type, enabled=False):
            return function(*higher, **{name: raised(a) for name, a in kwargs.items()})

    return wrapper


class _Elementwise(torch.autograd.Function):
    """A function of one tensor whose backward uses its input and output, and can be differentiated again."""

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)


def _root(q: Tensor) -> Tensor:
    return q.clamp_min(_TINY).sqrt()


def _slope(q: Tensor, numerator: Tensor, series: Sequence[float]) -> Tensor:
    """``numerator / 2q``, and near 0, where the numerator cancels, the derivative of the series."""
    if q.numel() and at_hand(q) and q.detach().amin().item() >= _SERIES_BELOW:
        return numerator / (2 * q)
    small = q < _SERIES_BELOW
    taylor = q * ((len(series) - 1) * series[-1])
    for k in range(len(series) - 2, 1, -1):
        taylor = (taylor + k * series[k]) * q
    return torch.where(small, taylor + series[1], numerator / (2 * torch.where(small, 1.0, q)))


class _Tanhc(_Elementwise):
    @staticmethod
    def forward(q: Tensor) -> Tensor:
        r = _root(q)
        return torch.tanh(r) / r

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        q, f = ctx.saved_tensors
        return grad * _slope(q, 1 - q * f * f - f, (1, -1 / 3, 2 / 15, -17 / 315, 62 / 2835, -1382 / 155925))


class _Artanhc(_Elementwise):
    @staticmethod
    def forward(q: Tensor) -> Tensor:
        r = _root(q)
        return torch.atanh(r) / r

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        q, f = ctx.saved_tensors
        return grad * _slope(q, 1 / (1 - q) - f, (1, 1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11))


class _Sinhc(_Elementwise):
    @staticmethod
    def forward(q: Tensor) -> Tensor:
        r = _root(q)
        return torch.sinh(r) / r

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        q, f = ctx.saved_tensors
        return grad * _slope(
            q, (1 + q * f * f).sqrt() - f, (1, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880, 1 / 39916800)
        )


class _Asinhc(_Elementwise):
    @staticmethod
    def forward(q: Tensor) -> Tensor:
        r = _root(q)
        # log1p is vectorised and torch.asinh is not: five times as fast, and as accurate
        return torch.log1p(r + q / (1 + (1 + q).sqrt())) / r

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        q, f = ctx.saved_tensors
        return grad * _slope(q, (1 + q).rsqrt() - f, (1, -1 / 6, 3 / 40, -5 / 112, 35 / 1152, -63 / 2816))


class _Sqrt(_Elementwise):
    @staticmethod
    def forward(q: Tensor) -> Tensor:
        return q.clamp_min(0).sqrt()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        _, r = ctx.saved_tensors
        return grad * (r > 0) / (2 * r.clamp_min(_TINY))


class _Finite(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, limit: float | None) -> Tensor:
        x = torch.nan_to_num(x, nan=math.nan)
        return x if limit is None else x.clamp_min_(-limit).clamp_max_(limit)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


def tanhc(q: Tensor) -> Tensor:
    r""":math:`\tanh(r)/r` at :math:`r=\sqrt q`."""
    return apply(_Tanhc, q)


def artanhc(q: Tensor) -> Tensor:
    r""":math:`\tanh^{-1}(r)/r` at :math:`r=\sqrt q < 1`."""
    return apply(_Artanhc, q)


def sinhc(q: Tensor) -> Tensor:
    r""":math:`\sinh(r)/r` at :math:`r=\sqrt q`; the caller bounds q."""
    return apply(_Sinhc, q)


def asinhc(q: Tensor) -> Tensor:
    r""":math:`\sinh^{-1}(r)/r` at :math:`r=\sqrt q`."""
    return apply(_Asinhc, q)


def safe_sqrt(q: Tensor) -> Tensor:
    """The square root of ``max(q, 0)``, with gradient 0 (not infinity) at 0."""
    return apply(_Sqrt, q)


def inverse_radius(x: Tensor, K: Scalar) -> Tensor:
    r""":math:`s = \sqrt{-K}` as a tensor of the type of x."""
    return torch.as_tensor((-K) ** 0.5, dtype=x.dtype, device=x.device)


def over_length(a: Tensor) -> Tensor:
    """One over the norm of a, and 0 at 0 (with gradient 0) and where the norm overflows."""
    square = sq_norm(a)
    r = safe_sqrt(square)
    return (r > 0) * (square < overflow(a.dtype)) / r.clamp_min(_TINY)


def unit(a: Tensor) -> Tensor:
    """a over its norm, and 0 at 0 with gradient 0."""
    return times(over_length(a), a)


def ordinary(a: Tensor) -> Tensor:
    """a, or a multiple of it where the square of its norm could over- or underflow: for vectors of which only
    the direction counts."""
    with torch.no_grad():
        square = row_dot(a, a)
        usual = (square > 1e-30) & (square < 1e30)
        if at_hand(a) and usual.all():
            return a
        size = a.abs().amax(-1, keepdim=True)
        size = torch.where(usual | (size == 0), 1.0, size)
    return a / size


def largest(u: Tensor) -> float:
    """The largest coordinate, without its sign."""
    low, high = u.detach().aminmax()
    return max(-low.item(), high.item())


def cap(u: Tensor) -> Scalar:
    """The row factor that cuts u to a length whose square and products are finite: 1 almost always."""
    with torch.no_grad():
        if u.numel() and at_hand(u) and largest(u) <= 1e12 / u.size(-1):
            return 1.0
        return bounded(u, -1.0, 1e12)[0]


def per_point(t: float | Tensor) -> float | Tensor:
    """A scalar for each point, made to broadcast against coordinates, and finite when multiplied."""
    if isinstance(t, Tensor):
        return (t.unsqueeze(-1) if t.dim() else t).clamp(-1e12, 1e12)
    return max(min(t, 1e12), -1e12)


def at_least(t: Tensor, low: Tensor) -> Tensor:
    """t, and ``low`` where rounding took t below that exact bound; where they are equal t keeps all of its
    gradient, which ``torch.maximum`` would share."""
    return t + (low - t).detach().clamp_min(0)


def finite(x: Tensor, limit: float | None = None) -> Tensor:
    """Where a result overflowed, the largest number instead, or the limit; it keeps its gradient."""
    return apply(_Finite, x, limit)


def overflown(x: Tensor, *given: Tensor) -> Tensor | None:
    """Where x is NaN because numbers overflowed, and not because one of its vectors was; ``None`` for
    nowhere."""
    with torch.no_grad():
        lost = x.isnan()
        if at_hand(x) and not lost.any():
            return None
        for vector in given:
            lost = lost & ~vector.isnan().any(-1, keepdim=True)
        return lost


def finite_dot(x: Tensor, y: Tensor) -> Tensor:
    """The inner product, finite where it overflows: 0 where it did so in both directions."""
    product = dot(x, y)
    lost = overflown(product, x, y)
    return finite(product if lost is None else torch.where(lost, 0.0, product))


def radius_limit(dtype: torch.dtype) -> float:
    r"""The largest :math:`\sqrt{-K}\lVert x\rVert` on the ball: a scaled distance of 13.2 or 31.2.

    There 64 (512) units of rounding are left in :math:`1 - \sqrt{-K}\lVert x\rVert`: the last place where a
    point still knows its distance, to 2 %.
    """
    return 1 - (2.0**-44 if dtype == torch.float64 else 2.0**-18)


def distance_limit(dtype: torch.dtype) -> float:
    r"""The largest :math:`\sqrt{-K}\,d(x, 0)`, the same in both models, so that the isometry loses no
    point."""
    return 2 * math.atanh(radius_limit(dtype))


class _Shrink(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(q: Tensor, limit: float) -> Tensor:
        return (limit * q.rsqrt()).clamp_max(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.square = inputs[1] ** 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        q, factor = ctx.saved_tensors
        return grad * (q > ctx.square) * factor / (-2 * q.clamp_min(ctx.square)), None


def shrink(q: Tensor, limit: float) -> Tensor:
    """The factor ``min(1, limit / sqrt(q))`` that brings a vector of squared norm q to norm ``limit``.

    A vector that is brought there keeps its length whatever it was: its gradient is along the sphere.
    """
    return apply(_Shrink, q, limit)


class _Bound(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(q: Tensor, alive: Tensor, limit: float) -> tuple[Tensor, Tensor]:
        return (limit * q.rsqrt()).clamp_max(1) * alive, q.clamp_max(limit * limit) * alive

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(inputs[0], output[0])
        ctx.square = inputs[2] ** 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_q: Tensor) -> tuple[Tensor, None, None]:
        q, factor = ctx.saved_tensors
        beyond = grad * factor / (-2 * q.clamp_min(ctx.square))
        return torch.where(q > ctx.square, beyond, grad_q), None, None


def bounded(x: Tensor, K: Scalar, limit: float, unused: Tensor | None = None) -> tuple[Scalar, Tensor]:
    r"""The factor that brings x to a scaled norm :math:`s\lVert x\rVert` of at most ``limit``, and the
    square of that norm.

    The factor is 1 almost always: then it is the number 1.0, where one may look at the data. A vector so long
    that its square overflows has no direction left, and becomes 0. A NaN in ``unused``, a coordinate that
    follows from the others, still counts as one.
    """
    square = sq_norm(x)
    q = -K * square
    if unused is not None:
        q = q + 0 * unused.detach()
    if q.numel() and at_hand(q) and q.detach().amax().item() <= limit * limit:
        return 1.0, q
    alive = (square < overflow(x.dtype)) & (q < torch.finfo(q.dtype).max)
    return apply(_Bound, q, alive, limit)


def clip(u: Tensor, r: float) -> Tensor:
    r""":math:`\mathrm{CLIP}(u; r) = \min(1, r / \lVert u \rVert)\, u`."""
    u = raised(u)
    square = sq_norm(u)
    return times(shrink(square, r) * (square < overflow(u.dtype)), u)
