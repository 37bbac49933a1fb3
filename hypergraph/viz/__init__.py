"""Pictures of hyperbolic space and of what was trained in it. Every function takes and returns an ``ax``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.viz.decision import regions
    from hypergraph.viz.plane import disk, geodesics, horospheres, hyperboloid, hyperplanes
    from hypergraph.viz.points import embedding
    from hypergraph.viz.reduction import reduce
    from hypergraph.viz.sarkar import tree
    from hypergraph.viz.training import bracket, curves
    from hypergraph.viz.widget import show

_WHERE = {
    "bracket": "hypergraph.viz.training",
    "curves": "hypergraph.viz.training",
    "disk": "hypergraph.viz.plane",
    "embedding": "hypergraph.viz.points",
    "geodesics": "hypergraph.viz.plane",
    "horospheres": "hypergraph.viz.plane",
    "hyperboloid": "hypergraph.viz.plane",
    "hyperplanes": "hypergraph.viz.plane",
    "reduce": "hypergraph.viz.reduction",
    "regions": "hypergraph.viz.decision",
    "show": "hypergraph.viz.widget",
    "tree": "hypergraph.viz.sarkar",
}
__all__ = [
    "bracket",
    "curves",
    "disk",
    "embedding",
    "geodesics",
    "horospheres",
    "hyperboloid",
    "hyperplanes",
    "reduce",
    "regions",
    "show",
    "tree",
]
__getattr__ = lazy(__name__, _WHERE)
