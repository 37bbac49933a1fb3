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

from hypergraph.memory import empty

_TINY = 1e-30  # is added to squared norms, so that one can divide by them
# With fewer columns a matrix is kept column by column: vector code runs along the rows, which are many.
_FEW = 16


def sq_norms(u: Tensor, factor: float = 1.0) -> Tensor:
    """``factor`` times the squared norm of every row, kept off 0: shape ``(rows,)``."""
    return torch.addmv(_constant(1, _TINY, u.dtype), u * u, _constant(u.size(1), factor, u.dtype))


def _dots(a: Tensor, b: Tensor) -> Tensor:
    return torch.mv(a * b, _constant(a.size(1), 1.0, a.dtype))


@functools.lru_cache(maxsize=64)
def _constant(size: int, value: float, dtype: torch.dtype) -> Tensor:
    """A vector to multiply with: that takes half the time of a sum over few columns."""
    with torch.inference_mode(False):
        return torch.full((size,), value, dtype=dtype)


@functools.lru_cache(maxsize=256)
def _number(value: float, dtype: torch.dtype) -> Tensor:
    """A number to compute with: torch would convert a Python one at every operation."""
    with torch.inference_mode(False):
        return torch.tensor(value, dtype=dtype)


def _times(x: Tensor, factor: float) -> Tensor:
    """``factor * x`` for a number of the moment."""
    return torch.add(_number(0.0, x.dtype), x, alpha=factor)


def _within(x: Tensor, limit: float) -> Tensor:
    """1 where ``x <= limit``, else 0; cheaper to multiply with than a mask."""
    return x.clone().le_(_number(limit, x.dtype))


def _again(
    plain: Callable[..., Tensor], inputs: tuple[Tensor, ...], grad: Tensor
) -> tuple[Tensor | None, ...]:
    needed = [x for x in inputs if x.requires_grad]
    found = iter(torch.autograd.grad(plain(*inputs), needed, grad, create_graph=True))
    return tuple(next(found) if x.requires_grad else None for x in inputs)


class _Map(torch.autograd.Function):
    """A function whose ``compute`` gives the result, and what its gradient needs."""

    compute: Callable[..., tuple[Tensor, tuple[Tensor, ...]]]

    @classmethod
    def run(cls, *inputs: Any) -> Tensor:
        """``apply``, where autograd is on."""
        return cls.apply(*inputs) if torch.is_grad_enabled() else cls.compute(*inputs)[0]


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


