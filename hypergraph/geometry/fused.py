"""Products with the rows of a matrix, and the elementwise functions that follow them over batch x classes.

At this size the time goes into fresh memory, not into arithmetic: a tensor of batch x classes costs less to
compute than to page in. So the elementwise functions work in blocks of rows, in a few buffers, and keep
nothing but what their argument is made of; the gradients of a matrix are summed where they end up.

The backward passes work in place where nothing differentiates them. Second derivatives, torch.func and
torch.compile take the plain versions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.numerics import asinhc, at_least
from hypergraph.geometry.rows import apply


def nonzero(r: Tensor) -> Tensor:
    """r, and 1 where it is 0, so that one can divide by it."""
    return r + (r == 0)


def _add_multiples(y: Tensor, *terms: tuple[Tensor, Tensor]) -> Tensor:
    """y plus the matrices, each with a factor for each row."""
    for factor, z in terms:
        if torch.is_grad_enabled():  # second derivatives, and torch.func, which has no rule for addcmul_
            y = y + factor.unsqueeze(-1) * z
        else:  # y was just written, and is in the cache
            y.addcmul_(factor.unsqueeze(-1), z)
    return y


class _Products(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        return (x @ z.mT).to(z.dtype), torch.linalg.vector_norm(z, dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_norm: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, z, r = ctx.saved_tensors
        grad_x = grad @ z if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return grad_x, None
        return grad_x, _add_multiples(grad.mT @ x, (grad_norm / nonzero(r), z))


def products(x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """The inner products of x ``(..., n)`` with the rows of z ``(C, n)``, and the norms of these rows.

    Both in the dtype of z: autocast may lower the product, not what follows. The gradients of both are one
    sum over z, which is larger than the batch.
    """
    inner, norms = apply(_Products, x.reshape(-1, x.size(-1)), z)
    return inner.reshape(*x.shape[:-1], z.size(0)), norms


class _Gram(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(p: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        length = torch.linalg.vector_norm
        return length(p, dim=-1).square(), (p * z).sum(-1), length(z, dim=-1).square()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_p: Tensor, grad_pz: Tensor, grad_z: Tensor) -> tuple[Tensor, Tensor]:
        p, z = ctx.saved_tensors
        a, c = ((2 * g).unsqueeze(-1) for g in (grad_p, grad_z))
        return _add_multiples(a * p, (grad_pz, z)), _add_multiples(c * z, (grad_pz, p))


def gram(p: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inner products <p, p>, <p, z> and <z, z> of the rows of two matrices."""
    return apply(_Gram, p, z)


class _PairProducts(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, p: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        return (x @ p.mT).to(p.dtype), (x @ z.mT).to(z.dtype), *_Gram.forward(p, z)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_p: Tensor, grad_z: Tensor, *grads: Tensor) -> tuple[Tensor, ...]:
        x, p, z = ctx.saved_tensors
        a, b, c = grads
        return (
            grad_p @ p + grad_z @ z,
            _add_multiples(grad_p.mT @ x, (2 * a, p), (b, z)),
            _add_multiples(grad_z.mT @ x, (b, p), (2 * c, z)),
        )


