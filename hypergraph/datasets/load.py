"""One function for every graph: a dataset's name, a file, a folder, or an object from Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypergraph.datasets.catalog import PUBLISHED, SimulatedDisease
from hypergraph.datasets.names import DATASETS, TASKS
from hypergraph.errors import unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data


def load_graph(
    name_or_path: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None, task: str = "node"
) -> Data:
    """Load one graph: features (sparse CSR where sparse), undirected edges, labels, masks, provenance.

    Args:
        name_or_path: A name from :data:`hypergraph.datasets.names.DATASETS`.
        data: A folder that holds the raw files, looked in first; by default ``HYPERGRAPH_DATA``.
        task: ``"node"`` or ``"link"``: Airport and Disease have other features for links.

    The features are as in the files; :func:`prepare_features` makes of them what a model takes.
    """
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    name = str(name_or_path)
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    if name == "disease":
        return SimulatedDisease(task)[0]
    return PUBLISHED[name](data=data, task=task)[0]
