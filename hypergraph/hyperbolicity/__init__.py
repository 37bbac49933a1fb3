"""Gromov's delta-hyperbolicity of a graph: exact with a certificate, or sampled as in the literature."""

from hypergraph.hyperbolicity.delta import delta_hyperbolicity
from hypergraph.hyperbolicity.result import PUBLISHED, DeltaResult
from hypergraph.hyperbolicity.sampled import delta_from_distances

__all__ = ["PUBLISHED", "DeltaResult", "delta_from_distances", "delta_hyperbolicity"]
