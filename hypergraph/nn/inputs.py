"""What heads, layers and encoders share: signatures, checks of what comes in, the inverse of softplus."""

from __future__ import annotations

import inspect
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.kernels.dispatch import eager
from hypergraph.geometry.numerics import raised
from hypergraph.geometry.space import Space
from hypergraph.sparse import SparseMatrix, SparseRows


class ShowsArguments(nn.Module):
    """A module whose subclasses pass ``*args`` and ``**kwargs`` on: help() and editors show these."""

    def __init_subclass__(cls) -> None:
        found: dict[str, inspect.Parameter] = {}
        for base in reversed(cls.__mro__):
            found |= inspect.signature(base.__init__).parameters  # type: ignore[misc]
        shown = [value for name, value in found.items() if name not in ("self", "args", "kwargs")]
        cls.__signature__ = inspect.Signature(sorted(shown, key=lambda value: value.kind))  # type: ignore


def check_points(x: Any, space: Space, n: int, layer: Any, tangent: bool = False) -> Any:
    """x, in single precision at least; an error where its last dimension is not that of the space, or where
    the first points that the layer sees are not on it."""
    if isinstance(x, SparseRows) and x.size(-1) == n:
        return x
    if isinstance(x, torch.fx.Proxy):
        return x
    size = n if tangent else space.ambient(n)
    if x.size(-1) != size:
        what = "tangent vectors" if tangent else f"points of the {space.model} model"
        raise InputError(
            f"{layer} takes {what} with {size} coordinates, got {x.size(-1)} in the last dimension; lift "
            f"features with space.lift(x) and check in_channels."
        )
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = x.to_dense()  # points that space.lift() left sparse; encoders take features, and form none
    if not tangent and not layer.__dict__.get("_seen_points") and eager(x):
        _check_lifted(x.detach(), space, layer)
        layer._seen_points = True
    return raised(x)


def _check_lifted(x: Tensor, space: Space, layer: nn.Module) -> None:
    off = ~space.contains(x, slack=0.1) & x.isfinite().all(-1)
    if off.any():
        row = int(off.flatten().nonzero()[0])
        raise InputError(
            f"{layer} takes points, and row {row} is not on its space: these look like features "
            f"that were not lifted; use space.lift(x)."
        )


def check_channels(**channels: int) -> None:
    """An :class:`InputError` where a number of channels is none, such as PyG's lazy -1."""
    for name, count in channels.items():
        if not isinstance(count, Integral) or count < 1:
            raise InputError(
                f"{name} must be a whole number above 0, got {count!r}; pass the dimension of the space, "
                f"which is not read off the first batch."
            )


def check_probabilities(**given: float) -> None:
    """An :class:`InputError` where a probability of dropping something is none, or drops everything."""
    for name, p in given.items():
        if not 0 <= p < 1:
            raise InputError(f"{name} must be at least 0 and below 1, got {p}.")


def check_finite(x: Tensor | SparseMatrix) -> None:
    """An :class:`InputError` where x holds a NaN or an infinity."""
    if isinstance(x, Tensor) and x.sum().isfinite():
        return  # a NaN or an infinity would be in the sum too, which is a tenth of the work
    finite = x.sq_norms().isfinite() if isinstance(x, SparseMatrix) else x.isfinite().all(-1)
    if not finite.all():
        row = int((~finite).nonzero()[0])
        raise InputError(f"The features of node {row} are not finite; clean or drop such rows first.")


def softplus_inverse(y: Tensor) -> Tensor:
    """The argument at which softplus is y > 0, with neither end overflowing."""
    return y + torch.log(-torch.expm1(-y))
