"""Datasets, splits and the user's own graphs. Nothing here imports torch until it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypergraph.datasets.features import prepare_features
    from hypergraph.datasets.links import LinkSplit, link_split
    from hypergraph.datasets.load import load_graph
    from hypergraph.datasets.splits import NodeSplit, default_split, node_split

_HOME = {
    "LinkSplit": "links",
    "NodeSplit": "splits",
    "default_split": "splits",
    "link_split": "links",
    "load_graph": "load",
    "node_split": "splits",
    "prepare_features": "features",
}

__all__ = [
    "LinkSplit",
    "NodeSplit",
    "default_split",
    "link_split",
    "load_graph",
    "node_split",
    "prepare_features",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
