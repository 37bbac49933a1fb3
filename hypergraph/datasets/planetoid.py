"""Reading the Planetoid files ``ind.NAME.*`` of Cora, PubMed and CiteSeer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays, simple_edges
from hypergraph.datasets.unpickle import restricted_load
from hypergraph.errors import InputError

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


class _Matrix:
    """Stands in for SciPy's matrix: takes the arrays from the pickle and runs nothing."""

    _shape: tuple[int, int]
    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]

    def csr(self) -> sp.csr_matrix:
        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=self._shape, dtype=np.float32)


_ALIASES: dict[tuple[str, str], Any] = {
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    # The module of this function has moved between releases of NumPy.
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
}
_MATRIX = {*_ALIASES, ("numpy", "ndarray"), ("numpy", "dtype")}
_ARRAY = _MATRIX - {("scipy.sparse.csr", "csr_matrix")}
_GRAPH = {("__builtin__", "list"), ("collections", "defaultdict")}


def read_planetoid(name: str, files: dict[str, Path]) -> GraphArrays:
    """Read one Planetoid dataset; ``files`` maps ``ind.NAME.x`` etc. to where they are.

    Test nodes that no file describes (CiteSeer has 15) have no features and class 0, as in PyG.
    """
    path = {part: files[f"ind.{name}.{part}"] for part in PARTS}
    tx, allx = (restricted_load(path[part], _MATRIX, aliases=_ALIASES).csr() for part in ("tx", "allx"))
    y, ty, ally = (restricted_load(path[part], _ARRAY, aliases=_ALIASES) for part in ("y", "ty", "ally"))
    graph: dict[int, list[int]] = restricted_load(path["graph"], _GRAPH)
    test = np.loadtxt(path["test.index"], dtype=np.int64, ndmin=1)
    if len(test) != tx.shape[0] or test.min() != allx.shape[0]:
        raise InputError(
            f"{path['test.index']}: {len(test)} test nodes from {test.min()} on do not fit the other files "
            f"({tx.shape[0]} from {allx.shape[0]} on); download the dataset again."
        )

    num_nodes = int(test.max()) + 1
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
