"""One function for every graph: a dataset's name, a file, a folder, or an object from Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypergraph.datasets.hgcn import read_airport, read_disease
from hypergraph.datasets.names import DATASETS, TASKS
from hypergraph.datasets.planetoid import read_planetoid
from hypergraph.datasets.simulated import simulate_disease
from hypergraph.errors import InputError, unknown_name

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
        return simulate_disease(task).to_data()
    given = data or os.environ.get("HYPERGRAPH_DATA")
    if not given:
        raise InputError(f"{name}: give the folder that holds its files with --data or HYPERGRAPH_DATA.")
    stem = {"disease-hgcn": "disease_nc" if task == "node" else "disease_lp"}.get(name, name)
    folder = Path(given) / stem
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder.")
    files = {file.name: file for file in folder.iterdir()}
    try:
        if name == "airport":
            graph = read_airport(files, task)
        elif name == "disease-hgcn":
            graph = read_disease(files, task)
        else:
            graph = read_planetoid(name, files)
    except KeyError as missing:
        raise InputError(f"{folder}: {missing} is missing.") from missing
    return graph.to_data()