class BallExp0(_Map):
    """:func:`hypergraph.geometry.poincare.exp0` at ``s = sqrt(-K)``, clipped to the scaled norm ``limit``."""

    @staticmethod
    def compute(
        u: Tensor, s: float, limit: float, plain: Callable[..., Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        q = sq_norms(u, s * s)
        r = q.sqrt()
        tanh = r.clamp_max(limit).tanh_()
        factor = tanh / r
        return factor.unsqueeze(-1) * u, (q, tanh, factor)

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        x, kept = BallExp0.compute(*inputs)
        ctx.save_for_backward(inputs[0], *kept)
        ctx.given = inputs[1:]
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        u, q, tanh, factor = ctx.saved_tensors
        s, limit, plain = ctx.given
        if torch.is_grad_enabled():
            return (*_again(plain, (u,), grads[0]), None, None, None)
        # factor = tanh(r)/r: twice its derivative is (1 - tanh^2 - factor)/q, and -factor/q where clipped
        slope = torch.addcmul(_number(1.0, u.dtype), tanh, tanh, value=-1).mul_(_within(q, limit * limit))
        slope.sub_(factor).div_(q).mul_(_dots(grads[0], u)).mul_(_number(s * s, u.dtype))
        return (factor.unsqueeze(-1) * grads[0]).addcmul_(slope.unsqueeze(-1), u), None, None, None


class Horospheres(_Map):
    r"""``space.busemann(x, weight, scale, offset)`` at ``s = sqrt(-K)``, on the ball or the Lorentz model.

    ``points`` holds x, without its time, and ``q`` the scaled squared norms, none beyond the limit; ``near``
    says whether the bound below might be passed by rounding. In both models
    :math:`e^{sB} - 1 = t = r_i - s m_i\langle x_i, v_k\rangle`.
    """

    @staticmethod
    def compute(
        x: Tensor,
        weight: Tensor,
        scale: Tensor,
        offset: Tensor,
        points: Tensor,
        q: Tensor,
        near: bool,
        s: float,
        plain: Callable[..., Tensor],
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        one, lorentz = _number(1.0, x.dtype), x.size(1) > points.size(1)
        # a row of zeros has no direction: its length counts as 1
        inverse = torch.threshold_(sq_norms(weight), _TINY, 1.0).rsqrt_()
        v = weight * (inverse * _number(-s, x.dtype)).unsqueeze(-1)
        t = torch.mm(v, points.T).T if weight.size(0) < _FEW else torch.mm(points, v.T)
        if lorentz:
            base = (q + one).sqrt_()
            row = q / (base + one)
            t.add_(row.unsqueeze(-1))
        else:
            base = torch.sub(_number(0.5, x.dtype), q, alpha=0.5)
            row = q / base
            t.add_(q.unsqueeze(-1)).div_(base.unsqueeze(-1))
        if near:
            r = q.sqrt()
            least = (row + r).div_(r + base) if lorentz else (r + r).div_(r + one)
            t.clamp_min_(least.neg_().unsqueeze(-1))
        f = t.log1p()
        return torch.addcmul(offset, f, scale, value=1 / s, out=q.new_empty(f.shape)), (
            inverse,
            base,
            row,
            t,
            f,
        )

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        logits, kept = Horospheres.compute(*inputs)
        ctx.save_for_backward(*inputs[:5], *kept)
        ctx.given = inputs[-2:]
        return logits

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, scale, offset, points, inverse, base, row, t, f = ctx.saved_tensors
        s, plain = ctx.given
        lorentz = x.size(1) > points.size(1)
        grad = grads[0]
        if torch.is_grad_enabled():
            return (*_again(plain, (x, weight, scale, offset), grad), None, None, None, None, None)
        if weight.size(0) < _FEW:
            grad = grad.T.contiguous().T
        ones = _constant(len(grad), 1.0, grad.dtype)
        d_offset = torch.mv(grad.T, ones)
        part = grad * f
        inverse_s = _number(1 / s, x.dtype)
        d_scale = torch.mv(part.T, ones).mul_(inverse_s)
        # dt = G / (1 + t), times the factor of f
        factor = scale * inverse_s
        d_t = torch.div(grad, torch.add(t, _number(1.0, x.dtype), out=part), out=part)
        d_row = torch.mv(d_t, factor)
        # a direction has no gradient along itself: there go the sums of dt (t - row) = G - dt (1 + row)
        along = torch.addmv(d_offset, d_t.T, row + ones, alpha=-1).mul_(factor).mul_(inverse).mul_(inverse)
        d_t.mul_((inverse * factor).mul_(_number(-s, x.dtype)))
        if lorentz:  # row = sqrt(1 + q) - 1
            d_q = d_row.div_(base)
        else:  # t = (q - s <x, v>) / base, base = (1 - q) / 2
            d_q = torch.addmv(d_row, grad, factor).div_(base)
            d_t.div_(base.unsqueeze(-1))
        d_weight = torch.mm(d_t.T, points).addcmul_(along.unsqueeze(-1), weight, value=-1)
        d_x = torch.empty_like(x)
        d_points = d_x
        if lorentz:  # nothing depends on the time: it follows from the rest
            d_x[:, 0] = 0
            d_points = d_x[:, 1:]
        torch.mm(d_t, weight, out=d_points).addcmul_(d_q.unsqueeze(-1), points, value=s * s)
        return d_x, d_weight, d_scale, d_offset, None, None, None, None, None


class Translate(_Map):
    """:func:`hypergraph.nn.radial.affine` of u and weight, or ``translate`` where the weight is ``None``.

    ``w`` holds their product, or u; ``q`` the scaled squared norms of its rows, and ``q_b`` is that of b;
    ``clipped`` says whether any row, before or after, is beyond ``limit``. The formula is in the plain
    version.
    """

    @staticmethod
    def compute(
        u: Tensor,
        weight: Tensor | None,
        b: Tensor,
        w: Tensor,
        q: Tensor,
        q_b: float,
        rate: float,
        limit: float,
        clipped: bool,
        plain: Callable[..., Tensor],
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        one, factor = _number(1.0, w.dtype), _number(rate, w.dtype)
        scale_b, cosh_b, _ = _sinh_number(q_b)
        r = q.sqrt()
        sinh = r.clamp_max(limit).sinh_() if clipped else r.sinh()
        cosh = torch.addcmul(one, sinh, sinh).sqrt_()
        scale = sinh.mul_(factor).div_(r)
        part = scale / (cosh + one)
        p = _times(b, rate * scale_b)
        t = torch.mv(w, p)
        beta = torch.addcmul(one, t, part, value=1 / cosh_b).mul_(_times(scale, cosh_b))
        z = torch.addcmul(p, beta.unsqueeze(-1), w)
        z2 = sq_norms(z)
        root, top = z2.sqrt(), (z2 + one).sqrt_()
        angle = torch.addcdiv(root, z2, top + one).log1p_()
        slope = (angle.clamp_max_(limit) if clipped else angle).div_(root.mul_(factor))
        return z.mul_(slope.unsqueeze(-1)), (scale, cosh, part, p, t, beta, z2, top, slope)

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        out, kept = Translate.compute(*inputs)
        ctx.save_for_backward(*inputs[:5], *kept)
        ctx.given = inputs[5:]
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        u, weight, b, w, q, scale, cosh, part, p, t, beta, z2, top, slope = ctx.saved_tensors
        q_b, rate, limit, clipped, plain = ctx.given
        grad = grads[0]
        if torch.is_grad_enabled():
            d_u, *d_weight, d_b = _again(plain, (u, b) if weight is None else (u, weight, b), grad)
            return d_u, *(d_weight or [None]), d_b, *[None] * 7
        scale_b, cosh_b, scale_b_slope = _sinh_number(q_b)
        grad_w = _dots(grad, w)
        # u = slope(z2) z; where clipped, slope goes as 1/|z|. Near 0 the difference is mere rounding, but it
        # is multiplied by z twice; its bounds are those of the true derivative of asinh(r)/r
        bend = _within(z2, math.sinh(limit) ** 2).div_(top) if clipped else top.reciprocal()
        bend.sub_(slope, alpha=rate).div_(z2).clamp_(-1 / 3, 0)
        d_z2 = torch.addcmul(torch.mv(grad, p), beta, grad_w).mul_(bend).mul_(_number(1 / rate, w.dtype))
        # z = p + beta w, beta = (cosh_b + t part) scale, part = scale / (1 + cosh), t = <w, p>
        d_beta = (slope * grad_w).addcmul_(d_z2, torch.addcmul(t, beta, q, value=rate**-2))
        d_t = d_beta * part
        inner = d_t * t
        d_t.mul_(scale)
        cosh_slope = part * scale
        if clipped:
            inside = _within(q, limit * limit)
            cosh = cosh * inside
            cosh_slope.mul_(inside)
        bend = torch.sub(cosh, scale, alpha=1 / rate).div_(q)
        d_q = torch.addcmul(
            inner * cosh_slope, bend, torch.add(d_beta, inner, alpha=2 / cosh_b), value=-cosh_b * rate**2
        ).mul_(_number(-rate, w.dtype))
        along_p = torch.addcmul(d_t, beta, d_z2)
        d_p = torch.addmv(torch.mv(grad.T, slope), w.T, along_p).addcmul_(p, d_z2.sum())
        d_q.addcmul_(d_z2, beta.square())
        d_w = (beta * slope).unsqueeze(-1) * grad
        d_w.addcmul_(d_q.unsqueeze(-1), w).addcmul_(along_p.unsqueeze(-1), p)
        d_cosh_b = torch.dot(d_beta, scale).item()
        along = rate * scale_b_slope * torch.dot(d_p, b).item() + d_cosh_b * scale_b / 2
        d_b = _times(d_p, rate * scale_b).add_(b, alpha=2 * rate * rate * along)
        if weight is None:
            return d_w, None, d_b, *[None] * 7
        d_u = torch.mm(d_w, weight) if ctx.needs_input_grad[0] else None
        # with few features u is the one to transpose: that takes a third of the time
        return d_u, torch.mm(u.T, d_w).T, d_b, *[None] * 7


def _sinh_number(q: float) -> tuple[float, float, float]:
    """sinh(r)/r, cosh(r), and the derivative by q of the first, at r = sqrt(q)."""
    r = q**0.5
    scale, cosh = (math.sinh(r) / r if r > 0 else 1.0), math.cosh(r)
    return scale, cosh, (cosh - scale) / (2 * q) if q > 1e-3 else 1 / 6 + q / 60 + q * q / 1680
