"""Radial functions f(r) = g(r)/r of q = r^2, with their slopes by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel

_TINY = 1e-30  # a stand-in for q = 0 under a division: it changes no value above rounding
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
        r = q.clamp_min(_TINY).sqrt_()
        f = self.value(r).div_(r)
        return f, (f,)

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (q,), (f,), (grad,) = inputs, kept, grads
        numerator = self.numerator(q, f)
        if q.numel() and q.amin().item() >= _SERIES_BELOW:
            return (numerator.div_(q).mul_(grad).mul_(0.5),)
        small = q < _SERIES_BELOW
        taylor = q * self.slopes[-1]
        for c in self.slopes[-2:0:-1]:
            taylor.add_(c).mul_(q)
        slope = torch.where(
            small, taylor.add_(self.slopes[0]), numerator.div_(2 * torch.where(small, 1.0, q))
        )
        return (slope.mul_(grad),)
