"""Distances between whole points of the Lorentz model, inside the limit and at a fixed curvature.

For the spatial part, a slice, autograd would fill a whole tensor with zeros, and it sums once more for the
factor of each row: most of the time would go into fresh memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Found, Inputs, Kernel


def _over(grad: Tensor, r: Tensor) -> Tensor:
    """grad / r; at 0, where it is the factor of a vector that is 0, some finite number."""
    return grad / r.clamp_min(torch.finfo(r.dtype).tiny ** 0.5)


class SheetDist(Kernel):
    """:func:`hypergraph.geometry.lorentz.dist`.

    p = cosh(s d) - 1 = -s^2 |w_s|^2 / 2r with w = x + r y, r = -(1 + s x_t) / (1 + s y_t). On the sheet the
    derivatives of p / s^2 are -1/r and -1 times w with the sign of its time changed, which is how w is kept.
    """

    def forward(self, x: Tensor, y: Tensor, K: Any, limit: float) -> Found:
        if isinstance(K, Tensor) or x.dtype != y.dtype:
            return None
        s, top, farthest = (-K) ** 0.5, 1 + math.cosh(limit), math.cosh(2 * limit)
        weights = x.new_full((x.size(-1), 1), K / 2)
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
        return p.add_(sinh).log1p_().div_(s).squeeze(-1), (w, ratio, sinh)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, y, K, _), (w, ratio, sinh) = inputs, kept
        by_y = _over(-((-K) ** 0.5) * grads[0].unsqueeze(-1), sinh)
        by_x = (by_y / ratio * w).sum_to_size(x.shape) if needed[0] else None
        return by_x, (by_y * w).sum_to_size(y.shape) if needed[1] else None, None, None


class SheetDist0(Kernel):
    """:func:`hypergraph.geometry.lorentz.dist0`."""

    def forward(self, x: Tensor, K: Any, limit: float) -> Found:
        if isinstance(K, Tensor):
            return None
        s = (-K) ** 0.5
        t = torch.linalg.vector_norm(x[..., 1:], dim=-1).mul_(s).add_(x[..., 0], alpha=0)
        if t.numel() and not t.amax().item() < limit:
            return None
        # asinh t is log1p of t + (c - 1), and torch.asinh has no vector code
        q = t * t
        c = (q + 1).sqrt_()
        half_sinh = t * c  # of twice the distance
        return q.div_(c.add_(1)).add_(t).log1p_().div_(s), (half_sinh,)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        x, K, _ = inputs
        by_x = _over((-K) ** 0.5 * grads[0], kept[0]).unsqueeze(-1) * x
        by_x[..., 0].zero_()
        return by_x, None, None
