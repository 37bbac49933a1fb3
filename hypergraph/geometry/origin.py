r"""What layers compute at the origin, on logarithms: tangent vectors in, tangent vectors out.

On the ball the point :math:`\mathrm{Exp}_0(u)` is :math:`2\lVert u\rVert` away from the origin, on the
Lorentz model :math:`\lVert u\rVert`; but for this number, the ``pace``, the two are one. In units of the
curvature radius a tangent vector w is at distance :math:`\rho = \text{rate}\,\lVert w\rVert`, with rate =
pace times :math:`s = \sqrt{-K}`, and its point has the spatial coordinates
:math:`x = \sinh(\rho)\,w/\lVert w\rVert` and the time :math:`\cosh\rho`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.origin import FromDistances, Shift
from hypergraph.geometry.numerics import bound, bound_factor, bound_square, distance_limit, operator
from hypergraph.geometry.radial import asinhc, sinhc
from hypergraph.geometry.rows import Scalar, dot, sq_norm, times
from hypergraph.sparse import SparseRows, product


@operator
def bound0(u: Tensor | SparseRows, *, K: Scalar, pace: float) -> Any:
    """``log0(exp0(u))``: u itself, but where the space bounds exp0."""
    return times(bound(u, pace * pace * K, distance_limit(u.dtype))[0], u)


def _sinhc_cosh(q: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """sinh(r)/r, bounded at ``limit``, and cosh(r), at r = sqrt(q)."""
    inside = bound_square(q, limit)
    scale = sinhc(inside)
    return scale * bound_factor(q, limit), (1 + inside * scale.square()).sqrt()


def _logarithm(z: Tensor, rate: Scalar, limit: float) -> Tensor:
    r""":math:`\sinh^{-1}(\lVert z\rVert)\,z/\lVert z\rVert`, from spatial coordinates to a tangent vector."""
    q, top = sq_norm(z), math.sinh(limit)
    return asinhc(bound_square(q, top)) * bound_factor(q, top) / rate * z


def _added(x: Tensor, time: Tensor, b: Tensor, rate: Scalar, limit: float) -> Tensor:
    r"""The spatial coordinates of :math:`x \oplus \mathrm{Exp}_0(b)`, with :math:`p` those of
    :math:`\mathrm{Exp}_0(b)`: :math:`z = p + (\cosh\rho_b + \frac{\langle x, p\rangle}{1 + x_t})\,x`."""
    scale, cosh = _sinhc_cosh(rate * rate * sq_norm(b), limit)
    p = rate * scale * b
    return p + (cosh + dot(x, p) / (1 + time)) * x


@with_kernel(Shift())
def _shift(w: Tensor, weight: Tensor | None, b: Tensor, rate: Scalar, limit: float) -> Tensor:
    w = w if weight is None else product(w, weight)
    scale, cosh = _sinhc_cosh(rate * rate * sq_norm(w), limit)
    return _logarithm(_added(rate * scale * w, cosh, b, rate, limit), rate, limit)


@operator
def shift0(
    w: Tensor | SparseRows, b: Tensor | None, weight: Tensor | None = None, *, K: Scalar, pace: float
) -> Tensor:
    r""":math:`\mathrm{Log}_0(\mathrm{Exp}_0(w) \oplus \mathrm{Exp}_0(b))` for one vector b and rows w, or the
    products of rows w, which may be sparse, with a matrix; without b :func:`bound0`.

    Written without points: on the ball these have lost digits that the logarithm needs.
    """
    if weight is not None and (b is None or isinstance(w, SparseRows)):
        w, weight = product(w, weight), None
    if b is None:
        return bound0(w, K=K, pace=pace)
    w = w.dense() if isinstance(w, SparseRows) else w
    return _shift(w, weight, b, pace * (-K) ** 0.5, distance_limit(w.dtype))


@with_kernel(FromDistances())
def _from_distances(d: Tensor, b: Tensor, s: Scalar, rate: Scalar, limit: float) -> Tensor:
    t = s * d
    omega = torch.where(t.abs() > limit, torch.sign(t) * limit, t).sinh()
    q, top = sq_norm(omega), math.sinh(limit)
    x, time = bound_factor(q, top) * omega, (1 + bound_square(q, top)).sqrt()
    return _logarithm(_added(x, time, b, rate, limit), rate, limit)


@operator
def from_distances0(d: Tensor, b: Tensor | None = None, *, K: Scalar, pace: float) -> Tensor:
    r""":math:`\mathrm{Log}_0(y \oplus \mathrm{Exp}_0(b))` of the point y whose signed distances to the
    coordinate hyperplanes are :math:`d_k`: its spatial coordinates on the Lorentz model are
    :math:`\sinh(s d_k)/s`."""
    b = d.new_zeros(d.size(-1)) if b is None else b
    return _from_distances(d, b, (-K) ** 0.5, pace * (-K) ** 0.5, distance_limit(d.dtype))
