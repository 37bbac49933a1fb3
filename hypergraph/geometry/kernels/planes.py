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
from hypergraph.geometry.kernels.small import TINY, constant, sinh_form, sinh_slopes, sq_norms
from hypergraph.geometry.numerics import distance_limit
from hypergraph.sparse import SparseRows, spmm

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


def _form(s: float, pace: float, tangent: bool) -> tuple[str, float]:
    """What rows x hold, and the rate in q = (rate |x|)^2."""
    return ("tangent", pace * s) if tangent else ("ball" if pace == 2 else "sheet", s)


def _row_form(q: Tensor, form: str, rate: float, limit: float) -> tuple[Any, Tensor]:
    """The factor of x in the spatial part, and the time less 1, at q = (rate |x|)^2."""
    one = constant(1, 1.0, q.dtype)
    if form == "ball":
        conformal = constant(1, 2.0, q.dtype) / (one - q)
        return conformal * constant(1, rate, q.dtype), q * conformal
    if form == "sheet":
        return rate, q / (q + one).sqrt_().add_(one)
    factor, time = sinh_form(q + TINY, rate, limit, False)
    # cosh(r) - 1 is sinh(r)^2 / (1 + cosh(r))
    return factor, (factor / rate).square_().mul_(q).div_(time.add_(one))


def _row_slopes(q: Tensor, factor: Any, time: Tensor, form: str, rate: float) -> tuple[Any, Tensor]:
    """Twice the derivatives by q of the logarithm of the factor (``None`` for 0), and of the time."""
    if form == "ball":
        conformal = factor / constant(1, rate, q.dtype)
        return conformal, conformal * conformal
    if form == "sheet":
        return None, time.reciprocal()
    falling, rising = sinh_slopes(q + TINY, factor, time, rate, math.inf, False)
    return falling.div_(factor).neg_(), rising


class Horospheres(Kernel):
    r""":func:`hypergraph.geometry.planes.horospheres` at a fixed curvature.

    :math:`e^{sB} - 1 = t_{ik} = \text{rise}_i + \frac{y_{ik}}{\lVert z_k\rVert}` with
    :math:`y_{ik} = -\text{factor}_i \langle x_i, z_k\rangle`.
    """

    def forward(
        self, x: Any, weight: Tensor, scale: Any, offset: Any, K: Any, pace: float, tangent: bool
    ) -> tuple[Tensor, tuple[Any, ...]] | None:
        sparse = isinstance(x, SparseRows)
        if isinstance(K, Tensor) or 0 in x.shape or weight.numel() == 0 or not _constant_rows(x, weight):
            return None
        s, limit = (-K) ** 0.5, distance_limit(weight.dtype)
        form, rate = _form(s, pace, tangent)
        points = x[:, 1:] if form == "sheet" else x
        q = x.sq_norm().squeeze(-1) * (rate * rate) if sparse else sq_norms(points, rate * rate)
        if form == "sheet":  # the time is not used, but a NaN in it counts
            q.add_(x[:, 0], alpha=0)
        farthest = q.amax().item()
        most = {"ball": math.tanh(limit / 2), "sheet": math.sinh(limit)}.get(form, limit)
        if not farthest <= most * most:
            return None
        factor, rise = _row_form(q, form, rate, limit)
        column = constant(1, -rate, q.dtype) if form == "sheet" else (-factor).unsqueeze_(-1)
        t, inverse = _inner(points, column, weight)
        shortest, longest = inverse.aminmax()
        if not 1e-15 < shortest.item() <= longest.item() < 1e15:  # a direction that may have lost its digits
            return None
        torch.addcmul(rise.unsqueeze(-1), t, inverse, out=t)
        if farthest > 0.8:  # where rounding might pass the exact bound below
            r = (rise + constant(1, 2.0, t.dtype)).mul_(rise).sqrt_().add_(rise)
            t.clamp_min_((r / (r + constant(1, 1.0, t.dtype))).neg_().unsqueeze(-1))
        f = t.log1p_()
        scale = constant(1, 1.0, t.dtype) if scale is None else scale
        out = q.new_empty(t.shape)
        if offset is None:
            torch.mul(f, scale * (1 / s), out=out)
        else:
            torch.addcmul(offset, f, scale, value=1 / s, out=out)
        return out, (q, factor, column, rise, inverse, f)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, weight, scale, _, K, pace, tangent), (grad,) = inputs, grads
        q, factor, column, rise, inverse, f = kept
        s = (-K) ** 0.5
        form, rate = _form(s, pace, tangent)
        if weight.size(0) < _FEW:
            grad = grad.T.contiguous().T
        ones, one = constant(len(grad), 1.0, grad.dtype), constant(1, 1.0, grad.dtype)
        over_s, time = constant(1, 1 / s, grad.dtype), rise + one
        by_offset = torch.mv(grad.T, ones)
        part = grad * f
        by_scale = torch.mv(part.T, ones).mul_(over_s) if needed[2] else None
        # by t: grad / (1 + t), times what f is multiplied with; 1 + t is exp(f), and t is not kept
        times = constant(weight.size(0), 1 / s, grad.dtype) if scale is None else scale * over_s
        by_t = torch.neg(f, out=part).exp_().mul_(grad)
        by_rise: Any = torch.mv(by_t, times) if needed[0] else None
        # a direction has no gradient along itself: there go the sums of dt (t - rise) = grad - dt (1 + rise)
        along = torch.addmv(by_offset, by_t.T, time, alpha=-1).mul_(times).mul_(inverse).mul_(inverse)
        by_t.mul_(times.mul(inverse))
        points = x[:, 1:] if form == "sheet" else x
        by_x, by_weight = _inner_backward(points, column, weight, by_t, along, needed)
        if needed[0]:
            slope, rise_slope = _row_slopes(q, factor, time, form, rate)
            by_q = rise_slope.mul_(by_rise)
            if slope is not None:  # times <by y, y>
                by_q.addcmul_(torch.mv(grad, times).addcmul_(by_rise, time, value=-1), slope)
            # nothing depends on the time of the sheet: it follows from the rest
            whole = torch.zeros_like(x) if form == "sheet" else by_x
            out = whole[:, 1:] if form == "sheet" else by_x
            torch.addcmul(by_x, by_q.unsqueeze(-1), points, value=rate * rate, out=out)
            by_x = whole
        return by_x, by_weight, by_scale, by_offset if needed[3] else None, None, None, None


