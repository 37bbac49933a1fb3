"""Radial maps with their gradients by hand, for a fixed curvature on the CPU.

At a few thousand nodes a map is bound by the number of operations, not by their size: each costs some
microseconds, and autograd repeats them. The plain versions in :mod:`hypergraph.nn.radial` and in
:mod:`hypergraph.geometry` say what is computed; tests hold these equal to them. A second derivative is taken
through the plain version.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.fused import nonzero
from hypergraph.memory import empty

_TINY = 1e-30  # stands in for a squared norm of 0 under a division
_SERIES_BELOW = 1e-3
# With fewer columns a matrix is kept column by column: vector code runs along the rows, which are many.
_FEW = 16
# Taylor coefficients of twice the derivatives by q of f(r)/r at r = sqrt(q)
_ASINHC = (-1 / 3, 3 / 10, -15 / 56, 35 / 144, -315 / 1408)
_SINHC = (1 / 3, 1 / 30, 1 / 840, 1 / 45360, 1 / 3991680)
_TANHC = (-2 / 3, 8 / 15, -34 / 105, 496 / 2835, -2764 / 31185)


def sq_norms(u: Tensor, factor: float = 1.0) -> Tensor:
    """``factor`` times the squared norm of every row: shape ``(rows,)``."""
    return torch.mv(u * u, _constant(u.size(1), factor, u.dtype))


def _dots(a: Tensor, b: Tensor) -> Tensor:
    return torch.mv(a * b, _constant(a.size(1), 1.0, a.dtype))


@functools.lru_cache(maxsize=64)
def _constant(size: int, value: float, dtype: torch.dtype) -> Tensor:
    """A vector to multiply with: that takes half the time of a sum over few columns."""
    with torch.inference_mode(False):
        return torch.full((size,), value, dtype=dtype)


def _twice_slope(q: Tensor, numerator: Tensor, series: tuple[float, ...]) -> Tensor:
    """``numerator / q``, and its series near 0, where the numerator cancels."""
    far = numerator.div_(q)
    if q.min().item() >= _SERIES_BELOW:
        return far
    near = torch.full_like(q, series[-1])
    for coefficient in reversed(series[:-1]):
        near.mul_(q).add_(coefficient)
    return torch.where(q < _SERIES_BELOW, near, far)


def _again(plain: Callable[..., Tensor], inputs: tuple[Tensor, ...], grad: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(plain(*inputs), inputs, grad, create_graph=True)


class Split(torch.autograd.Function):
    """Blocks of so many rows; torch's own puts their gradients together in memory that is slow to touch."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, size: int) -> tuple[Tensor, ...]:
        return rows.split(size)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return torch.cat(grads) if torch.is_grad_enabled() else _join(grads), None


class Join(torch.autograd.Function):
    """The opposite of :class:`Split`."""

    @staticmethod
    def forward(ctx: Any, *blocks: Tensor) -> Tensor:
        ctx.size = blocks[0].size(0)
        return _join(blocks)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads[0].split(ctx.size)


def _join(blocks: tuple[Tensor, ...]) -> Tensor:
    out = empty(sum(block.size(0) for block in blocks), blocks[0].size(1), blocks[0])
    return torch.cat(blocks, out=out)


class Clip(torch.autograd.Function):
    """Every row brought to norm ``r`` at most."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, r: float) -> Tensor:
        ctx.save_for_backward(u)
        ctx.r = r
        return (sq_norms(u, r**-2).clamp_min_(1).rsqrt_()).unsqueeze(-1) * u

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (u,), grad = ctx.saved_tensors, grads[0]
        q = (u * u).sum(-1) / ctx.r**2
        # a row outside keeps its length: the part of the gradient along it goes
        along = (q > 1) * (grad * u).sum(-1) / (q.clamp_min(1) * ctx.r**2)
        return q.clamp_min(1).rsqrt().unsqueeze(-1) * (grad - along.unsqueeze(-1) * u), None


class BallExp0(torch.autograd.Function):
    """:func:`hypergraph.geometry.poincare.exp0` at ``s = sqrt(-K)``, clipped to the scaled norm ``limit``."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, s: float, limit: float, plain: Callable[..., Tensor]) -> Tensor:
        q = sq_norms(u, s * s).clamp_min_(_TINY)
        r = q.sqrt()
        factor = r.clamp_max(limit).tanh_().div_(r)
        ctx.save_for_backward(u, q, factor)
        ctx.given = s, limit, plain
        return factor.unsqueeze(-1) * u

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        u, q, factor = ctx.saved_tensors
        s, limit, plain = ctx.given
        if torch.is_grad_enabled():
            return (*_again(plain, (u,), grads[0]), None, None, None)
        # factor = tanh(r)/r: twice its derivative is (1 - tanh^2 - factor)/q, and -factor/q where clipped
        numerator = (1 - (q * factor).mul_(factor)).mul_(q <= limit * limit).sub_(factor)
        slope = _twice_slope(q, numerator, _TANHC).mul_(_dots(grads[0], u)).mul_(s * s)
        return (factor.unsqueeze(-1) * grads[0]).addcmul_(slope.unsqueeze(-1), u), None, None, None


