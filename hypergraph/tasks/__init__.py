"""Experiments that can be trusted: one loop, one run folder. Nothing here imports torch until it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.tasks.api import link_prediction, node_classification
    from hypergraph.tasks.result import Result

_WHERE = {
    "Result": "hypergraph.tasks.result",
    "link_prediction": "hypergraph.tasks.api",
    "node_classification": "hypergraph.tasks.api",
}
__all__ = ["Result", "link_prediction", "node_classification"]
__getattr__ = lazy(__name__, _WHERE)
