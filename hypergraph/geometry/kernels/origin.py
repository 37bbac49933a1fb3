"""A gyro bias added to logarithms at the origin, at a fixed curvature.

A point with the tangent vector w has the spatial part ``rate * scale * w``. All vectors are kept without that
rate, in the units of w: it then meets a few numbers, and no operation on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, constant, dots, plus, scaled, sq_norms


class _Start(NamedTuple):
    """Points: q = |rate w|^2, the scale (``None`` for 1) and the time; ``beyond`` says whether some are
    beyond the limit."""

    w: Tensor
    q: Tensor
    scale: Tensor | None
    time: Tensor
    beyond: bool

    def slopes(self, limit: float) -> tuple[Tensor | None, Tensor]:
        """Twice the derivatives of scale and time by q, the first with its sign changed."""
        if self.scale is None:
            return None, self.time.reciprocal()
        time, time_slope = self.time, self.scale
        if self.beyond:
            inside = (self.q <= limit * limit).to(self.q.dtype)
            time, time_slope = time * inside, time_slope * inside
        # near 0 the difference is mere rounding, but it is multiplied by w twice
        return (self.scale - time).div_(self.q), time_slope


class _Sum(NamedTuple):
    """Of the sum with the bias, z = p + beta w: what its gradient needs."""

    p: Tensor
    t: Tensor
    part: Tensor
    rest: Tensor
    beta: Tensor
    z2: Tensor
    top: Tensor
    slope: Tensor
    q_b: float
    beyond: bool


def _sinh(q: Tensor, limit: float, beyond: bool) -> tuple[Tensor, Tensor]:
    """sinh(r)/r and cosh(r) at r = sqrt(q) > 0; beyond the limit sinh and cosh stay."""
    r = q.sqrt()
    sinh = r.clamp_max(limit).sinh_() if beyond else r.sinh()
    return sinh / r, torch.addcmul(constant(1, 1.0, q.dtype), sinh, sinh).sqrt_()


def _sinh_number(q: float) -> tuple[float, float, float]:
    """sinh(r)/r, cosh(r), and the derivative by q of the first, at r = sqrt(q)."""
    r = q**0.5
    scale, cosh = (math.sinh(r) / r if r > 0 else 1.0), math.cosh(r)
    return scale, cosh, (cosh - scale) / (2 * q) if q > 1e-3 else 1 / 6 + q / 60 + q * q / 1680


def _logarithm(z: Tensor, rate: float, limit: float, beyond: bool) -> tuple[Tensor, Tensor, Tensor]:
    """r^2 = |rate z|^2, sqrt(1 + r^2), asinh(r)/r; ``beyond`` says whether some may be beyond the limit."""
    z2 = sq_norms(z, rate * rate, TINY)
    one = constant(1, 1.0, z.dtype)
    root, top = z2.sqrt(), (z2 + one).sqrt_()
    slope = torch.addcdiv(root, z2, top + one).log1p_()
    if beyond:
        slope.clamp_max_(limit)
    return z2, top, slope.div_(root)


def _bend(z2: Tensor, top: Tensor, slope: Tensor, limit: float, beyond: bool) -> Tensor:
    """Twice the derivative of that slope by r^2; near 0 it is mere rounding, kept in its bounds."""
    bend = top.reciprocal()
    if beyond:
        return bend.mul_(z2 <= math.sinh(limit) ** 2).sub_(slope).div_(z2)
    return bend.sub_(slope).div_(z2).clamp_(-1 / 3, 0)


def _add(x: _Start, reach: float, b: Tensor, rate: float, limit: float) -> tuple[Tensor, _Sum] | None:
    """The logarithms of the sums: slope z, with beta = scale (cosh_b + rest), rest = t part, part = scale /
    (1 + time) and t = rate^2 <w, p>. ``reach`` is the largest distance of x."""
    q_b = rate * rate * torch.dot(b, b).item()
    if not q_b <= limit * limit:
        return None
    scale_b, cosh_b, _ = _sinh_number(q_b)
    p = scaled(b, scale_b)
    t = torch.mv(x.w, scaled(b, rate * rate * scale_b))
    part = x.time + constant(1, 1.0, b.dtype)
    part = part.reciprocal_() if x.scale is None else torch.div(x.scale, part, out=part)
    rest = t * part
    beta = plus(rest, cosh_b)
    if x.scale is not None:
        beta.mul_(x.scale)
    z = torch.addcmul(p, beta.unsqueeze(-1), x.w)
    beyond = reach + q_b**0.5 > limit  # by the triangle inequality
    z2, top, slope = _logarithm(z, rate, limit, beyond)
    return z.mul_(slope.unsqueeze(-1)), _Sum(p, t, part, rest, beta, z2, top, slope, q_b, beyond)


def _add_backward(
    x: _Start, b: Tensor, y: _Sum, rate: float, limit: float, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients by w and b."""
    w, beta, slope, p, unit = x.w, y.beta, y.slope, y.p, rate * rate
    scale_b, cosh_b, scale_b_slope = _sinh_number(y.q_b)
    grad_w = dots(grad, w)
    # first <grad, z>, then twice the derivative by |rate z|^2
    by_z2 = torch.addcmul(torch.mv(grad, p), beta, grad_w)
    by_z2.mul_(_bend(y.z2, y.top, slope, limit, y.beyond))
    by_beta = torch.addcmul(y.t, beta, x.q).mul_(by_z2).addcmul_(slope, grad_w)
    by_cosh = by_beta if x.scale is None else by_beta * x.scale
    scale_slope, time_slope = x.slopes(limit)
    minus_by_q = (y.rest * y.part).mul_(time_slope)
    if scale_slope is not None:
        minus_by_q.addcmul_(scale_slope, plus(y.rest, cosh_b / 2), value=2)
    along_z = beta * by_z2
    along_p = torch.addcmul(along_z, by_cosh, y.part)
    along_w = along_z.mul_(beta).addcmul_(minus_by_q, by_beta, value=-1)
    by_w = (beta * slope).unsqueeze(-1) * grad
    by_w.addcmul_(along_w.unsqueeze(-1), w, value=unit).addcmul_(along_p.unsqueeze(-1), p, value=unit)
    by_p = torch.addmv(torch.mv(grad.T, slope), w.T, along_p, alpha=unit).addcmul_(p, by_z2.sum(), value=unit)
    along = scale_b_slope * torch.dot(by_p, b).item() + by_cosh.sum().item() * scale_b / 2
    return by_w, scaled(by_p, scale_b).add_(b, alpha=2 * unit * along)


