"""Radial functions f(r) = g(r)/r of q = r^2, with their slopes by hand, and vectors times such a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel
from hypergraph.geometry.kernels.small import TINY, constant, dots, scaled, sq_norms

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
        f = self.of(q)
        return f, (f,)

    def of(self, q: Tensor) -> Tensor:
        """f."""
        r = q.clamp_min(TINY).sqrt_()
        return self.value(r).div_(r)

    def twice_slope(self, q: Tensor, f: Tensor) -> Tensor:
        """Twice the derivative of f by q; near 0 mere rounding."""
        return self.numerator(q, f).div_(q.clamp_min(TINY))

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (q,), (f,), (grad,) = inputs, kept, grads
        if q.numel() and q.min().item() >= _SERIES_BELOW:
            return (self.twice_slope(q, f).mul_(grad).mul_(0.5),)
        small = q < _SERIES_BELOW
        taylor = q * self.slopes[-1]
        for c in self.slopes[-2:0:-1]:
            taylor.add_(c).mul_(q)
        far = self.twice_slope(torch.where(small, 1.0, q), f).mul_(0.5)
        return (torch.where(small, taylor.add_(self.slopes[0]), far).mul_(grad),)


class Conformal:
    """2 / (1 - q), which takes points of the ball to the spatial parts of those of the Lorentz model."""

    def of(self, q: Tensor) -> Tensor:
        """The value."""
        return torch.add(constant(1, 0.5, q.dtype), q, alpha=-0.5).reciprocal_()

    def twice_slope(self, q: Tensor, f: Tensor) -> Tensor:
        """Twice the derivative."""
        return f * f


class RadialMap(Kernel):
    """Rows u times a radial function of q = -K |u|^2, inside the limit and at a fixed curvature; with
    ``to_unit`` in units of the curvature radius."""

    by_rows = True

    def __init__(self, radial: Radial | Conformal, to_unit: bool = False) -> None:
        self.radial, self.to_unit = radial, to_unit

    def numbers(self, u: Tensor, K: Any, limit: float) -> tuple[Tensor, ...] | None:
        """q, f and the factor of each row, where this kernel can be used."""
        if u.dim() != 2 or isinstance(K, Tensor) or u.numel() == 0:
            return None
        q = sq_norms(u, -K)
        if not q.max().item() <= limit * limit:
            return None
        f = self.radial.of(q)
        return q, f, scaled(f, (-K) ** 0.5) if self.to_unit else f

    def forward(self, u: Tensor, K: Any, limit: float) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        found = self.numbers(u, K, limit)
        return None if found is None else (found[2].unsqueeze(-1) * u, found)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        return self.gradient(inputs[0], inputs[1], kept, grads[0]), None, None

    def gradient(self, u: Tensor, K: Any, found: Inputs, by_y: Tensor, more: Any = None) -> Tensor:
        """The gradient by u, given that by the rows y that come out, and ``more`` times y where given."""
        q, f, factor = found
        # what is mere rounding near 0 is multiplied by u twice
        along, slope = dots(by_y, u), self.radial.twice_slope(q, f)
        along = scaled(along, (-K) ** 0.5) if self.to_unit else along
        if more is None:
            along.mul_(slope)
        else:
            more = more * f
            along.addcmul_(more, q).mul_(slope).addcmul_(more, f)
        return (factor.unsqueeze(-1) * by_y).addcmul_(along.unsqueeze(-1), u, value=-K)
