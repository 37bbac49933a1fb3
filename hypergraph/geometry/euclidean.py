"""Flat space with the interface of the hyperbolic models, layers' operators included; K is accepted and
ignored, and so is what tells the hyperbolic models apart."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.numerics import operator, raised
from hypergraph.geometry.planes import Given, Rows
from hypergraph.geometry.radial import safe_sqrt
from hypergraph.geometry.rows import Scalar, dot, nonzero, sq_norm, unit
from hypergraph.sparse import SparseRows, product


def _last(*vectors: Any, **_: Any) -> Any:
    """The last argument itself."""
    return vectors[-1]


project = exp0 = log0 = transport = gyration = bound0 = _last


def contains(x: Tensor, *, K: Scalar, slack: float = 0.0) -> Tensor:
    """Whether x is finite."""
    return torch.isfinite(x).all(-1)


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


def gyro_add(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    """x + y."""
    return x + y


exp = gyro_add


def gyro_neg(x: Tensor, *, K: Scalar) -> Tensor:
    """-x."""
    return -x


def busemann(x: Tensor, v: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`B^v(x) = -\langle x, v\rangle` for unit rows of v; a row of another length stands for its
    direction."""
    return horospheres(x, v, K=K)


def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Scalar) -> Tensor:
    """The signed distance to the hyperplane through p orthogonal to a."""
    return dot(x - p, unit(a)).squeeze(-1)


def centroid(x: Tensor, weights: Tensor | None = None, **_: Any) -> Tensor:
    """The weighted mean of the points on dimension -2."""
    if weights is None:
        return x.mean(-2)
    return (weights.unsqueeze(-1) * x).sum(-2) / weights.sum(-1, keepdim=True)


frechet_mean = centroid  # in flat space no iteration is needed


@operator
def horospheres(
    x: Rows, weight: Tensor, scale: Given = None, offset: Given = None, *, K: Scalar, **_: Any
) -> Tensor:
    """Scale times the Busemann function of the direction of each row of the weight, plus the offset."""
    value = product(x, unit(weight)) * -(1.0 if scale is None else scale)
    return value if offset is None else value + offset


@operator
def hyperplanes(
    x: Rows, weight: Tensor, offset: Tensor, scale: Given = None, *, K: Scalar, **_: Any
) -> Tensor:
    """Scale (or the norm of the normal) times the signed distance to the hyperplane with this normal at this
    distance from the origin."""
    norms = torch.linalg.vector_norm(weight, dim=-1)
    return (norms if scale is None else scale) * (product(x, weight) / nonzero(norms) - offset)


def shift0(w: Tensor | SparseRows, b: Tensor | None, weight: Tensor | None = None, **_: Any) -> Any:
    """w or Ww, and b added where there is one; autocast may lower the product, not what follows."""
    y: Any = w if weight is None else product(w, raised(weight)).to(w.dtype)
    return y if b is None else y + raised(b)


def from_distances0(d: Tensor, b: Tensor | None = None, **_: Any) -> Tensor:
    """d, and b added where there is one."""
    return d if b is None else d + b
