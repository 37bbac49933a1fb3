"""The spaces that layers hold: a curvature, and methods that delegate to the pure functions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry import euclidean, lorentz, origin, planes, poincare
from hypergraph.geometry.numerics import clip as clip_norm
from hypergraph.geometry.numerics import per_point

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


_FILES: Mapping[str, ModuleType] = {"_ops": lorentz, "_planes": planes, "_origin": origin}


class _Operator:
    """Becomes a method of the space that calls the function of the same name with the space's K: in the file
    of its model, or in one of those that layers need, which also take the pace."""

    def __init__(self, doc: str | None = None, file: str = "_ops") -> None:
        self.doc, self.file = doc, file

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """As type checkers see it."""
        raise NotImplementedError

    def __set_name__(self, space: type[Space], name: str) -> None:
        file, function = self.file, getattr(_FILES[self.file], name)

        def method(self: Space, *args: Any, **kwargs: Any) -> Any:
            if file != "_ops":
                kwargs["pace"] = self.pace
            found = getattr(getattr(self, file), name, None)
            if found is None:
                raise InputError(f"{self} has no {name}; use a space of K < 0.")
            return found(*args, K=self.K, **kwargs)

        taken = inspect.signature(function).parameters.values()
        this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        shown = [this, *(p for p in taken if p.name not in ("K", "pace"))]
        method.__signature__ = inspect.Signature(shown, return_annotation="Tensor")  # type: ignore[attr-defined]
        method.__name__, method.__qualname__ = name, f"{space.__name__}.{name}"
        method.__doc__ = self.doc or function.__doc__
        setattr(space, name, method)


class Space(nn.Module):
    """What the three spaces share; see :class:`PoincareBall`, :class:`Lorentz` and :class:`Euclidean`.

    Its operators are the functions of its model's file, such as :mod:`hypergraph.geometry.poincare`, with
    the curvature of the space for K.

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

    exp0 = _Operator("The exponential map at the origin; u has n coordinates in every model.")
    log0 = _Operator("The logarithm at the origin: a vector of n coordinates in every model.")
    exp = _Operator("The exponential map at x.")
    log = _Operator("The logarithm of y at x.")
    dist = _Operator("The geodesic distance.")
    dist0 = _Operator("The distance from the origin.")
    transport = _Operator("Parallel transport of u from x to y along the geodesic.")
    inner = _Operator("The Riemannian inner product at x.")
    gyro_add = _Operator("Gyro addition.")
    gyro_neg = _Operator("The gyro inverse.")
    gyration = _Operator("The gyration of z generated by x and y.")
    busemann = _Operator("The Busemann functions of the unit rows of v ``(C, n)`` at x: shape ``(..., C)``.")
    dist_hyperplane = _Operator("The signed distance to the geodesic hyperplane through p orthogonal to a.")
    centroid = _Operator("The normalised Lorentzian centroid of the points on dimension -2.")
    frechet_mean = _Operator("The Fréchet mean of the points on dimension -2, by iteration.")
    project = _Operator("Back onto the model.")
    contains = _Operator("Whether x is on the model, up to rounding or a share ``slack`` of its size.")
    to_poincare = _Operator("The same point on the Poincaré ball of the same curvature.")
    to_lorentz = _Operator("The same point on the Lorentz model of the same curvature.")
    # What layers need besides: points against many directions, and maps at the origin on logarithms. Where
    # ``tangent`` is true, x holds the logarithms of the points, which may be sparse.
    horospheres = _Operator(file="_planes")
    hyperplanes = _Operator(file="_planes")
    hyperplanes_through = _Operator(file="_planes")
    pseudo_busemann = _Operator(file="_planes")
    linear_forms = _Operator(file="_planes")
    shift0 = _Operator(file="_origin")
    from_distances0 = _Operator(file="_origin")
    bound0 = _Operator(file="_origin")

    def gyro_scale(self, t: float | Tensor, x: Tensor) -> Tensor:
        """Scalar gyro multiplication, exp0(t log0(x)); t is one number a point."""
        return self.exp0(per_point(t) * self.log0(x))

    def dist_horosphere(self, x: Tensor, v: Tensor, tau: float | Tensor) -> Tensor:
        """The distance to the horospheres ``busemann(x, v) = tau``."""
        return (self.busemann(x, v) - tau).abs()

    def lift(self, features: Tensor, clip: float | None = None) -> Tensor:
        """exp0 of the features, clipped first to norm ``clip`` where given.

        The points of sparse features are dense; encoders take such features as they are, and form no points.
        """
        u = features if features.layout == torch.strided else features.to_dense()
        return self.exp0(u if clip is None else clip_norm(u, clip))

    def summand(self, u: Tensor) -> Tensor:
        """Coordinates of exp0(u) whose weighted sums make centroids: those of the Lorentz model."""
        return self.to_lorentz(self.exp0(u))

    def log0_of_sum(self, total: Tensor) -> Tensor:
        """The logarithm of the Lorentzian centroid, given a weighted sum of :meth:`summand`."""
        return lorentz.log0(lorentz.from_sum(total, K=self.K), K=self.K) / self.pace


class _Hyperbolic(Space):
    def __init__(self, K: float = -1.0, learnable: bool = False) -> None:
        super().__init__()
        self.curvature = Curvature(K, learnable)

    @property
    def K(self) -> Tensor:
        """The curvature, a negative 0-d tensor."""
        curvature: Any = self._modules["curvature"]  # every operator asks, and nn.Module's own way is slow
        return curvature() if curvature.learnable else curvature._buffers["value"]

    def __repr__(self) -> str:
        learnable = ", learnable" if self.curvature.learnable else ""
        return f"{type(self).__name__}(K={self.K.item():g}{learnable})"


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
