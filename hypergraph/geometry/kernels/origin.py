"""A gyro bias added to logarithms at the origin, at a fixed curvature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel
from hypergraph.geometry.kernels.small import (
    TINY,
    constant,
    dots,
    plus,
    scaled,
    sinh_form,
    sinh_slopes,
    sq_norms,
)


class _Start(NamedTuple):
    """Points with the spatial parts ``scale * w`` (or w, where the scale is ``None``): q = unit |w|^2, and
    the times. ``beyond`` says whether some are beyond the limit."""

    w: Tensor
    q: Tensor
    scale: Tensor | None
    time: Tensor
    unit: float
    beyond: bool

    def slopes(self, rate: float, limit: float) -> tuple[Tensor | None, Tensor]:
        """Twice the derivatives of scale and time by q, the first with its sign changed."""
        if self.scale is None:
            return None, self.time.reciprocal()
        return sinh_slopes(self.q, self.scale, self.time, rate, limit, self.beyond)


class _Sum(NamedTuple):
    """Of the sum with the bias, whose spatial part is z = p + beta w: what its gradient needs."""

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


def _sinh_number(q: float) -> tuple[float, float, float]:
    """sinh(r)/r, cosh(r), and the derivative by q of the first, at r = sqrt(q)."""
    r = q**0.5
    scale, cosh = (math.sinh(r) / r if r > 0 else 1.0), math.cosh(r)
    return scale, cosh, (cosh - scale) / (2 * q) if q > 1e-3 else 1 / 6 + q / 60 + q * q / 1680


def _logarithm(z: Tensor, rate: float, limit: float, beyond: bool) -> tuple[Tensor, Tensor, Tensor]:
    """|z|^2, sqrt(1 + |z|^2) and asinh(|z|) / (rate |z|); ``beyond`` says whether some may be beyond the
    limit."""
    z2 = sq_norms(z, tiny=TINY)
    one = constant(1, 1.0, z.dtype)
    root, top = z2.sqrt(), (z2 + one).sqrt_()
    slope = torch.addcdiv(root, z2, top + one).log1p_()
    if beyond:
        slope.clamp_max_(limit)
    return z2, top, slope.div_(root.mul_(constant(1, rate, z.dtype)))


def _bend(z2: Tensor, top: Tensor, slope: Tensor, rate: float, limit: float, beyond: bool) -> Tensor:
    """Twice the derivative of that slope by |z|^2; near 0 it is mere rounding, kept in its bounds."""
    bend = top.reciprocal()
    if beyond:
        bend.mul_(z2 <= math.sinh(limit) ** 2)
    bend.sub_(slope, alpha=rate).div_(z2)
    return (bend if beyond else bend.clamp_(-1 / 3, 0)).mul_(constant(1, 1 / rate, z2.dtype))


def _add(x: _Start, reach: float, b: Tensor, rate: float, limit: float) -> tuple[Tensor, _Sum] | None:
    """The logarithms of the sums: slope z, with beta = scale (cosh_b + rest), rest = t part, t = <w, p> and
    part = scale / (1 + time). ``reach`` is the largest distance of x."""
    q_b = rate * rate * torch.dot(b, b).item()
    if not q_b <= limit * limit:
        return None
    scale_b, cosh_b, _ = _sinh_number(q_b)
    p = scaled(b, rate * scale_b)
    t = torch.mv(x.w, p)
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
    w, beta, slope, p = x.w, y.beta, y.slope, y.p
    scale_b, cosh_b, scale_b_slope = _sinh_number(y.q_b)
    grad_w = dots(grad, w)
    by_z2 = torch.addcmul(torch.mv(grad, p), beta, grad_w)  # <grad, z>, and twice the derivative by |z|^2
    by_z2.mul_(_bend(y.z2, y.top, slope, rate, limit, y.beyond))
    by_beta = (slope * grad_w).addcmul_(by_z2, torch.addcmul(y.t, beta, x.q, value=1 / x.unit))
    by_cosh = by_beta if x.scale is None else by_beta * x.scale
    by_t = by_cosh * y.part
    scale_slope, time_slope = x.slopes(rate, limit)
    minus_by_q = (y.rest * y.part).mul_(by_beta).mul_(time_slope)
    if scale_slope is not None:
        minus_by_q.addcmul_(by_beta.mul_(scale_slope), plus(y.rest, cosh_b / 2), value=2)
    along_p = torch.addcmul(by_t, beta, by_z2)
    on_w = torch.addcmul(minus_by_q.mul_(constant(1, -x.unit, w.dtype)), by_z2.mul(beta), beta)
    by_w = (beta * slope).unsqueeze(-1) * grad
    by_w.addcmul_(on_w.unsqueeze(-1), w).addcmul_(along_p.unsqueeze(-1), p)
    by_p = torch.addmv(torch.mv(grad.T, slope), w.T, along_p).addcmul_(p, by_z2.sum())
    along = rate * scale_b_slope * torch.dot(by_p, b).item() + by_cosh.sum().item() * scale_b / 2
    return by_w, scaled(by_p, rate * scale_b).add_(b, alpha=2 * rate * rate * along)


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
        start = _Start(w, q, *sinh_form(q, rate, limit, reach > limit), rate * rate, reach > limit)
        made = _add(start, reach, b, rate, limit)
        return None if made is None else (made[0], (*start, *made[1]))

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        u, weight, b, rate, limit = inputs
        by_w, by_b = _add_backward(_Start(*kept[:6]), b, _Sum(*kept[6:]), rate, limit, grads[0])
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
        omega = (d * s).sinh_()
        q = sq_norms(omega)
        farthest = q.amax().item()
        if not farthest <= math.sinh(limit) ** 2:
            return None
        if b is None:
            z2, top, slope = _logarithm(omega, rate, limit, False)
            return slope.unsqueeze(-1) * omega, (omega, z2, top, slope)
        start = _Start(omega, q, None, (q + constant(1, 1.0, d.dtype)).sqrt_(), 1.0, False)
        made = _add(start, math.asinh(farthest**0.5), b, rate, limit)
        return None if made is None else (made[0], (*start, *made[1]))

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (d, b, s, rate, limit), (grad,) = inputs, grads
        omega = kept[0]
        if b is None:
            _, z2, top, slope = kept
            on_omega = _bend(z2, top, slope, rate, limit, False).mul_(dots(grad, omega))
            by_omega, by_b = (slope.unsqueeze(-1) * grad).addcmul_(on_omega.unsqueeze(-1), omega), None
        else:
            by_omega, by_b = _add_backward(_Start(*kept[:6]), b, _Sum(*kept[6:]), rate, limit, grad)
        cosh = torch.addcmul(constant(1, 1.0, d.dtype), omega, omega).sqrt_()
        return by_omega.mul_(cosh).mul_(s), by_b, None, None, None
