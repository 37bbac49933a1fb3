"""What makes arrays a graph: the checks that every reader of a user's own graph ends in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.arrays import UNLABELLED, GraphArrays, SimpleEdges, fitting_layout, simplify
from hypergraph.datasets.labels import encode_labels
from hypergraph.datasets.names import DATASETS
from hypergraph.errors import InputError
from hypergraph.limits import require

Where = Callable[[int], str]
# What is held at once while a graph is made: indices and keys of both directions, and their sorted copies;
# a node's degree, label, row pointers, and its own column where it has no features.
_EDGE_BYTES, _NODE_BYTES = 96, 64
_LONGEST = 1000  # of an id or a class: arrays of words are as wide as the longest


def checked_graph(
    name: str,
    edge_index: Any,
    *,
    num_nodes: int | None = None,
    x: Any = None,
    y: Any = None,
    weights: Any = None,
    classes: Any = None,
    ids: list[str] | None = None,
    columns: tuple[str, ...] = (),
    masks: dict[str, Any] | None = None,
    directed: bool | None = None,
    changes: list[str] | None = None,
    where: str = "",
    node: Where | None = None,
    edge: Where | None = None,
    provenance: dict[str, Any] | None = None,
) -> GraphArrays:
    """Build a graph of arrays from outside, or say what is wrong with them and where.

    Args:
        name: What the graph is called.
        edge_index: ``(2, E)`` node indices, in any order, one direction or both.
        num_nodes: By default the rows of ``x``, the length of ``y``, or the largest index and one.
        x: Features, dense or sparse; without any, every node gets a column of its own.
        y: Labels, see :func:`hypergraph.datasets.labels.encode_labels`.
        weights: One number an edge.
        classes: Names of the classes where ``y`` numbers them from 0 on.
        ids: What the user calls the nodes.
        columns: What the user calls the features.
        masks: ``train``, ``val`` and ``test``; taken where all three are there.
        directed: Whether the file says that its edges have a direction; ``None`` where it does not say.
        changes: What has been changed so far, in words.
        where: The file, for messages.
        node: Where a node's row is described, for messages; by default its index.
        edge: The same for an edge.
        provenance: Where the graph is from.
    """
    if ids is not None and max(map(len, ids), default=0) > _LONGEST:
        raise InputError(f"{where}: an id of more than {_LONGEST} characters; shorten it.")
    name_node: Where = node or (lambda row: f"{where}: node {_called(ids, row)}")
    name_edge: Where = edge or (lambda row: f"{where}: edge {row}")
    edge_index = np.asarray(edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.dtype.kind not in "iu":
        raise InputError(
            f"{where}: edge_index is {edge_index.dtype} of shape {edge_index.shape}, where integers of shape "
            "(2, edges) are needed."
        )
    count = _count(num_nodes, x, y, edge_index, where)
    require(
        _EDGE_BYTES * edge_index.shape[1] + _NODE_BYTES * count,
        f"{where}: {count:,} nodes and {edge_index.shape[1]:,} edges",
    )
    for part, given in (("x", x), ("y", y)):
        if given is not None and (not given.ndim or given.shape[0] != count):
            rows = given.shape[0] if given.ndim else "no"
            raise InputError(f"{where}: {part} has {rows} rows, where the graph has {count} nodes.")
    check_ends(edge_index, count, name_edge)
    weights = None if weights is None else checked_weights(weights, edge_index.shape[1], where, name_edge)
    simple = simplify(edge_index[0], edge_index[1], count, weights)
    labels, names = (None, ()) if y is None else encode_labels(y, where, name_node)
    if max(map(len, names), default=0) > _LONGEST:
        raise InputError(f"{where}: a class of more than {_LONGEST} characters; shorten it.")
    graph = GraphArrays(
        name=f"{name} (own)" if name in DATASETS else name,  # a published one is treated in its own way
        num_nodes=count,
        edges=simple.edges,
        x=_identity(count) if x is None else checked_features(x, where, name_node),
        y=labels,
        masks=_masks(masks or {}, count, labels),
        provenance=provenance or {"source": where},
        classes=names if classes is None else _renamed(names, classes, where),
        ids=ids,
        columns=columns,
        weights=simple.weights,
        bare=x is None,
    )
    degree = np.bincount(simple.edges.ravel(), minlength=count)
    graph.changes = [*(changes or []), *told(graph, simple, degree, directed)]
    return graph


def check_ends(edge_index: NDArray[Any], count: int, edge: Where) -> None:
    """Refuse edges of nodes that the graph does not have."""
    bad = ((edge_index < 0) | (edge_index >= count)).any(axis=0).nonzero()[0]
    if len(bad):
        ends = edge_index[:, bad[0]]
        unknown = ends[1] if 0 <= ends[0] < count else ends[0]
        raise InputError(f"{edge(int(bad[0]))}: node '{unknown}' is unknown; the graph has 0 to {count - 1}.")


def _called(ids: list[str] | None, row: int) -> str:
    return str(row) if ids is None else f"'{ids[row]}'"


def _count(num_nodes: int | None, x: Any, y: Any, edge_index: NDArray[Any], where: str) -> int:
    count = num_nodes
    if count is None:
        given = next((part for part in (x, y) if part is not None and part.ndim), None)
        count = int(edge_index.max(initial=-1)) + 1 if given is None else int(given.shape[0])
    if not 0 < count < 2**31:
        raise InputError(f"{where}: {count} nodes, where a graph has 1 to {2**31 - 1}.")
    return count


def told(
    graph: GraphArrays, simple: SimpleEdges, degree: NDArray[np.int64], directed: bool | None = None
) -> list[str]:
    """What was dropped or changed, in words."""
    unlabelled = 0 if graph.y is None else int((graph.y == UNLABELLED).sum())
    one_way = simple.one_way if directed is None else simple.one_way * directed
    changes = [
        (one_way, "{} {edges} in one direction only {go} both ways"),
        (simple.repeated, "{} repeated {edges} dropped"),
        (simple.loops, "{} {loops} dropped"),
        (int((degree == 0).sum()), "{} {nodes} without an edge"),
        (unlabelled, "{} {nodes} without a label (never trained on nor scored)"),
    ]
    said = []
    for count, text in changes:
        plural = "" if count == 1 else "s"
        words = {"edges": f"edge{plural}", "loops": f"self-loop{plural}", "nodes": f"node{plural}"}
        if count:
            said.append(text.format(f"{count:,}", **words, go="goes" if count == 1 else "go"))
    if graph.bare:
        said.append("no features: every node has a column of its own")
    return said


def _identity(count: int) -> sp.csr_matrix:
    return sp.identity(count, dtype=np.float32, format="csr")


def checked_weights(weights: Any, count: int, where: str, edge: Where) -> NDArray[np.float64] | None:
    """Finite weights, one an edge; ``None`` where all are 1."""
    weights = np.asarray(weights)
    weights = weights[:, 0] if weights.ndim == 2 and weights.shape[1] == 1 else weights
    if weights.shape != (count,) or weights.dtype.kind not in "biuf":
        raise InputError(
            f"{where}: weights are {weights.dtype} of shape {weights.shape}, where {count} numbers are "
            "needed, one an edge."
        )
    weights = weights.astype(np.float64)
    bad = (~(np.abs(weights) <= np.finfo(np.float32).max)).nonzero()[0]
    if len(bad):
        raise InputError(
            f"{edge(int(bad[0]))}: the weight is {weights[bad[0]]}, where a finite number is needed."
        )
    return None if not count or (weights == 1).all() else weights


def checked_features(x: Any, where: str, node: Where) -> Any:
    """Finite float32 features, dense or CSR; ``node`` says where a row is described."""
    if x.ndim != 2 or not x.shape[1]:
        raise InputError(
            f"{where}: features of shape {x.shape}, where two dimensions are needed: nodes and columns."
        )
    if x.dtype.kind not in "biuf":
        raise InputError(f"{where}: features of type {x.dtype}, where numbers are needed.")
    if sp.issparse(x):
        require(12 * x.nnz + 8 * x.shape[0], f"{where}: features with {x.nnz:,} entries")
        x = checked_csr(x.tocsr(), where).astype(np.float32)
        x.sum_duplicates()
        bad = (~np.isfinite(x.data)).nonzero()[0][:1]
        for i in bad:
            raise _not_finite(node(np.searchsorted(x.indptr, i, side="right") - 1), x.indices[i], x.data[i])
    else:
        require(4 * x.size, f"{where}: features of shape {x.shape}")
        x = finite(x, node)
    return fitting_layout(x)


def finite(x: NDArray[Any], node: Where) -> NDArray[np.float32]:
    """Rows of features as float32, all of them finite."""
    with np.errstate(over="ignore"):  # what is too large is named below
        x = np.ascontiguousarray(x, dtype=np.float32)
    for row, column in np.argwhere(~np.isfinite(x))[:1]:
        raise _not_finite(node(int(row)), column, x[row, column])
    return x


def _not_finite(where: str, column: int, value: Any) -> InputError:
    return InputError(f"{where}: feature {column + 1} is {value}, where a finite number is needed.")


def checked_csr(matrix: sp.csr_matrix, where: str) -> sp.csr_matrix:
    """A matrix whose indices stay inside it: SciPy's and torch's kernels write wherever they point."""
    try:
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: its sparse matrix is inconsistent ({error}).") from error
    return matrix


def _renamed(names: tuple[str, ...], classes: Any, where: str) -> tuple[str, ...]:
    """The given names of classes that ``y`` numbers."""
    given = [str(name) for name in np.asarray(classes).tolist()]
    if len(set(given)) != len(given):
        raise InputError(f"{where}: two classes have the same name; names are told apart.")
    known = {str(number): name for number, name in enumerate(given)}
    for name in names:
        if name not in known:
            raise InputError(f"{where}: label '{name}', and {len(given)} class names; y numbers them from 0.")
    return tuple(known[name] for name in names)


def _masks(masks: dict[str, Any], count: int, y: NDArray[np.int64] | None) -> dict[str, NDArray[np.bool_]]:
    """The masks where all three are there; of several splits in columns, the first. Labelled nodes only."""
    taken = {}
    for part in ("train", "val", "test"):
        mask = np.asarray(masks.get(part, np.empty(0)))
        mask = mask[:, 0] if mask.ndim == 2 and mask.shape[1] else mask
        if mask.shape != (count,) or mask.dtype != bool:
            return {}
        taken[part] = np.ascontiguousarray(mask if y is None else mask & (y != UNLABELLED))
    return taken
