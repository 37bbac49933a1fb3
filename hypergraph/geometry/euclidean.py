"""Flat space with the interface of the hyperbolic models; K is accepted and ignored."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergraph.geometry.fused import nonzero, products
from hypergraph.geometry.numerics import Scalar, ordinary, safe_sqrt, unit
from hypergraph.geometry.rows import dot, sq_norm


def project(x: Tensor, *, K: Scalar) -> Tensor:
    """x itself."""
    return x


def contains(x: Tensor, *, K: Scalar) -> Tensor:
    """Whether x is finite."""
    return torch.isfinite(x).all(-1)


def exp0(u: Tensor, *, K: Scalar) -> Tensor:
    """u itself."""
    return u


def log0(x: Tensor, *, K: Scalar) -> Tensor:
    """x itself."""
    return x


def exp(x: Tensor, u: Tensor, *, K: Scalar) -> Tensor:
    """x + u."""
    return x + u


def log(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    """y - x."""
    return y - x


def inner(x: Tensor, u: Tensor, v: Tensor, *, K: Scalar) -> Tensor:
    """The inner product."""
    return dot(u, v).squeeze(-1)


def dist(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    """The norm of the difference."""
    return safe_sqrt(sq_norm(x - y)).squeeze(-1)


def dist0(x: Tensor, *, K: Scalar) -> Tensor:
    """The norm."""
    return safe_sqrt(sq_norm(x)).squeeze(-1)


def transport(x: Tensor, y: Tensor, u: Tensor, *, K: Scalar) -> Tensor:
    """u itself."""
    return u


def gyro_add(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    """x + y."""
    return x + y


def gyro_neg(x: Tensor, *, K: Scalar) -> Tensor:
    """-x."""
    return -x


def gyro_scale(t: float | Tensor, x: Tensor, *, K: Scalar) -> Tensor:
    """t x."""
    return (t.unsqueeze(-1) if isinstance(t, Tensor) and t.dim() else t) * x


def gyration(x: Tensor, y: Tensor, z: Tensor, *, K: Scalar) -> Tensor:
    """z itself."""
    return z


def busemann(
    x: Tensor, v: Tensor, *, K: Scalar, scale: float | Tensor = 1.0, offset: Tensor | None = None
) -> Tensor:
    r""":math:`B^v(x) = -\langle x, v\rangle`, and with a scale and an offset for each row of v, their affine
    function of it."""
    inner, norms = products(x, ordinary(v))
    value = inner * (-scale / nonzero(norms))
    return value if offset is None else value + offset


def dist_horosphere(x: Tensor, v: Tensor, tau: float | Tensor, *, K: Scalar) -> Tensor:
    """The distance to the hyperplane with this normal and offset."""
    return (busemann(x, v, K=K) - tau).abs()


def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Scalar) -> Tensor:
    """The signed distance to the hyperplane through p orthogonal to a."""
    return dot(x - p, unit(ordinary(a))).squeeze(-1)


def centroid(x: Tensor, weights: Tensor | None = None, *, K: Scalar) -> Tensor:
    """The weighted mean of the points on dimension -2."""
    if weights is None:
        return x.mean(-2)
    return (weights.unsqueeze(-1) * x).sum(-2) / weights.sum(-1, keepdim=True)


def frechet_mean(
    x: Tensor, weights: Tensor | None = None, *, K: Scalar, max_iter: int = 64, tol: float | None = None
) -> Tensor:
    """The weighted mean: in flat space no iteration is needed."""
    return centroid(x, weights, K=K)
