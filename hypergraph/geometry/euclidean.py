"""Flat space with the interface of the hyperbolic models; K is accepted and ignored."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergraph.geometry.fused import direction_product
from hypergraph.geometry.numerics import dot, safe_sqrt, sq_norm

Curvature = float | Tensor


def project(x: Tensor, *, K: Curvature) -> Tensor:
    """x itself."""
    return x


def contains(x: Tensor, *, K: Curvature) -> Tensor:
    """Whether x is finite."""
    return torch.isfinite(x).all(-1)


def exp0(u: Tensor, *, K: Curvature) -> Tensor:
    """u itself."""
    return u


def log0(x: Tensor, *, K: Curvature) -> Tensor:
    """x itself."""
    return x


def exp(x: Tensor, u: Tensor, *, K: Curvature) -> Tensor:
    """x + u."""
    return x + u


def log(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    """y - x."""
    return y - x


def inner(x: Tensor, u: Tensor, v: Tensor, *, K: Curvature) -> Tensor:
    """The inner product."""
    return dot(u, v).squeeze(-1)


def dist(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    """The norm of the difference."""
    return safe_sqrt(sq_norm(x - y)).squeeze(-1)


def dist0(x: Tensor, *, K: Curvature) -> Tensor:
    """The norm."""
    return safe_sqrt(sq_norm(x)).squeeze(-1)


def transport(x: Tensor, y: Tensor, u: Tensor, *, K: Curvature) -> Tensor:
    """u itself."""
    return u


def gyro_add(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    """x + y."""
    return x + y


def gyro_neg(x: Tensor, *, K: Curvature) -> Tensor:
    """-x."""
    return -x


def gyro_scale(t: float | Tensor, x: Tensor, *, K: Curvature) -> Tensor:
    """t x."""
    return (t.unsqueeze(-1) if isinstance(t, Tensor) and t.dim() else t) * x


def gyration(x: Tensor, y: Tensor, z: Tensor, *, K: Curvature) -> Tensor:
    """z itself."""
    return z


def busemann(x: Tensor, v: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`B^v(x) = -\langle x, v\rangle`."""
    return direction_product(-x, v)


def dist_horosphere(x: Tensor, v: Tensor, tau: float | Tensor, *, K: Curvature) -> Tensor:
    """The distance to the hyperplane with this normal and offset."""
    return (busemann(x, v, K=K) - tau).abs()


def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Curvature) -> Tensor:
    """The signed distance to the hyperplane through p orthogonal to a."""
    return (dot(x - p, a) / safe_sqrt(sq_norm(a)).clamp_min(torch.finfo(a.dtype).tiny)).squeeze(-1)


def centroid(x: Tensor, weights: Tensor | None = None, *, K: Curvature) -> Tensor:
    """The weighted mean of the points on dimension -2."""
    if weights is None:
        return x.mean(-2)
    return (weights.unsqueeze(-1) * x).sum(-2) / weights.sum(-1, keepdim=True)


def frechet_mean(x: Tensor, weights: Tensor | None = None, *, K: Curvature, max_iter: int = 100) -> Tensor:
    """The weighted mean: in flat space no iteration is needed."""
    return centroid(x, weights, K=K)
