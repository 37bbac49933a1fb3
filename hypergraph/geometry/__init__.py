"""Hyperbolic geometry: pure functions for the two models, and the spaces that layers hold."""

from hypergraph.geometry.numerics import clip
from hypergraph.geometry.space import Curvature, Euclidean, Lorentz, PoincareBall, Space

__all__ = ["Curvature", "Euclidean", "Lorentz", "PoincareBall", "Space", "clip"]
