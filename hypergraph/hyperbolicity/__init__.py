"""Gromov's delta-hyperbolicity of a graph: exact with a certificate, or sampled as in the literature."""

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.hyperbolicity.delta import delta_hyperbolicity
    from hypergraph.hyperbolicity.result import PUBLISHED, DeltaResult
    from hypergraph.hyperbolicity.sampled import delta_from_distances

_WHERE = {
    "PUBLISHED": "hypergraph.hyperbolicity.result",
    "DeltaResult": "hypergraph.hyperbolicity.result",
    "delta_from_distances": "hypergraph.hyperbolicity.sampled",
    "delta_hyperbolicity": "hypergraph.hyperbolicity.delta",
}
__all__ = ["PUBLISHED", "DeltaResult", "delta_from_distances", "delta_hyperbolicity"]
__getattr__ = lazy(__name__, _WHERE)
