"""Datasets, splits and the user's own graphs. Nothing here imports torch until it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.datasets.catalog import Airport, CiteSeer, Cora, Disease, PubMed, SimulatedDisease
    from hypergraph.datasets.features import prepare_features
    from hypergraph.datasets.links import LinkSplit, link_split
    from hypergraph.datasets.load import load_graph
    from hypergraph.datasets.splits import NodeSplit, default_split, node_split

__all__ = [
    "Airport",
    "CiteSeer",
    "Cora",
    "Disease",
    "LinkSplit",
    "NodeSplit",
    "PubMed",
    "SimulatedDisease",
    "default_split",
    "link_split",
    "load_graph",
    "node_split",
    "prepare_features",
]

_HOMES = {
    "catalog": ["Airport", "CiteSeer", "Cora", "Disease", "PubMed", "SimulatedDisease"],
    "features": ["prepare_features"],
    "links": ["LinkSplit", "link_split"],
    "load": ["load_graph"],
    "splits": ["NodeSplit", "default_split", "node_split"],
}

__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names})
