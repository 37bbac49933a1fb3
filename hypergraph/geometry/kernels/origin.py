"""A gyro bias added to logarithms at the origin, at a fixed curvature.

A row w and the bias b have the spatial parts ``rate scale w`` and ``rate p``, p = scale_b b. With
t = rate^2 <w, p> and part = scale / (1 + time), the sum has the spatial part ``rate (p + beta w)``, beta =
scale (cosh_b + t part), and the time cosh_b time + scale t. So the rate meets a few numbers, and no operation
on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Found, Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, constant, dots, plus, scaled, sq_norms


def _sinhc(q: float) -> tuple[float, float, float]:
    """sinh(r)/r, cosh(r), and the derivative by q of the first, at r = sqrt(q)."""
    r = q**0.5
    scale, cosh = (math.sinh(r) / r if r > 0 else 1.0), math.cosh(r)
    return scale, cosh, (cosh - scale) / (2 * q) if q > 1e-3 else 1 / 6 + q / 60 + q * q / 1680


def _with_bias(
    w: Tensor, scale: Tensor, time: Tensor, farthest: float, b: Tensor, rate: float, limit: float
) -> Found:
    """The logarithms of the sums, and what their gradient needs; ``None`` for a bias beyond the limit.
    ``farthest`` is the largest distance of w."""
    q_b = rate * rate * torch.dot(b, b).item()
    if not q_b <= limit * limit:
        return None
    scale_b, cosh_b, _ = _sinhc(q_b)
    p = scaled(b, scale_b)
    t = torch.addmv(constant(1, 0.0, b.dtype), w, b, alpha=rate * rate * scale_b)
    part = scale / plus(time, 1.0)
    beta = plus(t * part, cosh_b).mul_(scale)
    # the ratio r/sinh(r) at cosh(r) = 1 + rise: near 0 a rise may be rounded away, and leaves 1
    rise = torch.add(constant(1, -1.0, b.dtype), time, alpha=cosh_b).addcmul_(scale, t).clamp_min_(TINY)
    square = plus(rise, 2.0).mul_(rise)
    root = square.sqrt()
    slope = (rise + root).log1p_()
    beyond = min(farthest, limit) + q_b**0.5 > limit  # by the triangle inequality
    slope = (slope.clamp_max_(limit) if beyond else slope).div_(root)
    out = torch.addcmul(p, beta.unsqueeze(-1), w).mul_(slope.unsqueeze(-1))
    return out, (w, scale, time, farthest, p, t, part, beta, rise, square, slope, q_b, beyond)


def _with_bias_backward(
    q: Tensor | None, kept: Inputs, b: Tensor, rate: float, limit: float, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients by w and b; where the scale does not depend on w, without q."""
    w, scale, time, farthest, p, t, part, beta, rise, square, slope, q_b, beyond = kept
    scale_b, cosh_b, scale_b_slope = _sinhc(q_b)
    unit, one, grad_w = rate * rate, constant(1, 1.0, b.dtype), dots(grad, w)
    # near 0 the derivative of r/sinh(r) by cosh(r) is only rounding error, and is kept in its bounds
    inside = (rise <= math.cosh(limit) - 1).to(one.dtype) if beyond else one
    by_top = plus(rise, 1.0).mul_(slope).neg_().add_(inside).div_(square).clamp_(-1 / 3, 0)
    by_top.mul_(torch.addcmul(torch.mv(grad, p), beta, grad_w))
    by_beta, rest = slope * grad_w, t * part
    by_t = torch.addcmul(by_top, by_beta, part).mul_(scale)
    by_cosh = torch.dot(by_top, time).item() + (by_beta * scale).sum().item()
    by_time = torch.addcmul(scaled(by_top, cosh_b), by_beta, rest * part, value=-1)
    if q is None:
        along_w = by_time.div_(time)
    else:
        by_scale = by_top.mul_(t).addcmul_(by_beta, plus(rest, cosh_b / 2), value=2)
        if farthest > limit:  # the time stays there
            inside = (q <= limit * limit).to(one.dtype)
            time, by_time = time * inside, by_time.mul_(inside)
        along_w = by_time.mul_(scale).addcmul_((time - scale).div_(q), by_scale)
    by_w = (beta * slope).unsqueeze(-1) * grad
    by_w.addcmul_(along_w.unsqueeze(-1), w, value=unit).addcmul_(by_t.unsqueeze(-1), p, value=unit)
    by_p = torch.addmv(torch.mv(grad.T, slope), w.T, by_t, alpha=unit)
    along = scale_b_slope * torch.dot(by_p, b).item() + by_cosh * scale_b / 2
    return by_w, scaled(by_p, scale_b).add_(b, alpha=2 * unit * along)


class Shift(Kernel):
    """:func:`hypergraph.geometry.origin.shift0`."""

    by_rows = True

    def forward(self, w: Tensor, weight: Any, b: Tensor, rate: Any, limit: float) -> Found:
        if w.dim() != 2 or isinstance(rate, Tensor) or w.numel() == 0 or b.numel() == 0:
            return None
        w = w if weight is None else torch.mm(w, weight.T)
        q = sq_norms(w, rate * rate, TINY)
        r = q.sqrt()
        farthest = r.max().item()
        if not farthest < math.inf:
            return None
        sinh = r.clamp_max(limit).sinh_() if farthest > limit else r.sinh()
        time = torch.addcmul(constant(1, 1.0, w.dtype), sinh, sinh).sqrt_()
        made = _with_bias(w, sinh.div_(r), time, farthest, b, rate, limit)
        return made and (made[0], (q, *made[1]))

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        u, weight, b, rate, limit = inputs
        by_w, by_b = _with_bias_backward(kept[0], kept[1:], b, rate, limit, grads[0])
        if weight is None:
            return by_w, None, by_b, None, None
        by_u = torch.mm(by_w, weight) if needed[0] else None
        # of few columns, u is the one to transpose: that takes a third of the time
        return by_u, torch.mm(u.T, by_w).T, by_b, None, None


class FromDistances(Kernel):
    """:func:`hypergraph.geometry.origin.from_distances0`."""

    by_rows = True

    def forward(self, d: Tensor, b: Tensor, s: Any, rate: Any, limit: float) -> Found:
        if d.dim() != 2 or isinstance(rate, Tensor) or d.numel() == 0:
            return None
        w = (d * s).sinh_().div_(rate)
        time = plus(sq_norms(w, rate * rate), 1.0).sqrt_()
        cosh = time.max().item()
        if not cosh <= math.cosh(limit):
            return None
        return _with_bias(w, constant(1, 1.0, d.dtype), time, math.acosh(cosh), b, rate, limit)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (_, b, s, rate, limit), w = inputs, kept[0]
        by_w, by_b = _with_bias_backward(None, kept, b, rate, limit, grads[0])
        cosh = torch.addcmul(constant(1, 1.0, w.dtype), w, w, value=rate * rate).sqrt_()
        return by_w.mul_(cosh).mul_(s / rate), by_b, None, None, None
