"""What heads, layers and encoders share: signatures, checks of what comes in, directions with magnitudes."""

from __future__ import annotations

import inspect
from numbers import Integral
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.kernels.dispatch import eager
from hypergraph.geometry.kernels.torch_internals import transformed
from hypergraph.geometry.numerics import raised
from hypergraph.geometry.rows import unit
from hypergraph.geometry.space import Space
from hypergraph.sparse import SparseMatrix, SparseRows


class ShowsArguments(nn.Module):
    """A module whose subclasses pass ``*args`` and ``**kwargs`` on: help() and editors show these."""

    def __init_subclass__(cls) -> None:
        found: dict[str, inspect.Parameter] = {}
        for base in reversed(cls.__mro__):
            found |= inspect.signature(base.__init__).parameters  # type: ignore[misc]
        shown = [value for name, value in found.items() if name not in ("self", "args", "kwargs")]
        shown.sort(key=lambda value: (value.kind, value.default is not value.empty))
        cls.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]


class Directed(nn.Module):
    """Unit directions v_k, those of the rows of ``weight``, magnitudes alpha_k > 0 and offsets b_k."""

    weight: nn.Parameter
    raw_alpha: nn.Parameter | None

    def __init__(self, *args: Any, magnitude: str = "free", **kwargs: Any) -> None:
        self.magnitude = magnitude
        super().__init__(*args, **kwargs)

    def add_parameters(self) -> None:
        """Those beside ``weight``: magnitudes (``"free"``) or none (``"row"``), and offsets."""
        if self.magnitude not in ("free", "row"):
            raise InputError(f"Unknown magnitude '{self.magnitude}'; use 'free' or 'row'.")
        count, free = self.weight.size(0), self.magnitude == "free"
        self.register_parameter("raw_alpha", nn.Parameter(torch.empty(count)) if free else None)
        self.b = nn.Parameter(torch.empty(count))

    def reset_directions(self, std: float) -> None:
        """Directions and magnitudes of normal vectors, zero offsets, as HNN++ does."""
        nn.init.normal_(self.weight, std=std)
        self.set_alpha(self.weight.norm(dim=-1))
        nn.init.zeros_(self.b)

    @torch.no_grad()
    def set_alpha(self, alpha: Tensor) -> None:
        """Give the magnitudes these values."""
        if self.raw_alpha is None:
            self.weight.mul_((alpha / self.weight.norm(dim=-1)).unsqueeze(-1))
        else:  # the inverse of softplus, with neither end overflowing
            self.raw_alpha.copy_(alpha + torch.log(-torch.expm1(-alpha)))

    def alpha_of(self, weight: Tensor) -> Tensor:
        """The magnitudes, where ``weight`` stands for this layer's."""
        if self.raw_alpha is None:
            return torch.linalg.vector_norm(raised(weight), dim=-1)
        return F.softplus(raised(self.raw_alpha))

    @property
    def alpha(self) -> Tensor:
        """The magnitudes, positive."""
        return self.alpha_of(self.weight)

    @property
    def v(self) -> Tensor:
        """The unit directions."""
        return unit(self.weight)


def check_points(x: Any, space: Space, n: int, layer: Any, tangent: bool = False) -> Any:
    """x, in single precision at least; refused where its width is wrong or, in the first batch, where its
    points are not on the space."""
    if isinstance(x, torch.fx.Proxy) or (isinstance(x, SparseRows) and x.size(-1) == n):
        return x
    size = n if tangent else space.ambient(n)
    if x.size(-1) != size:
        what = "tangent vectors" if tangent else f"points of the {space.model} model"
        raise InputError(
            f"{layer} takes {what} with {size} coordinates, got {x.size(-1)} in the last dimension; lift "
            f"features with space.lift(x) and check in_channels."
        )
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = x.to_dense()
    if not tangent and not layer.__dict__.get("_seen_points") and eager(x):
        points = x.detach()
        off = ~space.contains(points, slack=0.1) & points.isfinite().all(-1)
        if off.any():
            raise InputError(
                f"{layer} takes points, and row {int(off.flatten().nonzero()[0])} is not on its space: these "
                f"look like features that were not lifted; use space.lift(x)."
            )
        layer._seen_points = bool(points.isfinite().all(-1).any())
    return raised(x)


def check_channels(**channels: int) -> None:
    """An :class:`InputError` where a number of channels is none, such as PyG's lazy -1."""
    for name, count in channels.items():
        if not isinstance(count, Integral) or count < 1:
            raise InputError(
                f"{name} must be a whole number above 0, got {count!r}; none is read off the first batch."
            )


def check_probabilities(**given: float) -> None:
    """An :class:`InputError` where a probability of dropping something is none, or drops everything."""
    for name, p in given.items():
        if not 0 <= p < 1:
            raise InputError(f"{name} must be at least 0 and below 1, got {p}.")


def check_finite(x: Tensor | SparseMatrix) -> None:
    """An :class:`InputError` where x holds a NaN or an infinity."""
    if transformed() or x.device.type == "meta" or (isinstance(x, Tensor) and x.sum().isfinite()):
        return  # a NaN or an infinity would be in the sum too, which is a tenth of the work
    finite = x.sq_norms().isfinite() if isinstance(x, SparseMatrix) else x.isfinite().all(-1)
    if not finite.all():
        row = int((~finite).nonzero()[0])
        raise InputError(f"The features of node {row} are not finite; clean or drop such rows first.")
