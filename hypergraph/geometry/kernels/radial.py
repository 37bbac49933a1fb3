"""Radial functions f(r) = g(r)/r of q = r^2, with their slopes by hand, and vectors times such a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, dots, scaled, sq_norms

_SERIES_BELOW = 1e-3


class Radial(Kernel):
    """One function of :mod:`hypergraph.geometry.radial`.

    Its values do not cancel. Its slope, numerator / 2q, does near 0, where the series is differentiated
    instead.

    Args:
        value: g.
        numerator: twice q times the slope, of q and f.
        series: the coefficients of f in q; six are enough below 1e-3.
    """

    def __init__(
        self,
        value: Callable[[Tensor], Tensor],
        numerator: Callable[[Tensor, Tensor], Tensor],
        series: Sequence[float],
    ) -> None:
        self.value, self.numerator = value, numerator
        self.slopes = [k * c for k, c in enumerate(series[:6])][1:]

    def forward(self, q: Tensor) -> tuple[Tensor, tuple[Tensor]]:
        r = q.clamp_min(TINY).sqrt_()
        f = self.value(r).div_(r)
        return f, (f,)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        return (self.slope(*inputs, *kept).mul_(grads[0]),)

    def slope(self, q: Tensor, f: Tensor) -> Tensor:
        """The derivative of f by q."""
        numerator = self.numerator(q, f)
        if q.numel() and q.min().item() >= _SERIES_BELOW:
            return numerator.div_(q).mul_(0.5)
        small = q < _SERIES_BELOW
        taylor = q * self.slopes[-1]
        for c in self.slopes[-2:0:-1]:
            taylor.add_(c).mul_(q)
        return torch.where(small, taylor.add_(self.slopes[0]), numerator.div_(2 * torch.where(small, 1.0, q)))


class RadialMap(Kernel):
    """Rows u times a radial function of q = -K |u|^2, inside the limit and at a fixed curvature; with
    ``to_unit`` in units of the curvature radius."""

    by_rows = True

    def __init__(self, radial: Radial, to_unit: bool = False) -> None:
        self.radial, self.to_unit = radial, to_unit

    def forward(self, u: Tensor, K: Any, limit: float) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        if u.dim() != 2 or isinstance(K, Tensor) or u.numel() == 0:
            return None
        q = sq_norms(u, -K)
        if not q.max().item() <= limit * limit:
            return None
        f, _ = self.radial.forward(q)
        factor = scaled(f, (-K) ** 0.5) if self.to_unit else f
        return factor.unsqueeze(-1) * u, (q, f, factor)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (u, K, _), (q, f, factor), (grad,) = inputs, kept, grads
        along = self.radial.slope(q, f).mul_(dots(grad, u)).unsqueeze(-1)
        number = -2 * K * ((-K) ** 0.5 if self.to_unit else 1.0)
        return (factor.unsqueeze(-1) * grad).addcmul_(along, u, value=number), None, None
