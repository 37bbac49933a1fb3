"""Mini-batches of graphs that do not fit a full batch; each name is imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.loader.neighbors import neighbor_loader
    from hypergraph.loader.rows import take_rows
    from hypergraph.loader.sampler import NeighborSampler

_WHERE = {
    "NeighborSampler": "hypergraph.loader.sampler",
    "neighbor_loader": "hypergraph.loader.neighbors",
    "take_rows": "hypergraph.loader.rows",
}
__all__ = ["NeighborSampler", "neighbor_loader", "take_rows"]
__getattr__ = lazy(__name__, _WHERE)
