"""One function for every graph: a dataset's name, a file, a folder, or an object from Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.datasets.catalog import PUBLISHED, SimulatedDisease
from hypergraph.datasets.disk import is_graph_folder, load_folder
from hypergraph.datasets.names import OGB, TASKS, unknown_dataset
from hypergraph.datasets.sources import require_folder
from hypergraph.errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data


def load_graph(name_or_path: Any, *, data: str | os.PathLike[str] | None = None, task: str = "node") -> Data:
    """Load one graph: features (sparse CSR where sparse), undirected edges, labels, masks, provenance.

    Args:
        name_or_path: A name from :data:`hypergraph.datasets.names.DATASETS`; ``pyg:Name`` for a PyG dataset;
            ``ogbn-arxiv`` and the like for one of OGB; a file or folder of one's own, also what ``hypergraph
            data convert`` wrote; or from Python a PyG ``Data`` or dataset (its first graph), a networkx
            graph, a SciPy adjacency, a pandas data frame of edges, or an ``edge_index``.
        data: A folder that holds the raw files, looked in first; by default ``HYPERGRAPH_DATA``.
        task: ``"node"`` or ``"link"``: Airport and Disease have other features for links.

    The features are as in the files; :func:`prepare_features` makes of them what a model takes. ``data.y``
    indexes ``data.classes``, and is -1 where a node has no label; ``data.node_ids`` are the user's ids where
    they are not 0, 1, ...; ``data.edge_weight`` is there where edges differ in weight; ``data.changes`` says
    what was dropped or changed.
    """
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if not isinstance(name_or_path, (str, os.PathLike)):
        return _from_object(name_or_path)
    name = os.fspath(name_or_path)
    require_folder(data)
    if name == "disease":
        return SimulatedDisease(task)[0]
    if name in PUBLISHED:
        return PUBLISHED[name](data=data, task=task)[0]
    if name.startswith("pyg:"):
        from hypergraph.datasets.pyg import read_pyg_dataset

        return read_pyg_dataset(name).to_data()
    if name.startswith(OGB):
        from hypergraph.datasets.ogb import read_ogb

        return read_ogb(name, data).to_data()
    path = Path(name)
    if is_graph_folder(path):
        return load_folder(path, task)
    if path.exists():
        from hypergraph.datasets.own import read_own_graph

        return read_own_graph(path).to_data()
    raise unknown_dataset(name)


def _from_object(graph: Any) -> Data:
    import networkx as nx
    import scipy.sparse as sp
    from torch_geometric.data import Data, Dataset, HeteroData

    from hypergraph.datasets.markup import from_networkx
    from hypergraph.datasets.own import from_frame, from_matrix
    from hypergraph.datasets.pyg import from_data, from_edge_index

    if isinstance(graph, (Data, Dataset, HeteroData)):
        return from_data(graph).to_data()
    if isinstance(graph, nx.Graph):
        return from_networkx(graph).to_data()
    if sp.issparse(graph):
        return from_matrix(graph).to_data()
    if hasattr(graph, "columns") and hasattr(graph, "iterrows"):
        return from_frame(graph).to_data()
    if hasattr(graph, "shape") and hasattr(graph, "dtype"):
        return from_edge_index(graph).to_data()
    raise InputError(
        f"A {type(graph).__name__} is no graph; give a PyG Data, a networkx graph, a SciPy matrix, a data "
        "frame of edges, an edge_index, or a file."
    )
