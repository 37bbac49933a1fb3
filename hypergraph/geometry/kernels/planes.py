"""Signed distances of many points to many horospheres or hyperplanes.

Most of the time goes into fresh memory for matrices of points x classes: so passes are few and in place, and
functions that need several run over blocks of points that stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Found, Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, constant, plus, sq_norms
from hypergraph.geometry.radial import ASINHC
from hypergraph.sparse import SparseRows, spmm

# Numbers of points x classes, or of a weight, in a block: few enough for the cache, many enough for the
# overhead of an operation not to count.
BLOCK_ENTRIES = 2**17
# With fewer columns a matrix is kept column by column: vector code runs along the rows, which are many.
_FEW = 16


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    size = max(BLOCK_ENTRIES // max(columns, 1), 1)
    return (slice(start, start + size) for start in range(0, rows, size))


class Horospheres(Kernel):
    r""":func:`hypergraph.geometry.planes.horospheres`, the kernel of the view that comes before it included:
    a factor :math:`m_i` for each row, which stays apart from it.

    The argument of the logarithm is :math:`1 + t`, :math:`t_{ik} = \text{rise}_i - m_i\langle x_i, z_k\rangle
    / \lVert z_k\rVert` with the time :math:`1 + \text{rise}`.
    """

    def forward(
        self, x: Any, weight: Tensor, scale: Tensor, offset: Tensor, view: Any, K: Any, limit: float
    ) -> Found:
        if 0 in (*x.shape, *weight.shape) or scale.dim() > 1 or (isinstance(x, SparseRows) and x.learns()):
            return None
        found: Any = ()
        if view is None:
            square = x.sq_norm() if isinstance(x, SparseRows) else sq_norms(x).unsqueeze(-1)
        else:
            found = view.kernel.numbers(x, K, limit)
            if found is None:
                return None
            q, of_q, factor = found
            square = (of_q * of_q).mul_(q).unsqueeze(-1)
        inverse = torch.linalg.vector_norm(weight, dim=-1).reciprocal_()
        shortest, longest = inverse.aminmax()
        if not 1e-15 < shortest.item() <= longest.item() < 1e15:  # a direction that may have lost its digits
            return None
        time = plus(square, 1.0).sqrt_()
        rise = square / plus(time, 1.0)
        if isinstance(x, SparseRows):
            t = x.product(weight)
        elif weight.size(0) < _FEW:
            t = torch.mm(weight, x.T).T
        else:
            t = x.new_empty(len(x), len(weight))
            for block in _blocks(*weight.shape):
                torch.mm(x, weight[block].T, out=t[:, block])
        t = t if view is None else t.mul_(factor.unsqueeze(-1))
        torch.addcmul(rise, t, inverse, value=-1, out=t)
        r = square.sqrt().add_(rise)
        t.clamp_min_(r.div_(torch.add(constant(1, -1.0, r.dtype), r, alpha=-1)))
        f = t.log1p_()
        # logits row by row, whatever the layout here: what follows them reads rows
        out = torch.addcmul(offset, f, scale, out=f.new_empty(f.shape))
        return out, (time, inverse, f, *found)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, weight, scale, offset, view, K, _), (time, inverse, f, *found), (grad,) = inputs, kept, grads
        ones, time = constant(len(grad), 1.0, grad.dtype), time[:, 0]
        by_offset = torch.mv(grad.T, ones)
        part = f * grad  # in the layout of f
        by_scale = torch.mv(part.T, ones) if needed[2] else None
        # by t: grad / (1 + t), times the scale; 1 + t is exp(f), and t is not kept
        by_t = torch.neg(f, out=part).exp_().mul_(grad)
        by_rise = torch.mv(by_t, scale)
        # the gradient by a direction is orthogonal to it: what is along it, the sum of by_t (t - rise) =
        # grad - by_t (1 + rise), is taken away
        along = torch.addmv(by_offset, by_t.T, time, alpha=-1).mul_(scale).mul_(inverse).mul_(inverse)
        by_t.mul_((scale * inverse).neg_())
        by_x, towards = None, by_rise / time
        if view is not None:
            q, of_q, factor = found
            by_t.mul_(factor.unsqueeze(-1))
            # the gradient by a factor is the same sum, over classes
            by_factor = torch.mv(grad, scale).addcmul_(time, by_rise, value=-1).div_(of_q)
            towards.mul_(of_q)
            by_factor.addcmul_(towards, q).mul_(view.kernel.twice_slope(q, of_q))
            towards = by_factor.addcmul_(towards, of_q).mul_(-K)
        if isinstance(x, SparseRows):
            by_weight = spmm(x.matrix.T, by_t.mul_(x.factor)).T
        else:
            by_weight = torch.empty_like(weight)
            for block in _blocks(*weight.shape):
                torch.mm(by_t[:, block].T, x, out=by_weight[block])
            if needed[0]:
                by_x = torch.mm(by_t, weight).addcmul_(towards.unsqueeze(-1), x)
        by_weight.addcmul_(along.unsqueeze(-1), weight, value=-1)
        return by_x, by_weight, by_scale, by_offset.sum_to_size(offset.shape), None, None, None


class Products(Kernel):
    """:func:`hypergraph.geometry.planes.products`: the gradient of many rows is filled once."""

    def forward(self, y: Any, weight: Tensor) -> Found:
        if isinstance(y, SparseRows):
            return None
        return (torch.mm(y, weight.T), torch.linalg.vector_norm(weight, dim=-1).square_()), ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (y, weight), (by_inner, by_square) = inputs, grads
        by_weight = torch.mm(by_inner.T, y).addcmul_(by_square.unsqueeze(-1), weight, value=2)
        return torch.mm(by_inner, weight) if needed[0] else None, by_weight


def _asinh(t: Tensor) -> Tensor:
    # log1p(|t| (1 + |t| / (1 + root))): torch.asinh, which has no vector code, takes as long as three matrix
    # products
    size = t.abs()
    root = (t * t).add_(1).sqrt_().add_(1)
    return torch.div(size, root, out=root).add_(1).mul_(size).log1p_().copysign_(t)


def _asinh_slope(t: Tensor, value: Tensor) -> Tensor:
    return (t * t).add_(1).rsqrt_()


# at t = cosh(2h) h coth(h) is asinhc(q) sqrt(1 + q), q = sinh(h)^2
def _hcothh(t: Tensor) -> Tensor:
    q = (t - 1).mul_(0.5).clamp_min_(TINY)
    r, root = q.sqrt(), (q + 1).sqrt_()
    return q.div_(root + 1).add_(r).log1p_().mul_(root).div_(r)


def _hcothh_slope(t: Tensor, value: Tensor) -> Tensor:
    q = (t - 1).mul_(0.5)
    root = (q + 1).sqrt_()
    f = value / root
    return ASINHC.slope(q, f).mul_(root).addcdiv_(f, root, value=0.5).mul_(0.5)


_FUNCTIONS = {"asinh": (_asinh, _asinh_slope), "hcothh": (_hcothh, _hcothh_slope)}


class Tail(Kernel):
    """:func:`hypergraph.geometry.planes.tail`, in blocks of rows; nothing but the inputs is kept."""

    def forward(
        self, y: Tensor, row: Tensor, column: Tensor, weight: Tensor, scale: Any, name: str, low: float
    ) -> Found:
        if column.dim() != 1:  # a curvature for each point
            return None
        out = torch.empty_like(y)
        for block, t in _row_blocks(y, row, column, weight, low):
            value = _FUNCTIONS[name][0](t)
            out[block] = value if scale is None else value.mul_(scale)
        return out, ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (y, row, column, weight, scale, name, low), (grad,) = inputs, grads
        by_y, by_row = torch.empty_like(y), torch.empty_like(row)
        by_column, by_weight, by_scale = torch.zeros(3, y.size(1), dtype=y.dtype)
        ones = constant(y.size(0), 1.0, y.dtype)
        function, slope = _FUNCTIONS[name]
        for block, t in _row_blocks(y, row, column, weight, low):
            value = function(t)
            g = torch.mul(grad[block], slope(t, value), out=by_y[block])
            if scale is not None:
                by_scale.addmv_(value.mul_(grad[block]).mT, ones[block])
                g.mul_(scale)
            by_column.addmv_(torch.mul(g, y[block], out=t).mT, ones[block])
            torch.mv(g, weight, out=by_row[block, 0])
            by_weight.addmv_(g.mT, row[block, 0])
            g.mul_(column)
        found = (by_y, by_row, by_column, by_weight, by_scale)
        return *(x if need else None for x, need in zip(found, needed)), None, None


def _row_blocks(
    y: Tensor, row: Tensor, column: Tensor, weight: Tensor, low: float
) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows: where they are, and the argument of the function."""
    for block in _blocks(*y.shape):
        t = (y[block] * column).addcmul_(row[block], weight)
        yield block, t if low == -math.inf else t.clamp_min_(low)
