"""Reading the Planetoid files ``ind.NAME.*`` of Cora, PubMed and CiteSeer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergraph.datasets.arrays import GraphArrays, simple_edges
from hypergraph.datasets.check import checked_csr
from hypergraph.datasets.unpickle import ARRAYS, MOST, restricted_load
from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file
from hypergraph.limits import require

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


class _Matrix:
    """Stands in for SciPy's matrix: takes the arrays from the pickle and runs nothing."""

    _state: dict[str, Any]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._state = state

    def csr(self) -> sp.csr_matrix:
        shape = self._state["_shape"]
        if not isinstance(shape, tuple) or [type(side) for side in shape] != [int, int]:
            raise ValueError("a matrix without two sides")
        parts = tuple(self._state[part].numbers() for part in ("data", "indices", "indptr"))
        return sp.csr_matrix(parts, shape=shape, dtype=np.float32)


class _Neighbors(dict[int, list[int]]):
    """Stands in for the dictionary of lists that is the graph: starts empty, whatever it is given."""

    def __init__(self, *_: object) -> None:
        super().__init__()

    def __setstate__(self, state: object) -> None:
        raise ValueError("a graph with attributes")


_MATRIX: dict[tuple[str, str], Any] = {("scipy.sparse.csr", "csr_matrix"): _Matrix, **ARRAYS}
_GRAPH: dict[tuple[str, str], Any] = {
    ("__builtin__", "list"): "list",
    ("collections", "defaultdict"): _Neighbors,
}


def _neighbors(path: Path) -> dict[int, list[int]]:
    graph: Any = restricted_load(path, _GRAPH)
    # A list that stands in a thousand places takes the room of one here, and of a thousand as edges.
    if not isinstance(graph, dict) or not all(type(others) is list for others in graph.values()):
        raise ValueError("no lists of neighbors")
    if sum(map(len, graph.values())) > MOST:
        raise ValueError(f"more than {MOST:,} neighbors")
    if not all(type(node) is int for nodes in (graph, *graph.values()) for node in nodes):
        raise ValueError("nodes that are no whole numbers")
    return graph


def read_planetoid(name: str, files: dict[str, Path]) -> GraphArrays:
    """Read one Planetoid dataset; ``files`` maps ``ind.NAME.x`` etc. to where they are, verified.

    Test nodes that no file describes (CiteSeer has 15) have no features and class 0, as in PyG.
    """
    path = {part: files[f"ind.{name}.{part}"] for part in PARTS}
    with reading(path["x"].parent, f"the Planetoid files of {name}"):
        return _read(name, path)


def _read(name: str, path: dict[str, Path]) -> GraphArrays:
    tx, allx = (
        checked_csr(restricted_load(path[part], _MATRIX).csr(), str(path[part])) for part in ("tx", "allx")
    )
    y, ty, ally = (restricted_load(path[part], ARRAYS).numbers() for part in ("y", "ty", "ally"))
    graph = _neighbors(path["graph"])
    require(20 * regular_file(path["test.index"]), str(path["test.index"]))
    test = np.loadtxt(path["test.index"], dtype=np.int64, ndmin=1)
    if len(test) != tx.shape[0] or test.min() != allx.shape[0]:
        raise InputError(
            f"{path['test.index']}: {len(test)} test nodes from {test.min()} on do not fit the other files "
            f"({tx.shape[0]} from {allx.shape[0]} on); download the dataset again."
        )

    num_nodes = int(test.max()) + 1
    require(num_nodes * (8 * ally.shape[1] + 40), f"{path['test.index']}: {num_nodes:,} nodes")
    # Row r of tx is node test[r]; the nodes before test.min() are the rows of allx.
    place = sp.csr_matrix(
        (np.ones(len(test), np.float32), (test - allx.shape[0], np.arange(len(test)))),
        shape=(num_nodes - allx.shape[0], len(test)),
    )
    x = sp.vstack([allx, place @ tx]).tocsr().astype(np.float32)
    x.sort_indices()
    labels = np.zeros((num_nodes, ally.shape[1]), dtype=np.int64)
    labels[: len(ally)], labels[test] = ally, ty

    node = np.arange(num_nodes)
    source = np.repeat(
        np.fromiter(graph, np.int64, len(graph)), np.fromiter(map(len, graph.values()), np.int64, len(graph))
    )
    target = np.array([other for others in graph.values() for other in others], dtype=np.int64)
    ends = np.concatenate([source, target])
    if ends.min() < 0 or ends.max() >= num_nodes:
        raise InputError(f"{path['graph']}: a node that is none of the {num_nodes}; download it again.")
    return GraphArrays(
        name=name,
        num_nodes=num_nodes,
        edges=simple_edges(source, target, num_nodes),
        x=x,
        y=labels.argmax(axis=1),
        masks={
            "train": node < len(y),
            "val": (node >= len(y)) & (node < len(y) + 500),
            "test": np.isin(node, test),
        },
    )
