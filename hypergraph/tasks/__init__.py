"""Experiments that can be trusted: one loop, one run folder. Nothing here imports torch until it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.tasks.api import (
        genome_classification,
        image_classification,
        link_prediction,
        node_classification,
    )
    from hypergraph.tasks.loaded import load_run
    from hypergraph.tasks.result import Result

_WHERE = {
    "Result": "hypergraph.tasks.result",
    "genome_classification": "hypergraph.tasks.api",
    "image_classification": "hypergraph.tasks.api",
    "link_prediction": "hypergraph.tasks.api",
    "load_run": "hypergraph.tasks.loaded",
    "node_classification": "hypergraph.tasks.api",
}
__all__ = [
    "Result",
    "genome_classification",
    "image_classification",
    "link_prediction",
    "load_run",
    "node_classification",
]
__getattr__ = lazy(__name__, _WHERE)
