r"""Radial functions as functions of the *square* of their argument.

As functions of :math:`q = r^2` they are smooth at 0, so nothing needs an epsilon. Near 0, where the formula
:math:`g(r)/r` has no derivative that torch could take, they are their Taylor series.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.radial import Radial
from hypergraph.geometry.kernels.small import plus

_TERMS = 13
_NEAR = 0.03  # thirteen terms are exact there, and the derivatives of g(r)/r above lose a digit or two
_SINH = [1 / math.factorial(2 * k + 1) for k in range(_TERMS)]
_ARTANH = [1 / (2 * k + 1) for k in range(_TERMS)]
_ASINH = [(-1) ** k * math.comb(2 * k, k) / 4**k / (2 * k + 1) for k in range(_TERMS)]
_TANH = [1.0]
for _k in range(1, _TERMS):  # since the derivative of tanh is 1 - tanh^2
    _TANH.append(-sum(_TANH[i] * _TANH[_k - 1 - i] for i in range(_k)) / (2 * _k + 1))


def _radial(q: Tensor, g: Callable[[Tensor], Tensor], series: Sequence[float]) -> Tensor:
    near = q < _NEAR
    small = torch.where(near, q, 0.0)
    taylor = small * series[-1]
    for c in series[-2:0:-1]:
        taylor = (taylor + c) * small
    r = torch.where(near, 1.0, q).sqrt()
    return torch.where(near, taylor + series[0], g(r) / r)


def _asinh_positive(r: Tensor) -> Tensor:
    # log1p is vectorised and torch.asinh is not: five times as fast, and as accurate
    q = r * r
    return torch.log1p(r + q / (1 + (1 + q).sqrt()))


TANHC = Radial(torch.tanh, lambda q, f: plus((f * f).mul_(q).add_(f).neg_(), 1.0), _TANH)


@with_kernel(TANHC)
def tanhc(q: Tensor) -> Tensor:
    r""":math:`\tanh(r)/r` at :math:`r=\sqrt q`."""
    return _radial(q, torch.tanh, _TANH)


@with_kernel(Radial(torch.atanh, lambda q, f: (1 - q).reciprocal_().sub_(f), _ARTANH))
def artanhc(q: Tensor) -> Tensor:
    r""":math:`\tanh^{-1}(r)/r` at :math:`r=\sqrt q < 1`."""
    return _radial(q, torch.atanh, _ARTANH)


SINHC = Radial(torch.sinh, lambda q, f: plus((f * f).mul_(q), 1.0).sqrt_().sub_(f), _SINH)


@with_kernel(SINHC)
def sinhc(q: Tensor) -> Tensor:
    r""":math:`\sinh(r)/r` at :math:`r=\sqrt q`; the caller bounds q."""
    return _radial(q, torch.sinh, _SINH)


ASINHC = Radial(_asinh_positive, lambda q, f: (q + 1).rsqrt_().sub_(f), _ASINH)


@with_kernel(ASINHC)
def asinhc(q: Tensor) -> Tensor:
    r""":math:`\sinh^{-1}(r)/r` at :math:`r=\sqrt q`."""
    return _radial(q, _asinh_positive, _ASINH)


def safe_sqrt(q: Tensor) -> Tensor:
    """The square root of ``max(q, 0)``, with gradient 0 (not infinity) at 0."""
    zero = q <= 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, q).sqrt())
