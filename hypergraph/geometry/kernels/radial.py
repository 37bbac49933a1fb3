"""Radial functions f(r) = g(r)/r of q = r^2, with their slopes by hand, and vectors times such a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Found, Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, constant, dots, scaled, sq_norms

Value = Callable[[Tensor], Tensor]
Slope = Callable[[Tensor, Tensor], Tensor]
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

    def __init__(self, value: Value, numerator: Slope, series: Sequence[float]) -> None:
        self.value, self.numerator = value, numerator
        self.slopes = [k * c for k, c in enumerate(series[:6])][1:]

    def forward(self, q: Tensor) -> tuple[Tensor, tuple[Tensor]]:
        f = self.of(q)
        return f, (f,)

    def of(self, q: Tensor) -> Tensor:
        """f."""
        r = q.clamp_min(TINY).sqrt_()
        return self.value(r).div_(r)

    def twice_slope(self, q: Tensor, f: Tensor) -> Tensor:
        """Twice the derivative of f by q; near 0 it is only rounding error."""
        return self.numerator(q, f).div_(q.clamp_min(TINY))

    def slope(self, q: Tensor, f: Tensor) -> Tensor:
        """The derivative of f by q."""
        slope = self.twice_slope(q, f).mul_(0.5)
        if q.numel() and q.min().item() >= _SERIES_BELOW:
            return slope
        low = q.clamp_max(_SERIES_BELOW)
        taylor = low * self.slopes[-1]
        for c in self.slopes[-2:0:-1]:
            taylor.add_(c).mul_(low)
        return torch.where(q < _SERIES_BELOW, taylor.add_(self.slopes[0]), slope)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        return (self.slope(inputs[0], kept[0]).mul_(grads[0]),)


def conformal(q: Tensor) -> Tensor:
    """2 / (1 - q), which takes points of the ball to the spatial parts of those of the Lorentz model."""
    return torch.add(constant(1, 0.5, q.dtype), q, alpha=-0.5).reciprocal_()


class RadialMap(Kernel):
    """Rows u times a radial function of q = -K |u|^2, inside the limit and at a fixed curvature; with
    ``to_unit`` in units of the curvature radius. ``twice_slope`` is a function of q and of the value."""

    by_rows = True

    def __init__(self, of: Value, twice_slope: Slope, to_unit: bool = False) -> None:
        self.of, self.twice_slope, self.to_unit = of, twice_slope, to_unit

    def numbers(self, u: Tensor, K: Any, limit: float) -> tuple[Tensor, ...] | None:
        """q, f and the factor of each row, where this kernel can be used."""
        if u.dim() != 2 or isinstance(K, Tensor) or u.numel() == 0:
            return None
        q = sq_norms(u, -K)
        if not q.max().item() <= limit * limit:
            return None
        f = self.of(q)
        return q, f, scaled(f, (-K) ** 0.5) if self.to_unit else f

    def forward(self, u: Tensor, K: Any, limit: float) -> Found:
        found = self.numbers(u, K, limit)
        return None if found is None else (found[2].unsqueeze(-1) * u, found)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (u, K, _), (q, f, factor), (by_y,) = inputs, kept, grads
        # near 0 the slope is only rounding error, and u, which is small too, multiplies it twice
        along = dots(by_y, u).mul_(self.twice_slope(q, f))
        along = scaled(along, (-K) ** 0.5) if self.to_unit else along
        return (factor.unsqueeze(-1) * by_y).addcmul_(along.unsqueeze(-1), u, value=-K), None, None
