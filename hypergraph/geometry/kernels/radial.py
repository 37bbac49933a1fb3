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
        f = self.of(q.clamp_min(TINY))
        return f, (f,)

    def of(self, q: Tensor) -> Tensor:
        """f of q > 0."""
        r = q.sqrt()
        return self.value(r).div_(r)

    def twice_slope(self, q: Tensor, f: Tensor) -> Tensor:
        """Twice the derivative of f by q > 0, which near 0 is mere rounding."""
        return self.numerator(q, f).div_(q)

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

    def forward(self, u: Tensor, K: Any, limit: float) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        if u.dim() != 2 or isinstance(K, Tensor) or u.numel() == 0:
            return None
        q = sq_norms(u, -K, TINY)
        if not q.max().item() <= limit * limit:
            return None
        f = self.radial.of(q)
        factor = scaled(f, (-K) ** 0.5) if self.to_unit else f
        return factor.unsqueeze(-1) * u, (q, f, factor)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (u, K, _), (q, f, factor), (grad,) = inputs, kept, grads
        # what is mere rounding near 0 is multiplied by u twice
        along = self.radial.twice_slope(q, f).mul_(dots(grad, u)).unsqueeze(-1)
        number = -K * ((-K) ** 0.5 if self.to_unit else 1.0)
        return (factor.unsqueeze(-1) * grad).addcmul_(along, u, value=number), None, None