def pair_products(x: Tensor, p: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    """The products of x ``(batch, n)`` with the rows of p and of z, and the :func:`gram` of p and z."""
    return apply(_PairProducts, x, p, z)


# Each function below takes its argument t, in a buffer that it may write over, and as many spare ones as
# _SPARE says, and returns the buffer that holds the value. Its slope goes on from there, and is left in t.


def _log1p(t: Tensor, spare: list[Tensor]) -> Tensor:
    return torch.log1p(t, out=spare[0])


def _log1p_slope(t: Tensor, spare: list[Tensor]) -> None:
    t.add_(1).reciprocal_()


def _asinh(t: Tensor, spare: list[Tensor]) -> Tensor:
    # asinh |t| = log1p(|t| (1 + |t| / (1 + root))): torch.asinh, which has no vector code, takes as long as
    # three matrix products
    root, value = spare
    torch.mul(t, t, out=root).add_(1).sqrt_()
    torch.add(root, 1, out=value)
    return torch.div(t, value, out=value).abs_().add_(1).mul_(t).abs_().log1p_().copysign_(t)


def _asinh_slope(t: Tensor, spare: list[Tensor]) -> None:
    torch.reciprocal(spare[0], out=t)


def _hcothh(t: Tensor, spare: list[Tensor]) -> Tensor:
    root, r, value = spare
    # q = sinh(h)^2; at 0 the smallest number leaves the right limit, 1
    q = t.sub_(1).mul_(0.5).clamp_min_(torch.finfo(t.dtype).tiny)
    torch.add(q, 1, out=root).sqrt_()
    torch.sqrt(q, out=r)
    torch.add(root, 1, out=value)
    return torch.div(q, value, out=value).add_(r).log1p_().mul_(root).div_(r)


# Below this q the six-term series is exact to float64 rounding.
_SERIES_BELOW = 1e-3
_SERIES = (1 / 3, -4 / 15, 8 / 35, -64 / 315, 128 / 693, -512 / 3003)
_AT_EDGE = sum(c * _SERIES_BELOW**k for k, c in enumerate(_SERIES))
_VALUE_AT_EDGE = math.asinh(_SERIES_BELOW**0.5) * (1 + 1 / _SERIES_BELOW) ** 0.5


def _hcothh_slope(q: Tensor, spare: list[Tensor]) -> None:
    # The derivative by q is (1 - value / (1 + q)) / 2q. That above an edge plus the series below it, each
    # constant on the other side: a choice by torch.where costs as much as ten other passes.
    near, far, value = spare
    if q.amin() < _SERIES_BELOW:
        low = torch.clamp_max(q, _SERIES_BELOW, out=far)
        torch.mul(low, _SERIES[-1], out=near)
        for coefficient in _SERIES[-2:0:-1]:
            near.add_(coefficient).mul_(low)
        near.add_(_SERIES[0] - _AT_EDGE)
        value.clamp_min_(_VALUE_AT_EDGE)
        q.clamp_min_(_SERIES_BELOW)
    else:
        near.zero_()
    torch.add(q, 1, out=far)
    torch.div(value, far, out=far).neg_().add_(1).div_(q)
    torch.add(near, far, alpha=0.5, out=q).mul_(0.5)


_FUNCTIONS = {
    "log1p": (_log1p, _log1p_slope),
    "asinh": (_asinh, _asinh_slope),
    "hcothh": (_hcothh, _hcothh_slope),
}
_SPARE = {"log1p": 1, "asinh": 2, "hcothh": 3}
# Numbers in a block: few enough for the cache, many enough for the overhead of an operation not to count.
_BLOCK = 2**17


def _plain(
    name: str,
    y: Tensor,
    row: Tensor,
    column: Tensor,
    weight: Tensor | None,
    scale: Tensor | None,
    offset: Tensor | None,
    low: Tensor,
) -> Tensor:
    t = y * column + (row if weight is None else row * weight)
    t = at_least(t, low)
    if name == "hcothh":
        q = (t - 1) / 2
        value = asinhc(q) * (1 + q).sqrt()
    else:
        value = torch.log1p(t) if name == "log1p" else torch.asinh(t)
    value = value if scale is None else value * scale
    return value if offset is None else value + offset


class _Tail(torch.autograd.Function):
    @staticmethod
    def forward(
        name: str,
        y: Tensor,
        row: Tensor,
        column: Tensor,
        weight: Tensor | None,
        scale: Tensor | None,
        offset: Tensor | None,
        low: Tensor,
    ) -> Tensor:
        out = torch.empty_like(y)
        for block, t, spare in _blocks(name, y, row, column, weight, scale, offset, low):
            value = _FUNCTIONS[name][0](t, spare)
            if scale is not None:
                value.mul_(scale)
            if offset is None:
                out[block] = value
            else:
                torch.add(value, offset, out=out[block])
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.name = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        return torch.func.vmap(_plain, in_dims)(*inputs), 0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        y, row, column, weight, scale, offset, _ = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *_again(ctx.name, grad, ctx.saved_tensors)
        grad_y, grad_row = torch.empty_like(y), torch.empty_like(row)
        grad_column, grad_weight, grad_scale = torch.zeros(3, y.size(1), dtype=y.dtype, device=y.device)
        ones = y.new_ones(y.size(0))
        function, slope = _FUNCTIONS[ctx.name]
        for block, t, spare in _blocks(ctx.name, *ctx.saved_tensors):
            g = grad_y[block]
            if ctx.needs_input_grad[5]:
                grad_scale.addmv_(torch.mul(function(t, spare), grad[block], out=g).mT, ones[block])
            elif ctx.name != "log1p":  # whose slope needs nothing of the value
                function(t, spare)
            slope(t, spare)
            torch.mul(grad[block], t, out=g)
            if scale is not None:
                g.mul_(scale)
            grad_column.addmv_(torch.mul(g, y[block], out=t).mT, ones[block])
            if weight is None:
                torch.sum(g, -1, keepdim=True, out=grad_row[block])
            else:
                torch.mv(g, weight, out=grad_row[block, 0])
                grad_weight.addmv_(g.mT, row[block, 0])
            g.mul_(column)
        return (
            None,
            grad_y,
            grad_row,
            grad_column,
            None if weight is None else grad_weight,
            grad_scale.sum_to_size(scale.shape) if ctx.needs_input_grad[5] else None,
            None if offset is None else ones @ grad,
            None,
        )


def _again(name: str, grad: Tensor, given: tuple[Tensor | None, ...]) -> Iterator[Tensor | None]:
    """The gradients by what is given, through the plain version."""

    def plain(*present: Tensor) -> Tensor:
        rest = iter(present)
        return _plain(name, *(None if x is None else next(rest) for x in given))  # type: ignore[arg-type]

    gradients = iter(torch.func.vjp(plain, *(x for x in given if x is not None))[1](grad))
    return (None if x is None else next(gradients) for x in given)


def _blocks(
    name: str,
    y: Tensor,
    row: Tensor,
    column: Tensor,
    weight: Tensor | None,
    scale: Tensor | None,
    offset: Tensor | None,
    low: Tensor,
) -> Iterator[tuple[slice, Tensor, list[Tensor]]]:
    """Blocks of rows: where they are, the argument of the function in a buffer, and spare buffers."""
    rows = y.size(0)
    size = max(_BLOCK // max(y.size(1), 1) if y.device.type == "cpu" else rows, 1)
    buffers = y.new_empty(1 + _SPARE[name], min(size, rows), y.size(1))
    for start in range(0, rows, size):
        block = slice(start, start + size)
        t, *spare = buffers[:, : rows - start]
        torch.mul(y[block], column, out=t)
        if weight is None:
            t.add_(row[block])
        else:
            t.addcmul_(row[block], weight)
        yield block, t.clamp_min_(low[block]), spare


def tail(
    name: str,
    y: Tensor,
    row: Tensor,
    column: Tensor,
    weight: Tensor | None = None,
    *,
    scale: Tensor | None = None,
    offset: Tensor | None = None,
    low: float | Tensor = -torch.inf,
) -> Tensor:
    r"""f of :math:`t_{ik} = y_{ik} c_k + r_i w_k`, where t is at least ``low``, times a scale, plus
    an offset.

    ``low`` is a bound that holds exactly, and that only rounding can break: no gradient is lost to it.

    Args:
        name: ``"log1p"``, ``"asinh"``, or ``"hcothh"``: :math:`h\coth h` at :math:`\cosh(2h)`.
        y: ``(..., C)``.
        row: ``(..., 1)``.
        column: ``(C,)``.
        weight: ``(C,)``; 1 by default.
        scale: ``(C,)``, or 0-d.
        offset: ``(C,)``.
        low: ``(..., 1)``, or one number.
    """
    low = low.detach() if isinstance(low, Tensor) else y.new_full((1,), low)
    flat = y.reshape(-1, y.size(-1)), row.reshape(-1, 1)
    given = (name, *flat, column, weight, scale, offset, low.expand_as(row).reshape(-1, 1))
    value = _plain(*given) if torch.compiler.is_compiling() else apply(_Tail, *given)
    return value.reshape(y.shape)
