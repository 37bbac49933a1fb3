"""The spaces that layers hold: a curvature, and methods that delegate to the pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry import euclidean, lorentz, origin, planes, poincare
from hypergraph.geometry.numerics import clip as clip_norm
from hypergraph.geometry.planes import Given, Points
from hypergraph.sparse import csr_tensor

S = TypeVar("S", bound="Space")


class Curvature(nn.Module):
    r"""A negative scalar: a buffer, or a parameter with :math:`K = -\mathrm{softplus}(\text{raw})`.

    Args:
        K: the value; a finite number below 0.
        learnable: whether it is trained.

    >>> Curvature(-0.5)()
    tensor(-0.5000)
    """

    value: Tensor

    def __init__(self, K: float, learnable: bool = False) -> None:
        super().__init__()
        try:
            value = float(K)
        except (TypeError, ValueError, RuntimeError):
            raise InputError(f"curvature K must be a single number below 0, got {K!r}.") from None
        if not (math.isfinite(value) and value < 0):
            raise InputError(
                f"curvature K must be a finite number below 0, got {value}; for K = 0 use Euclidean()."
            )
        self.learnable = learnable
        # the inverse of softplus, written so that neither end overflows
        self._exact = -value + math.log(-math.expm1(value)) if learnable else value
        stored = torch.tensor(self._exact, dtype=torch.get_default_dtype())
        if learnable:
            self.raw = nn.Parameter(stored)
        else:
            self.register_buffer("value", stored)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Curvature:
        """Move or convert; the value asked for is not lost to an earlier rounding, nor to half precision."""
        before = (self.raw if self.learnable else self.value).detach()
        super()._apply(fn, recurse)
        after = self.raw if self.learnable else self.value
        if after.is_meta or before.is_meta or after.dtype == before.dtype:
            return self
        if after.dtype.itemsize < 4:
            after.data = before.to(after.device)
        elif before.item() == torch.tensor(self._exact, dtype=before.dtype).item():
            after.data.fill_(self._exact)
        return self

    def forward(self) -> Tensor:
        """The curvature as a 0-d tensor."""
        return -nn.functional.softplus(self.raw) if self.learnable else self.value


class Space(nn.Module):
    """What the three spaces share; see :class:`PoincareBall`, :class:`Lorentz` and :class:`Euclidean`.

    >>> isinstance(PoincareBall(), Space), Euclidean().flat
    (True, True)
    """

    model: str
    flat = False
    pace = 1.0  # how far exp0 takes a vector, in units of its length
    # where the operators are, and what layers compute with many directions and on logarithms
    _ops: ModuleType
    _planes: ModuleType = planes
    _origin: ModuleType = origin

    @property
    def K(self) -> Tensor:
        """The curvature, a 0-d tensor."""
        raise NotImplementedError

    def train(self: S, mode: bool = True) -> S:
        """Set the mode; the layers that share a space each pass it on, and once is enough."""
        return self if self.training == mode else super().train(mode)

    def ambient(self, n: int) -> int:
        """The number of coordinates of a point of the n-dimensional space."""
        return n

    def origin(self, n: int) -> Tensor:
        """The origin of the n-dimensional space."""
        return self.exp0(torch.zeros(n, dtype=self.K.dtype, device=self.K.device))

    def exp0(self, u: Tensor) -> Tensor:
        """The exponential map at the origin; u has n coordinates in every model."""
        return self._ops.exp0(u, K=self.K)

    def log0(self, x: Tensor) -> Tensor:
        """The logarithm at the origin: a vector of n coordinates in every model."""
        return self._ops.log0(x, K=self.K)

    def exp(self, x: Tensor, u: Tensor) -> Tensor:
        """The exponential map at x."""
        return self._ops.exp(x, u, K=self.K)

    def log(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of y at x."""
        return self._ops.log(x, y, K=self.K)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """The geodesic distance."""
        return self._ops.dist(x, y, K=self.K)

    def dist0(self, x: Tensor) -> Tensor:
        """The distance from the origin."""
        return self._ops.dist0(x, K=self.K)

    def transport(self, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
        """Parallel transport of u from x to y along the geodesic."""
        return self._ops.transport(x, y, u, K=self.K)

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """The Riemannian inner product at x."""
        return self._ops.inner(x, u, v, K=self.K)

    def gyro_add(self, x: Tensor, y: Tensor) -> Tensor:
        """Gyro addition."""
        return self._ops.gyro_add(x, y, K=self.K)

    def gyro_neg(self, x: Tensor) -> Tensor:
        """The gyro inverse."""
        return self._ops.gyro_neg(x, K=self.K)

    def gyro_scale(self, t: float | Tensor, x: Tensor) -> Tensor:
        """Scalar gyro multiplication."""
        return self._ops.gyro_scale(t, x, K=self.K)

    def gyration(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """The gyration of z generated by x and y."""
        return self._ops.gyration(x, y, z, K=self.K)

    def busemann(self, x: Tensor, v: Tensor) -> Tensor:
        """The Busemann functions of the unit rows of v ``(C, n)`` at x: shape ``(..., C)``."""
        return self._ops.busemann(x, v, K=self.K)

    def dist_horosphere(self, x: Tensor, v: Tensor, tau: float | Tensor) -> Tensor:
        """The distance to the horospheres ``busemann(x, v) = tau``."""
        return self._ops.dist_horosphere(x, v, tau, K=self.K)

    def dist_hyperplane(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """The signed distance to the geodesic hyperplane through p orthogonal to a."""
        return self._ops.dist_hyperplane(x, p, a, K=self.K)

    def centroid(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """The closed-form mean of the points on dimension -2 (the normalised Lorentzian centroid)."""
        return self._ops.centroid(x, weights, K=self.K)

    def frechet_mean(
        self, x: Tensor, weights: Tensor | None = None, max_iter: int = 64, tol: float | None = None
    ) -> Tensor:
        """The Fréchet mean of the points on dimension -2, by iteration."""
        return self._ops.frechet_mean(x, weights, K=self.K, max_iter=max_iter, tol=tol)

    def project(self, x: Tensor) -> Tensor:
        """Back onto the model."""
        return self._ops.project(x, K=self.K)

    def contains(self, x: Tensor, slack: float = 0.0) -> Tensor:
        """Whether x is on the model, up to rounding, or up to a share ``slack`` of the point's size."""
        return self._ops.contains(x, K=self.K, slack=slack)

    def lift(self, features: Tensor, clip: float | None = None) -> Tensor:
        """exp0 of the features, clipped first to norm ``clip`` where given.

        A sparse CSR matrix of features stays sparse: its rows are scaled (and on the Lorentz model get a
        time).
        """
        if features.layout != torch.strided:
            return self._lift_sparse(features, clip)
        return self.exp0(features if clip is None else clip_norm(features, clip))

    def _lift_sparse(self, features: Tensor, clip: float | None) -> Tensor:
        crow, col, value = features.crow_indices(), features.col_indices(), features.values()
        rows, columns = features.shape
        row = torch.repeat_interleave(torch.arange(rows, device=col.device), crow.diff().long())
        norm = value.new_zeros(rows).index_add(0, row, value.square()).sqrt().unsqueeze(-1)
        # every lift is radial: the point at the same distance on a line tells the scale, and the time
        line = self.lift(norm, clip)
        scale = line[:, -1:] / torch.where(norm > 0, norm, 1.0)
        value = value * scale[row, 0]
        if self.ambient(columns) > columns:
            first = crow[:-1] + torch.arange(rows, device=crow.device)
            place = torch.arange(len(value), device=row.device) + row + 1
            value = value.new_zeros(rows + len(value)).index_copy(0, first.long(), line[:, 0])
            value = value.index_copy(0, place, features.values() * scale[row, 0])
            col = torch.zeros_like(value, dtype=col.dtype).index_copy(0, place, col + 1)
            crow = crow + torch.arange(rows + 1, device=crow.device, dtype=crow.dtype)
        return csr_tensor(crow, col, value, (rows, self.ambient(columns)))

    # What layers need besides: points against many directions, and maps at the origin on logarithms. Where
    # ``tangent`` is true, x holds the logarithms of the points, which may be sparse.

    def horospheres(
        self, x: Points, weight: Tensor, scale: Given = None, offset: Given = None, *, tangent: bool = False
    ) -> Tensor:
        """``scale * busemann(x, v) + offset``, with v the directions of the rows of ``weight`` ``(C, n)``:
        shape ``(..., C)``."""
        return self._planes.horospheres(x, weight, scale, offset, K=self.K, pace=self.pace, tangent=tangent)

    def hyperplanes(
        self, x: Points, weight: Tensor, offset: Tensor, scale: Given = None, *, tangent: bool = False
    ) -> Tensor:
        """``scale``, by default the norm of a normal, times the signed distances to the hyperplanes with the
        normals ``weight`` ``(C, n)`` at the distances ``offset`` from the origin: shape ``(..., C)``."""
        return self._planes.hyperplanes(x, weight, offset, scale, K=self.K, pace=self.pace, tangent=tangent)

    def hyperplanes_through(self, x: Tensor, point: Tensor, normal: Tensor) -> Tensor:
        """See :func:`hypergraph.geometry.planes.hyperplanes_through`."""
        return self._planes.hyperplanes_through(x, point, normal, K=self.K, pace=self.pace)

    def pseudo_busemann(self, x: Tensor, point: Tensor, direction: Tensor) -> Tensor:
        """See :func:`hypergraph.geometry.planes.pseudo_busemann`."""
        return self._planes.pseudo_busemann(x, point, direction, K=self.K, pace=self.pace)

    def linear_forms(self, x: Points, weight: Tensor, *, tangent: bool = False) -> Tensor:
        """The products of the coordinates on the Lorentz model with the rows of ``weight`` ``(C, n + 1)``."""
        return self._planes.linear_forms(x, weight, K=self.K, pace=self.pace, tangent=tangent)

    def shift0(self, w: Points, b: Given, weight: Given = None) -> Tensor:
        """``log0(gyro_add(exp0(w), exp0(b)))`` for rows w, times a matrix where given, and one vector b;
        without b :meth:`bound0`."""
        return self._origin.shift0(w, b, weight, K=self.K, pace=self.pace)

    def from_distances0(self, d: Tensor, b: Tensor | None = None) -> Tensor:
        """``log0(gyro_add(y, exp0(b)))`` of the point y whose signed distances to the coordinate hyperplanes
        are d; without b, ``log0(y)``."""
        return self._origin.from_distances0(d, b, K=self.K, pace=self.pace)

    def bound0(self, u: Points) -> Any:
        """``log0(exp0(u))``: u itself, but where exp0 bounds it."""
        return self._origin.bound0(u, K=self.K, pace=self.pace)

    def summand(self, u: Tensor) -> Tensor:
        """Coordinates of exp0(u) whose weighted sums make centroids: those of the Lorentz model."""
        return self.to_lorentz(self.exp0(u))

    def log0_of_sum(self, total: Tensor) -> Tensor:
        """The logarithm of the Lorentzian centroid, given a weighted sum of :meth:`summand`."""
        return lorentz.log0(lorentz.from_sum(total, K=self.K), K=self.K) / self.pace

    def to_poincare(self, x: Tensor) -> Tensor:
        """The same point on the Poincaré ball of the same curvature."""
        return self._ops.to_poincare(x, K=self.K)

    def to_lorentz(self, x: Tensor) -> Tensor:
        """The same point on the Lorentz model of the same curvature."""
        return self._ops.to_lorentz(x, K=self.K)


class _Hyperbolic(Space):
    def __init__(self, K: float = -1.0, learnable: bool = False) -> None:
        super().__init__()
        self.curvature = Curvature(K, learnable)

    @property
    def K(self) -> Tensor:
        """The curvature, a negative 0-d tensor."""
        curvature: Any = self._modules["curvature"]  # every operator asks, and nn.Module's own way is slow
        return curvature() if curvature.learnable else curvature._buffers["value"]

    def extra_repr(self) -> str:
        return f"K={self.K.item():g}" + (", learnable" if self.curvature.learnable else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


class PoincareBall(_Hyperbolic):
    """The Poincaré ball.

    Args:
        K: the curvature, below 0.
        learnable: whether the curvature is trained.

    >>> ball = PoincareBall(K=-1.0)
    >>> ball.dist(ball.lift(torch.randn(4, 16)), ball.origin(16)).shape
    torch.Size([4])
    """

    model = "poincare"
    pace = 2.0
    _ops = poincare


class Lorentz(_Hyperbolic):
    """The Lorentz model; a point of the n-dimensional space has n + 1 coordinates, time first.

    Args:
        K: the curvature, below 0.
        learnable: whether the curvature is trained.

    >>> sheet = Lorentz(K=-0.5, learnable=True)
    >>> sheet.exp0(torch.randn(4, 16)).shape
    torch.Size([4, 17])
    """

    model = "lorentz"
    _ops = lorentz

    def ambient(self, n: int) -> int:
        return n + 1


class Euclidean(Space):
    """Flat space with the same interface: the baseline, and the limit as K goes to 0.

    >>> Euclidean().busemann(torch.eye(2), torch.eye(2))
    tensor([[-1., -0.],
            [-0., -1.]])
    """

    model = "euclidean"
    flat = True
    _ops = _planes = _origin = euclidean
    _zero: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("_zero", torch.zeros(()), persistent=False)

    @property
    def K(self) -> Tensor:
        """Zero."""
        return self._zero

    def summand(self, u: Tensor) -> Tensor:
        return u

    def log0_of_sum(self, total: Tensor) -> Tensor:
        return total

    def __repr__(self) -> str:
        return "Euclidean()"
