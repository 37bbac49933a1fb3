"""The exponential map at the origin of the ball, of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, constant, dots, sq_norms


class BallExp0(Kernel):
    """:func:`hypergraph.geometry.poincare.exp0` at a fixed curvature."""

    by_rows = True

    def forward(self, u: Tensor, K: Any, limit: float) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        if u.dim() != 2 or isinstance(K, Tensor) or u.numel() == 0:
            return None
        q = sq_norms(u, -K, TINY)
        r = q.sqrt()
        if not r.amax().item() <= limit:
            return None
        tanh = r.tanh()
        factor = tanh / r
        return factor.unsqueeze(-1) * u, (q, tanh, factor)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (u, K, _), (q, tanh, factor), (grad,) = inputs, kept, grads
        # factor = tanh(r)/r: twice its derivative is (1 - tanh^2 - factor)/q
        slope = torch.addcmul(constant(1, 1.0, u.dtype), tanh, tanh, value=-1).sub_(factor).div_(q)
        slope.mul_(dots(grad, u)).mul_(constant(1, -K, u.dtype))
        return (factor.unsqueeze(-1) * grad).addcmul_(slope.unsqueeze(-1), u), None, None
