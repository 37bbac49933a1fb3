"""Signed distances of many points to many horospheres or hyperplanes.

At batch x classes the time goes into fresh memory, and at many classes into reading the weight: so a weight
is read once forwards and once backwards, in blocks of its rows, and elementwise functions write over a few
buffers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel
from hypergraph.geometry.kernels.small import constant
from hypergraph.sparse import SparseMatrix, spmm

# Numbers of a weight, or of points x classes, in a block: few enough for the cache, many enough for the
# overhead of an operation not to count.
BLOCK_ENTRIES = 2**17
_WHOLE = 8 * BLOCK_ENTRIES  # a weight of so many numbers is not cut into blocks
# With fewer columns a matrix is kept column by column: vector code runs along the rows, which are many.
_FEW = 16


def _class_blocks(weight: Tensor) -> Iterator[slice]:
    """Blocks of the rows of a weight: all of it, but where it is too large for the cache."""
    classes, n = weight.shape
    size = classes if weight.numel() <= _WHOLE else max(BLOCK_ENTRIES // max(n, 1), 1)
    return (slice(start, start + size) for start in range(0, classes, max(size, 1)))


class Horospheres(Kernel):
    r""":func:`hypergraph.geometry.planes.horospheres`, of points that are rows already.

    The argument of the logarithm is :math:`1 + t`, :math:`t_{ik} = \text{rise}_i + y_{ik} / \lVert z_k\rVert`
    with :math:`y_{ik} = -\text{factor}_i \langle x_i, z_k\rangle`.
    """

    def forward(
        self, x: Any, factor: Any, rise: Tensor, weight: Tensor, scale: Tensor, offset: Tensor
    ) -> tuple[Tensor, tuple[Any, ...]] | None:
        if 0 in x.shape or weight.numel() == 0 or not _least(factor) > 0:
            return None
        t, inverse = _inner(x, -factor, weight)
        shortest, longest = inverse.aminmax()
        if not 1e-15 < shortest.item() <= longest.item() < 1e15:  # a direction that may have lost its digits
            return None
        torch.addcmul(rise, t, inverse, out=t)
        if not rise.amax().item() < 0.3:  # where rounding might pass the exact bound
            r = (rise * (2 + rise)).sqrt_().add_(rise)
            t.clamp_min_(r.div_(-1 - r))
        f = t.log1p_()
        # logits row by row, whatever the layout here: what follows them reads rows
        return torch.addcmul(offset, f, scale, out=f.new_empty(f.shape)), (inverse, f)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, factor, rise, weight, scale, _), (inverse, f), (grad,) = inputs, kept, grads
        if weight.size(0) < _FEW:
            grad = grad.T.contiguous().T
        ones, time = constant(len(grad), 1.0, grad.dtype), 1 + rise
        by_offset = torch.mv(grad.T, ones)
        part = grad * f
        by_scale = torch.mv(part.T, ones) if needed[4] else None
        # by t: grad / (1 + t), times the scale; 1 + t is exp(f), and t is not kept
        by_t = torch.neg(f, out=part).exp_().mul_(grad)
        by_rise = torch.mv(by_t, scale).unsqueeze_(-1)
        # a direction has no gradient along itself: there go the sums of dt (t - rise) = grad - dt (1 + rise)
        along = torch.addmv(by_offset, by_t.T, time[:, 0], alpha=-1).mul_(scale).mul_(inverse).mul_(inverse)
        by_factor = None
        if needed[1]:
            by_factor = torch.addcmul(torch.mv(grad, scale).unsqueeze_(-1), by_rise, time, value=-1) / factor
            by_factor = by_factor.sum_to_size(factor.shape)
        by_x, by_weight = _inner_backward(x, -factor, weight, by_t.mul_(scale * inverse), along, needed[0])
        return by_x, by_factor, by_rise, by_weight, by_scale, by_offset.sum_to_size(inputs[5].shape)


def _least(factor: Any) -> float:
    return factor.amin().item() if isinstance(factor, Tensor) else factor


def _inner(x: Any, column: Any, weight: Tensor) -> tuple[Tensor, Tensor]:
    """``column * x`` times the rows of the weight, and one over the norms of these rows."""
    if isinstance(x, SparseMatrix):
        return spmm(x, weight.T).mul_(column), _inverse_norms(weight)
    if weight.size(0) < _FEW:
        return torch.mm(weight, x.T).T.mul_(column), _inverse_norms(weight)
    x = x * column
    t, inverse = x.new_empty(x.size(0), weight.size(0)), weight.new_empty(weight.size(0))
    for block in _class_blocks(weight):
        inverse[block] = _inverse_norms(weight[block])
        torch.mm(x, weight[block].T, out=t[:, block])
    return t, inverse


def _inner_backward(
    x: Any, column: Any, weight: Tensor, by_y: Tensor, along: Tensor, needs_x: bool
) -> tuple[Tensor | None, Tensor]:
    """The gradients by x, and by the weight, less ``along`` times the weight."""
    along = along.unsqueeze(-1)
    if isinstance(x, SparseMatrix):
        return None, spmm(x.T, by_y * column).T.addcmul_(along, weight, value=-1)
    if weight.numel() <= _WHOLE:
        by_y.mul_(column)
        by_weight = torch.mm(by_y.T, x).addcmul_(along, weight, value=-1)
        return torch.mm(by_y, weight) if needs_x else None, by_weight
    x = x * column
    by_x, by_weight = torch.zeros_like(x) if needs_x else None, torch.empty_like(weight)
    for block in _class_blocks(weight):
        if by_x is not None:
            by_x.addmm_(by_y[:, block], weight[block])
        torch.mm(by_y[:, block].T, x, out=by_weight[block])
        by_weight[block].addcmul_(along[block], weight[block], value=-1)
    return None if by_x is None else by_x.mul_(column), by_weight


def _inverse_norms(weight: Tensor) -> Tensor:
    return torch.linalg.vector_norm(weight, dim=-1).reciprocal_()


class Products(Kernel):
    """:meth:`hypergraph.geometry.planes.Rows.products`: the gradients of both results are one sum over z."""

    def forward(self, x: Tensor, z: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor]]:
        norms = torch.linalg.vector_norm(z, dim=-1)
        return (x @ z.mT, norms), (norms,)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, z), (norms,), (grad, by_norms) = inputs, kept, grads
        by_z = (grad.mT @ x).addcmul_((by_norms / (norms + (norms == 0))).unsqueeze(-1), z)
        return grad @ z if needed[0] else None, by_z


# Each function below takes its argument t, in a buffer that it may write over, and two or three spare ones,
# and returns the buffer that holds the value. Its slope goes on from there, and is left in t.


def _asinh(t: Tensor, spare: list[Tensor]) -> Tensor:
    # asinh |t| = log1p(|t| (1 + |t| / (1 + root))): torch.asinh, which has no vector code, takes as long as
    # three matrix products
    root, value, _ = spare
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


_FUNCTIONS = {"asinh": (_asinh, _asinh_slope), "hcothh": (_hcothh, _hcothh_slope)}


class Tail(Kernel):
    """:func:`hypergraph.geometry.planes.tail`, in blocks of rows; nothing but the inputs is kept."""

    def forward(
        self, y: Tensor, row: Tensor, column: Tensor, weight: Tensor, scale: Any, name: str, low: float
    ) -> tuple[Tensor, tuple[()]]:
        out = torch.empty_like(y)
        for block, t, spare in _row_blocks(y, row, column, weight, low):
            value = _FUNCTIONS[name][0](t, spare)
            if scale is None:
                out[block] = value
            else:
                torch.mul(value, scale, out=out[block])
        return out, ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (y, row, column, weight, scale, name, low), (grad,) = inputs, grads
        by_y, by_row = torch.empty_like(y), torch.empty_like(row)
        by_column, by_weight, by_scale = torch.zeros(3, y.size(1), dtype=y.dtype)
        ones = constant(y.size(0), 1.0, y.dtype)
        function, slope = _FUNCTIONS[name]
        for block, t, spare in _row_blocks(y, row, column, weight, low):
            g, value = by_y[block], function(t, spare)
            if needed[4]:
                by_scale.addmv_(torch.mul(value, grad[block], out=g).mT, ones[block])
            slope(t, spare)
            torch.mul(grad[block], t, out=g)
            if scale is not None:
                g.mul_(scale)
            by_column.addmv_(torch.mul(g, y[block], out=t).mT, ones[block])
            torch.mv(g, weight, out=by_row[block, 0])
            by_weight.addmv_(g.mT, row[block, 0])
            g.mul_(column)
        found = (by_y, by_row, by_column, by_weight, by_scale)
        return *(x if need else None for x, need in zip(found, needed)), None, None


def _row_blocks(
    y: Tensor, row: Tensor, column: Tensor, weight: Tensor, low: float
) -> Iterator[tuple[slice, Tensor, list[Tensor]]]:
    """Blocks of rows: where they are, the argument of the function in a buffer, and spare buffers."""
    size = max(BLOCK_ENTRIES // max(y.size(1), 1), 1)
    buffers = y.new_empty(4, min(size, y.size(0)), y.size(1))
    for start in range(0, y.size(0), size):
        block = slice(start, start + size)
        t, *spare = buffers[:, : y.size(0) - start]
        torch.mul(y[block], column, out=t).addcmul_(row[block], weight)
        yield block, t if low == -math.inf else t.clamp_min_(low), spare