def _constant_rows(x: Any, weight: Tensor) -> bool:
    """Whether x is dense, or sparse rows that nothing differentiates."""
    if not isinstance(x, SparseRows):
        return True
    learned = isinstance(x.factor, Tensor) and x.factor.requires_grad
    return weight.device.type == x.matrix.device.type and not learned


def _inner(x: Any, column: Any, weight: Tensor) -> tuple[Tensor, Tensor]:
    """``column * x`` times the rows of the weight, and one over the norms of these rows."""
    if isinstance(x, SparseRows):
        return spmm(x.matrix, weight.T).mul_(column * x.factor), _inverse_norms(weight)
    if weight.size(0) < _FEW:
        return torch.mm(weight, x.T).T.mul_(column), _inverse_norms(weight)
    x = x * column
    t, inverse = x.new_empty(x.size(0), weight.size(0)), weight.new_empty(weight.size(0))
    for block in _class_blocks(weight):
        inverse[block] = _inverse_norms(weight[block])
        torch.mm(x, weight[block].T, out=t[:, block])
    return t, inverse


def _inner_backward(
    x: Any, column: Any, weight: Tensor, by_y: Tensor, along: Tensor, needed: Sequence[bool]
) -> tuple[Any, Tensor | None]:
    """The gradients by x, its squared norm aside, and by the weight, less ``along`` times the weight."""
    along = along.unsqueeze(-1)
    if isinstance(x, SparseRows):
        by_weight = spmm(x.matrix.T, by_y * (column * x.factor)).T
        return None, by_weight.addcmul_(along, weight, value=-1)
    if weight.size(0) < _FEW:
        by_y.mul_(column)
        by_x = torch.mm(by_y, weight) if needed[0] else None
        return by_x, torch.mm(by_y.T, x).addcmul_(along, weight, value=-1) if needed[1] else None
    x = x * column
    if weight.numel() <= _WHOLE:
        by_x = torch.mm(by_y, weight).mul_(column) if needed[0] else None
        return by_x, torch.mm(by_y.T, x).addcmul_(along, weight, value=-1) if needed[1] else None
    by_x, by_weight = torch.zeros_like(x) if needed[0] else None, torch.empty_like(weight)
    for block in _class_blocks(weight):
        if by_x is not None:
            by_x.addmm_(by_y[:, block], weight[block])
        torch.mm(by_y[:, block].T, x, out=by_weight[block])
        by_weight[block].addcmul_(along[block], weight[block], value=-1)
    return None if by_x is None else by_x.mul_(column), by_weight


def _inverse_norms(weight: Tensor) -> Tensor:
    return torch.linalg.vector_norm(weight, dim=-1).reciprocal_()


class Products(Kernel):
    """:func:`hypergraph.geometry.planes.products`: the gradients of both results are one sum over z."""

    def forward(self, x: Tensor, z: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor]]:
        norms = torch.linalg.vector_norm(z, dim=-1)
        return (x @ z.mT, norms), (norms,)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, z), (norms,), (grad, by_norms) = inputs, kept, grads
        by_z = None
        if needed[1]:
            by_z = (grad.mT @ x).addcmul_((by_norms / (norms + (norms == 0))).unsqueeze(-1), z)
        return grad @ z if needed[0] else None, by_z


class Gram(Kernel):
    """:func:`hypergraph.geometry.planes.gram`."""

    def forward(self, p: Tensor, z: Tensor) -> tuple[tuple[Tensor, ...], tuple[()]]:
        length = torch.linalg.vector_norm
        return (length(p, dim=-1).square(), (p * z).sum(-1), length(z, dim=-1).square()), ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        p, z = inputs
        pp, pz, zz = (grad.unsqueeze(-1) for grad in grads)
        return ((2 * pp) * p).addcmul_(pz, z), ((2 * zz) * z).addcmul_(pz, p)


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
