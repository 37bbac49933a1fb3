"""What every operator rests on: the types it runs in, and the limits it keeps points inside.

One word: to *bound* is to multiply a vector by a number that brings it inside a limit. The number is 1 for
almost every vector, and has a derivative where it is not. (``project`` is the operator that people call, and
``clip`` the paper's CLIP of features.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ParamSpec

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import eager
from hypergraph.geometry.rows import Scalar, dot, sq_norm, times

P = ParamSpec("P")
_HALF = (torch.float16, torch.bfloat16)


def raised(a: Any) -> Any:
    """A half-precision tensor in single precision, anything else as it is."""
    return a.float() if isinstance(a, Tensor) and a.dtype in _HALF else a


def without_autocast(kind: str) -> Any:
    """Inside, autocast is off for this type of device; meta tensors have none."""
    on = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if on else nullcontext()


def operator(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """An operator runs in float32 at least: half-precision inputs are raised, and autocast is off inside.

    Half precision has 8 or 11 bits; 1 - s|x| and |v - sx| near the boundary need all 24. And the
    curvature is a number where it can be.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        K: Any = kwargs.get("K")
        usual = eager(*args, *kwargs.values()) and not torch.is_autocast_enabled("cpu")
        if isinstance(K, Tensor) and K.numel() == 1 and not K.requires_grad and (usual or eager(K)):
            # no gradient by this curvature is asked for, and a Python number is cheaper than a tensor
            kwargs["K"] = K.item()
        if usual:
            return function(*args, **kwargs)
        for a in (*args, *kwargs.values()):
            if isinstance(a, torch.fx.Proxy):  # a tracer cannot follow an operator that looks at its numbers
                traced: Any = a.tracer.create_proxy("call_function", wrapper, args, kwargs)
                return traced
        given: Any = [raised(a) for a in args]
        kinds = [a.device.type for a in given if isinstance(a, Tensor)]
        with without_autocast(kinds[0]) if kinds else nullcontext():
            return function(*given, **{name: raised(a) for name, a in kwargs.items()})

    return wrapper


def radius_limit(dtype: torch.dtype) -> float:
    r"""The largest :math:`\sqrt{-K}\lVert x\rVert` on the ball: a scaled distance of 13.2 or 31.2.

    There 64 (512) units of rounding are left in :math:`1 - \sqrt{-K}\lVert x\rVert`, so it is known to 2 %
    (0.2 %), and the scaled distance to 0.02 (0.002).
    """
    return 1 - (2.0**-44 if dtype == torch.float64 else 2.0**-18)


def distance_limit(dtype: torch.dtype) -> float:
    r"""The largest :math:`\sqrt{-K}\,d(x, 0)`, the same in both models, so that the isometry loses no
    point."""
    return 2 * math.atanh(radius_limit(dtype))


def bound_factor(q: Tensor, limit: Scalar) -> Tensor:
    """The factor ``min(1, limit / sqrt(q))`` that brings a vector of squared norm q to norm ``limit``.

    A vector that is brought there keeps its length whatever it was: its gradient is along the sphere.
    """
    beyond = q > limit * limit
    return torch.where(beyond, limit * torch.where(beyond, q, 1.0).rsqrt(), 1.0)


def bound_square(q: Tensor, limit: Scalar) -> Tensor:
    """The squared norm of that vector; at the limit its derivative is that of the inside."""
    return torch.where(q > limit * limit, limit * limit, q)


def bound(x: Any, K: Scalar, limit: Scalar, whole: Tensor | None = None) -> tuple[Scalar, Tensor]:
    r"""The factor that brings x to a scaled norm :math:`s\lVert x\rVert` of at most ``limit``, and the
    square of that norm.

    Where one may look at the data and no vector is beyond, the factor is the number 1.0. A vector longer
    than 4e17 (float64: 1e85) becomes 0, since its products could overflow. Where x is part of a ``whole``,
    whose other coordinates follow from x, a NaN in these still counts as one.
    """
    return bound_of(sq_norm(x), K, limit, whole)


def bound_of(square: Tensor, K: Scalar, limit: Scalar, whole: Tensor | None = None) -> tuple[Scalar, Tensor]:
    """:func:`bound`, given the squared norms."""
    q = times(-K, square)
    near = isinstance(limit, float) and eager(q) and q.numel() and q.detach().max().item() <= limit * limit
    if near and (whole is None or math.isfinite(whole.detach().sum().item())):
        return 1.0, q
    most = torch.finfo(q.dtype).max
    lost = (square >= 1e16 * most**0.5) | (q >= most)
    nan = 0.0 if whole is None else (0 * whole.detach()).sum(-1, keepdim=True)
    factor = torch.where(lost, 0.0, bound_factor(q, limit)) + nan
    return factor, torch.where(lost, 0.0, bound_square(q, limit)) + nan


def bound_length(u: Tensor, whole: Tensor | None = None) -> Tensor:
    """u, bounded to a length whose square and products are finite: u itself almost always."""
    longest = 1e12 if u.dtype == torch.float32 else 1e70
    given = u if whole is None else whole
    if eager(given) and torch.linalg.vector_norm(given.detach()).item() <= longest:
        return u
    return times(bound(u, -1.0, longest, whole)[0], u)


def finite_dot(u: Tensor, v: Tensor, factor: Scalar = 1.0) -> Tensor:
    """The inner product times a factor; of bounded vectors where it would overflow."""
    product = times(factor, dot(u, v))
    if eager(product) and product.isfinite().all():
        return product
    return times(factor, dot(bound_length(u), bound_length(v)))


def clip(u: Any, r: float) -> Any:
    r""":math:`\mathrm{CLIP}(u; r) = \min(1, r / \lVert u \rVert)\, u`."""
    u = raised(u)
    return times(bound(u, -1.0, r)[0], u)


def per_point(t: float | Tensor) -> float | Tensor:
    """One number for each point, shaped to multiply coordinates, and at most 1e12 in size."""
    if isinstance(t, Tensor):
        t = t.unsqueeze(-1) if t.dim() else t
        return torch.where(t.abs() > 1e12, torch.sign(t) * 1e12, t)
    return max(min(t, 1e12), -1e12)


def at_least(t: Tensor, low: Tensor | float) -> Tensor:
    """t, and ``low`` where rounding took t below that exact bound; where they are equal t keeps all of its
    gradient, which ``torch.maximum`` would share."""
    return t + (low - t).detach().clamp_min(0)
