"""One function for every graph: a dataset's name, a file, a folder, or an object from Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hypergraph.datasets.disk import is_graph_folder, load_folder
from hypergraph.datasets.names import DATASETS, OGB, TASKS, unknown_dataset
from hypergraph.datasets.sources import given_files, require_folder, source_of
from hypergraph.errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from hypergraph.datasets.arrays import GraphArrays
    from hypergraph.datasets.large import LargeGraph


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

    Example:
        >>> import networkx as nx
        >>> graph = load_graph(nx.les_miserables_graph())
        >>> graph.num_nodes, graph.node_ids[:2], graph.edge_weight.max().item()
        (77, ['Napoleon', 'Myriel'], 31.0)
        >>> load_graph("cora").y.shape
        torch.Size([2708])
    """
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if not isinstance(name_or_path, (str, os.PathLike)):
        return _from_object(name_or_path)
    name = os.fspath(name_or_path)
    arrays = _arrays(name, data, task)
    if arrays is not None:
        return arrays.to_data()
    if name not in DATASETS:
        return load_folder(Path(name), task)
    from hypergraph.datasets.catalog import PUBLISHED

    return PUBLISHED[name](data=data, task=task)[0]


def load_adjacency(
    name: str, *, data: str | os.PathLike[str] | None = None
) -> tuple[sp.csr_matrix, list[str] | None, bool]:
    """The edges of a graph, the ids of its nodes, and whether it has weights; mostly without torch."""
    arrays = _arrays(name, data, "node")
    if arrays is None:
        graph = load_graph(name, data=data)
        source, target = graph.edge_index.numpy()
        count, ids, weights = int(graph.num_nodes or 0), graph.get("node_ids"), graph.get("edge_weight")
    else:
        source, target = np.concatenate([arrays.edges, arrays.edges[::-1]], axis=1)
        count, ids, weights = arrays.num_nodes, arrays.ids, arrays.weights
    ones = np.ones(len(source), np.int8)
    return sp.csr_matrix((ones, (source, target)), shape=(count, count)), ids, weights is not None


def large_graph(graph: Any, *, data: str | os.PathLike[str] | None = None) -> LargeGraph | None:
    """A graph that is read in blocks; ``None`` of what is read as a whole."""
    if not isinstance(graph, (str, os.PathLike)):
        return None
    name = os.fspath(graph)
    if name.startswith(OGB):
        from hypergraph.datasets.ogb import large_ogb

        require_folder(data)
        return large_ogb(name, data)
    path = Path(name)
    if name in DATASETS or name.startswith("pyg:") or not path.exists() or is_graph_folder(path):
        return None
    from hypergraph.datasets.own import large_own_graph

    return large_own_graph(path)


def _arrays(name: str, data: str | os.PathLike[str] | None, task: str) -> GraphArrays | None:
    """The graph of a name or path; ``None`` of what is kept in another way: in the cache, or mapped."""
    require_folder(data)
    if name == "disease":
        from hypergraph.datasets.simulated import DEFAULT_SEED, simulate_disease

        return simulate_disease(task, DEFAULT_SEED)
    folder = data or os.environ.get("HYPERGRAPH_DATA") or None
    if name == "cora" and given_files(source_of(name, task), folder) is None:
        from hypergraph.datasets.embedded import read_cora

        return read_cora()
    if name.startswith("pyg:"):
        from hypergraph.datasets.pyg import read_pyg_dataset

        return read_pyg_dataset(name)
    if name.startswith(OGB):
        from hypergraph.datasets.ogb import read_ogb

        return read_ogb(name, data)
    path = Path(name)
    if name in DATASETS or is_graph_folder(path):
        return None
    if path.exists():
        from hypergraph.datasets.own import read_own_graph

        return read_own_graph(path)
    raise unknown_dataset(name)


def _from_object(graph: Any) -> Data:
    import networkx as nx
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