class Horospheres(torch.autograd.Function):
    r"""``space.busemann(x, weight, scale, offset)`` at ``s = sqrt(-K)``, on the ball or the Lorentz model.

    ``points`` holds x, without its time, and ``q`` the scaled squared norms, none beyond the limit. In both
    models :math:`e^{sB} - 1 = t = r_i - s m_i\langle x_i, v_k\rangle`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        scale: Tensor,
        offset: Tensor,
        points: Tensor,
        q: Tensor,
        s: float,
        plain: Callable[..., Tensor],
    ) -> Tensor:
        lorentz = x.size(1) > points.size(1)
        inverse = nonzero(torch.linalg.vector_norm(weight, dim=1)).reciprocal_()
        few = weight.size(0) < _FEW
        t = (torch.mm(weight, points.T).T if few else torch.mm(points, weight.T)).mul_(inverse * -s)
        r = q.sqrt()
        if lorentz:
            base = (q + 1).sqrt_()
            row = q / (base + 1)
            t.add_(row.unsqueeze(-1))
            least = (row + r).div_(r + base).neg_()
        else:
            base = (1 - q).mul_(0.5)
            row = q / base
            t.add_(q.unsqueeze(-1)).div_(base.unsqueeze(-1))
            least = (r * -2).div_(1 + r)
        f = t.clamp_min_(least.unsqueeze(-1)).log1p_()
        ctx.save_for_backward(x, weight, scale, offset, points, inverse, base, row, f)
        ctx.given = s, lorentz, plain
        return torch.addcmul(offset, f, scale, value=1 / s).contiguous()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, scale, offset, points, inverse, base, row, f = ctx.saved_tensors
        s, lorentz, plain = ctx.given
        grad = grads[0]
        if torch.is_grad_enabled():
            return (*_again(plain, (x, weight, scale, offset), grad), None, None, None, None)
        if weight.size(0) < _FEW:
            grad = grad.T.contiguous().T
        ones = torch.ones(len(grad), dtype=grad.dtype)
        d_offset = torch.mv(grad.T, ones)
        part = grad * f
        d_scale = torch.mv(part.T, ones).mul_(1 / s)
        # dt = G / (1 + t), times the factor of f
        factor = scale * (1 / s)
        d_t = torch.neg(f, out=part).exp_().mul_(grad)
        d_row = torch.mv(d_t, factor)
        # a direction has no gradient along itself: there go the sums of dt (t - row) = G - dt (1 + row)
        along = torch.addmv(d_offset, d_t.T, row + 1, alpha=-1).mul_(factor).mul_(inverse).mul_(inverse)
        d_t.mul_((inverse * factor).mul_(-s))
        if lorentz:  # row = sqrt(1 + q) - 1
            d_q = d_row.div_(base)
        else:  # t = (q - s <x, v>) / base, base = (1 - q) / 2
            d_q = torch.addmv(d_row, grad, factor).div_(base)
            d_t.div_(base.unsqueeze(-1))
        d_weight = torch.mm(d_t.T, points).addcmul_(along.unsqueeze(-1), weight, value=-1)
        d_x = torch.empty_like(x)
        d_x[:, : x.size(1) - points.size(1)] = 0  # nothing depends on the time: it follows from the rest
        d_points = d_x[:, x.size(1) - points.size(1) :]
        torch.mm(d_t, weight, out=d_points).addcmul_(d_q.unsqueeze(-1), points, value=s * s)
        return d_x, d_weight, d_scale, d_offset, None, None, None, None


class Translate(torch.autograd.Function):
    """:func:`hypergraph.nn.radial.translate`: 4 passes over the matrix forward and 8 back.

    ``q`` holds the scaled squared norms of w, and ``q_b`` is that of b; ``clipped`` says whether any row,
    before or after, is beyond ``limit``. The formula is in the plain version.
    """

    @staticmethod
    def forward(
        ctx: Any,
        w: Tensor,
        b: Tensor,
        q: Tensor,
        q_b: float,
        rate: float,
        limit: float,
        clipped: bool,
        plain: Callable[..., Tensor],
    ) -> Tensor:
        q = q.clamp_min(_TINY)
        r = q.sqrt()
        sinh = r.clamp_max(limit).sinh_() if clipped else r.sinh()
        cosh = torch.addcmul(_constant(1, 1.0, w.dtype), sinh, sinh).sqrt_()
        scale = sinh.mul_(rate).div_(r)
        part = scale / (cosh + 1)
        scale_b, cosh_b, _ = _sinh_number(q_b)
        p = b * (rate * scale_b)
        t = torch.mv(w, p)
        beta = (t * part).add_(cosh_b).mul_(scale)
        z = torch.addcmul(p, beta.unsqueeze(-1), w)
        z2 = sq_norms(z).clamp_min_(_TINY)
        root = z2.sqrt()
        angle = torch.addcdiv(root, z2, (z2 + 1).sqrt_().add_(1)).log1p_()
        slope = (angle.clamp_max(limit) if clipped else angle).div(root.mul_(rate))
        ctx.save_for_backward(w, b, q, scale, cosh, part, t, beta, z, z2, slope)
        ctx.given = q_b, rate, limit, clipped, plain
        return slope.unsqueeze(-1) * z

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        w, b, q, scale, cosh, part, t, beta, z, z2, slope = ctx.saved_tensors
        q_b, rate, limit, clipped, plain = ctx.given
        grad = grads[0]
        if torch.is_grad_enabled():
            return (*_again(plain, (w, b), grad), None, None, None, None, None, None)
        scale_b, cosh_b, scale_b_slope = _sinh_number(q_b)
        # u = slope(z2) z; where clipped, slope goes as 1/|z|
        numerator = (z2 + 1).rsqrt_()
        if clipped:
            numerator.mul_(z2 <= math.sinh(limit) ** 2)
        numerator.sub_(slope, alpha=rate)
        d_z2 = _twice_slope(z2, numerator, _ASINHC).mul_(_dots(grad, z)).mul_(1 / rate)
        d_z = (slope.unsqueeze(-1) * grad).addcmul_(d_z2.unsqueeze(-1), z)
        # z = p + beta w, beta = (cosh_b + t part) scale, part = scale / (1 + cosh), t = <w, p>
        d_beta = _dots(d_z, w)
        d_t = d_beta * part
        inner = d_t * t
        d_t.mul_(scale)
        numerator = torch.sub(cosh, scale, alpha=1 / rate)
        cosh_slope = part * scale
        if clipped:
            inside = q <= limit * limit
            numerator = torch.where(inside, numerator, -scale / rate)
            cosh_slope.mul_(inside)
        d_q = _twice_slope(q, numerator, _SINHC).mul_((d_beta * cosh_b).add_(inner, alpha=2))
        d_q.mul_(rate**3).sub_(inner.mul_(cosh_slope), alpha=rate)
        d_p = torch.addmv(d_z.sum(0), w.T, d_t)
        d_w = d_z.mul_(beta.unsqueeze(-1)).addcmul_(d_q.unsqueeze(-1), w)
        d_w.addcmul_(d_t.unsqueeze(-1), b, value=rate * scale_b)
        d_cosh_b = torch.dot(d_beta, scale).item()
        along = rate * scale_b_slope * torch.dot(d_p, b).item() + d_cosh_b * scale_b / 2
        d_b = (d_p * (rate * scale_b)).add_(b, alpha=2 * rate * rate * along)
        return d_w, d_b, None, None, None, None, None, None


def _sinh_number(q: float) -> tuple[float, float, float]:
    """sinh(r)/r, cosh(r), and the derivative by q of the first, at r = sqrt(q)."""
    r = q**0.5
    scale, cosh = (math.sinh(r) / r if r > 0 else 1.0), math.cosh(r)
    return scale, cosh, (cosh - scale) / (2 * q) if q > 1e-3 else 1 / 6 + q / 60 + q * q / 1680
