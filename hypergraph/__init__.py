"""Hyperbolic graph learning on PyTorch Geometric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph import datasets, geometry, hyperbolicity, loader, nn, tasks, viz
    from hypergraph.geometry.space import Euclidean, Lorentz, PoincareBall
    from hypergraph.hyperbolicity.delta import delta_hyperbolicity
    from hypergraph.tasks.estimator import HyperbolicClassifier
    from hypergraph.tasks.loaded import load_run

__version__ = "0.1.0"

_WHERE = {
    "Euclidean": "hypergraph.geometry.space",
    "HyperbolicClassifier": "hypergraph.tasks.estimator",
    "Lorentz": "hypergraph.geometry.space",
    "PoincareBall": "hypergraph.geometry.space",
    "datasets": "hypergraph.datasets",
    "delta_hyperbolicity": "hypergraph.hyperbolicity.delta",
    "geometry": "hypergraph.geometry",
    "hyperbolicity": "hypergraph.hyperbolicity",
    "load_run": "hypergraph.tasks.loaded",
    "loader": "hypergraph.loader",
    "nn": "hypergraph.nn",
    "tasks": "hypergraph.tasks",
    "viz": "hypergraph.viz",
}
__all__ = [
    "Euclidean",
    "HyperbolicClassifier",
    "Lorentz",
    "PoincareBall",
    "__version__",
    "datasets",
    "delta_hyperbolicity",
    "geometry",
    "hyperbolicity",
    "load_run",
    "loader",
    "nn",
    "tasks",
    "viz",
]
__getattr__ = lazy(__name__, _WHERE)
