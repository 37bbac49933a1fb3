"""Hyperbolic graph learning on PyTorch Geometric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.geometry.space import Euclidean, Lorentz, PoincareBall

__version__ = "0.1.0"

_WHERE = {
    "Euclidean": "hypergraph.geometry.space",
    "Lorentz": "hypergraph.geometry.space",
    "PoincareBall": "hypergraph.geometry.space",
}
__all__ = ["Euclidean", "Lorentz", "PoincareBall", "__version__"]
__getattr__ = lazy(__name__, _WHERE)
