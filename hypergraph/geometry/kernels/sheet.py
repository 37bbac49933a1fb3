"""Distances between whole points of the Lorentz model.

Autograd's rule for the spatial part, a slice, fills a whole tensor with zeros, and its rule for a product by
a row scalar takes another reduction: with them these operators spend their time in fresh memory. Each of
these does points inside the limit, and leaves others to the definition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel


def _s(K: float | Tensor) -> float:
    return (-(K.item() if isinstance(K, Tensor) else K)) ** 0.5


def _over(grad: Tensor, r: Tensor) -> Tensor:
    """grad / r; at 0, where it is the factor of a vector that is 0, some finite number."""
    return grad / r.clamp_min(torch.finfo(r.dtype).tiny ** 0.5)


class SheetDist(Kernel):
    """:func:`hypergraph.geometry.lorentz.dist`.

    p = cosh(s d) - 1 = -s^2 |w_s|^2 / 2r with w = x + r y, r = -(1 + s x_t) / (1 + s y_t). On the sheet the
    derivatives of p / s^2 are -1/r and -1 times w with the sign of its time changed, which is how w is kept.
    """

    def forward(self, x: Tensor, y: Tensor, K: Any, limit: float) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        if isinstance(K, Tensor) and K.numel() != 1:  # a curvature a point
            return None
        s, top, farthest = _s(K), 1 + math.cosh(limit), math.cosh(2 * limit)
        weights = x.new_full((x.size(-1), 1), -0.5 * s * s)
        weights[0] = 0
        a, b = (s * x[..., :1]).add_(1), (-s * y[..., :1]).sub_(1)
        ratio = a.clamp_(2, top) / b.clamp_(-top, -2)
        w = torch.addcmul(x, y, ratio)
        w[..., 0].neg_()
        p = (w * w) @ weights
        p.div_(ratio)
        if p.numel() and not p.amax().item() <= farthest:
            return None
        sinh = (p + 2).mul_(p).sqrt_()
        d = p.add_(sinh).log1p_().div_(s).squeeze(-1)
        return d, (d, w, ratio, sinh)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, y, K, _), (d, w, ratio, sinh), (grad,) = inputs, kept, grads
        s = _s(K)
        by_y = _over(-s * grad.unsqueeze(-1), sinh)
        by_x = by_y / ratio
        by_K = None
        if needed[2]:
            by_time = (w[..., :1] * (by_x * x[..., :1] + by_y * y[..., :1])).squeeze(-1)
            by_K = (by_time + grad * (2 / s * torch.tanh(s * d / 2) - d)).sum() / (-2 * s * s)
        return (
            (by_x * w).sum_to_size(x.shape) if needed[0] else None,
            (by_y * w).sum_to_size(y.shape) if needed[1] else None,
            by_K,
            None,
        )


class SheetDist0(Kernel):
    """:func:`hypergraph.geometry.lorentz.dist0`."""

    def forward(self, x: Tensor, K: Any, limit: float) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        if isinstance(K, Tensor) and K.numel() != 1:
            return None
        s = _s(K)
        t = torch.linalg.vector_norm(x[..., 1:], dim=-1).mul_(s).add_(x[..., 0], alpha=0)
        if t.numel() and not t.amax().item() < limit:
            return None
        # asinh t is log1p of t + (c - 1), and torch.asinh has no vector code
        q = t * t
        c = (q + 1).sqrt_()
        half_sinh = t * c
        d = q.div_(c.add_(1)).add_(t).log1p_().div_(s)
        return d, (d, half_sinh)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, K, _), (d, half_sinh), (grad,) = inputs, kept, grads
        s = _s(K)
        # s|x_s| cosh(s d) is sinh(2 s d) / 2
        by_x = _over(s * grad, half_sinh).unsqueeze(-1) * x
        by_x[..., 0].zero_()
        by_K = (grad * (torch.tanh(s * d) / s - d)).sum() / (-2 * s * s) if needed[1] else None
        return by_x, by_K, None
