"""Special functions with Taylor branches, and norms whose gradients are finite everywhere.

The radial functions take the *square* of their argument: as functions of ``q = r^2`` they are smooth at 0,
so values, gradients and second derivatives are right there, with no epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# Below this q the five-term series is exact to float64 rounding.
_SERIES_BELOW = 1e-3

_TANHC = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835)
_ARTANHC = (1.0, 1 / 3, 1 / 5, 1 / 7, 1 / 9)
_SINHC = (1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880)
_ASINHC = (1.0, -1 / 6, 3 / 40, -15 / 336, 105 / 3456)


def _radial(q: Tensor, series: Sequence[float], function: Callable[[Tensor], Tensor]) -> Tensor:
    small = q < _SERIES_BELOW
    r = torch.where(small, 1.0, q).sqrt()
    taylor = torch.full_like(q, series[-1])
    for coefficient in reversed(series[:-1]):
        taylor = taylor * q + coefficient
    return torch.where(small, taylor, function(r) / r)


def tanhc(q: Tensor) -> Tensor:
    r""":math:`\tanh(r)/r` at :math:`r=\sqrt q`."""
    return _radial(q, _TANHC, torch.tanh)


def artanhc(q: Tensor) -> Tensor:
    r""":math:`\tanh^{-1}(r)/r` at :math:`r=\sqrt q < 1`."""
    # where the series is taken r is 1, so the argument is kept off the pole
    return _radial(q, _ARTANHC, lambda r: torch.atanh(torch.where(q < _SERIES_BELOW, 0.5, r)))


def sinhc(q: Tensor) -> Tensor:
    r""":math:`\sinh(r)/r` at :math:`r=\sqrt q`; the caller bounds q."""
    return _radial(q, _SINHC, torch.sinh)


def asinhc(q: Tensor) -> Tensor:
    r""":math:`\sinh^{-1}(r)/r` at :math:`r=\sqrt q`."""
    return _radial(q, _ASINHC, torch.asinh)


def sq_norm(x: Tensor) -> Tensor:
    """The squared Euclidean norm of the last dimension, which is kept."""
    return (x * x).sum(-1, keepdim=True)


def dot(x: Tensor, y: Tensor) -> Tensor:
    """The Euclidean inner product over the last dimension, which is kept."""
    return (x * y).sum(-1, keepdim=True)


def safe_sqrt(q: Tensor) -> Tensor:
    """The square root of ``max(q, 0)``, with gradient 0 (not infinity) at 0."""
    positive = q > 0
    return torch.where(positive, torch.where(positive, q, 1.0).sqrt(), 0.0)


def radius_limit(dtype: torch.dtype) -> float:
    r"""The largest :math:`\sqrt{-K}\lVert x\rVert` on the ball: a scaled distance of 13.2 or 31.9."""
    return 1 - (2.0**-44 if dtype == torch.float64 else 2.0**-18)


def distance_limit(dtype: torch.dtype) -> float:
    r"""The largest :math:`\sqrt{-K}\,d(x, 0)`, the same in both models."""
    return 2 * math.atanh(radius_limit(dtype))


def shrink(q: Tensor, limit: float) -> Tensor:
    """The factor ``min(1, limit / sqrt(q))`` that brings a vector of squared norm q to norm ``limit``."""
    outside = q > limit * limit
    return torch.where(outside, limit * torch.where(outside, q, 1.0).rsqrt(), 1.0)


def clip(u: Tensor, r: float) -> Tensor:
    r""":math:`\mathrm{CLIP}(u; r) = \min(1, r / \lVert u \rVert)\, u`."""
    return shrink(sq_norm(u), r) * u