class Shift(Kernel):
    """:func:`hypergraph.geometry.origin.shift0`."""

    by_rows = True

    def forward(
        self, w: Tensor, weight: Tensor | None, b: Tensor, rate: Any, limit: float
    ) -> tuple[Tensor, tuple[Any, ...]] | None:
        if w.dim() != 2 or isinstance(rate, Tensor) or w.numel() == 0 or b.numel() == 0:
            return None
        if weight is not None:
            w = torch.mm(w, weight.T)
        q = sq_norms(w, rate * rate, TINY)
        farthest = q.amax().item()
        if not farthest < math.inf:
            return None
        reach = farthest**0.5
        start = _Start(w, q, *_sinh(q, limit, reach > limit), reach > limit)
        made = _add(start, reach, b, rate, limit)
        return None if made is None else (made[0], (*start, *made[1]))

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        u, weight, b, rate, limit = inputs
        by_w, by_b = _add_backward(_Start(*kept[:5]), b, _Sum(*kept[5:]), rate, limit, grads[0])
        if weight is None:
            return by_w, None, by_b, None, None
        # of few columns, u is the one to transpose: that takes a third of the time
        by_weight = torch.mm(u.T, by_w).T if needed[1] else None
        return torch.mm(by_w, weight) if needed[0] else None, by_weight, by_b, None, None


class FromDistances(Kernel):
    """:func:`hypergraph.geometry.origin.from_distances0`."""

    by_rows = True

    def forward(
        self, d: Tensor, b: Tensor | None, s: Any, rate: Any, limit: float
    ) -> tuple[Tensor, tuple[Any, ...]] | None:
        if d.dim() != 2 or isinstance(rate, Tensor) or d.numel() == 0:
            return None
        w = (d * s).sinh_().div_(rate)
        q = sq_norms(w, rate * rate)
        farthest = q.amax().item()
        if not farthest <= math.sinh(limit) ** 2:
            return None
        if b is None:
            z2, top, slope = _logarithm(w, rate, limit, False)
            return slope.unsqueeze(-1) * w, (w, z2, top, slope)
        start = _Start(w, q, None, (q + constant(1, 1.0, d.dtype)).sqrt_(), False)
        made = _add(start, math.asinh(farthest**0.5), b, rate, limit)
        return None if made is None else (made[0], (*start, *made[1]))

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (d, b, s, rate, limit), (grad,) = inputs, grads
        w, by_b = kept[0], None
        if b is None:
            _, z2, top, slope = kept
            along = _bend(z2, top, slope, limit, False).mul_(dots(grad, w)).unsqueeze(-1)
            by_w = (slope.unsqueeze(-1) * grad).addcmul_(along, w, value=rate * rate)
        else:
            by_w, by_b = _add_backward(_Start(*kept[:5]), b, _Sum(*kept[5:]), rate, limit, grad)
        cosh = torch.addcmul(constant(1, 1.0, d.dtype), w, w, value=rate * rate).sqrt_()
        return by_w.mul_(cosh).mul_(s / rate), by_b, None, None, None
