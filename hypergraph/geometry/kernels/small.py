"""What the kernels of layers share. At a few thousand rows a map is bound by the number of operations, not by
their size: each costs some microseconds, so these spare torch the conversion of numbers."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

TINY = 1e-30  # is added to squared norms where one divides by them


@functools.lru_cache(maxsize=64)
def constant(size: int, value: float, dtype: torch.dtype) -> Tensor:
    """A vector to multiply with, which takes half the time of a sum over few columns; or, of size 1, a number
    that stays the same from step to step, which takes half the time of a Python one."""
    with torch.inference_mode(False):
        return torch.full((size,), value, dtype=dtype)


def plus(x: Tensor, number: float) -> Tensor:
    """x plus a number that changes from step to step; as a Python number it would become a tensor first."""
    return torch.add(x, constant(1, 1.0, x.dtype), alpha=number)


def scaled(x: Tensor, number: float) -> Tensor:
    """x times such a number."""
    return torch.add(constant(1, 0.0, x.dtype), x, alpha=number)


def sq_norms(u: Tensor, factor: float = 1.0, tiny: float = 0.0) -> Tensor:
    """``factor`` times the squared norm of every row, plus ``tiny``: shape ``(rows,)``."""
    weights = constant(u.size(1), factor, u.dtype)
    return torch.addmv(constant(1, tiny, u.dtype), u * u, weights) if tiny else torch.mv(u * u, weights)


def dots(a: Tensor, b: Tensor) -> Tensor:
    """The inner products of the rows."""
    return torch.mv(a * b, constant(a.size(1), 1.0, a.dtype))


def sinh_form(q: Tensor, rate: float, limit: float, beyond: bool) -> tuple[Tensor, Tensor]:
    """What a tangent vector w with q = (rate |w|)^2 > 0 is on the Lorentz model of curvature -1: the factor
    of w in the spatial part, and the time. ``beyond`` says whether some are beyond the limit, where the
    length stays."""
    r = q.sqrt()
    sinh = r.clamp_max(limit).sinh_() if beyond else r.sinh()
    time = torch.addcmul(constant(1, 1.0, q.dtype), sinh, sinh).sqrt_()
    return sinh.div_(r.mul_(constant(1, 1 / rate, q.dtype))), time


def sinh_slopes(
    q: Tensor, factor: Tensor, time: Tensor, rate: float, limit: float, beyond: bool
) -> tuple[Tensor, Tensor]:
    """Twice the derivatives of these two by q, the first with its sign changed."""
    time_slope = factor / constant(1, rate, q.dtype)
    if beyond:
        inside = (q <= limit * limit).to(q.dtype)
        time, time_slope = time * inside, time_slope.mul_(inside)
    # near 0 the difference is mere rounding, but it is multiplied by w twice
    return torch.sub(factor, time, alpha=rate).div_(q), time_slope
