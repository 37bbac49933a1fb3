"""GraphML, GML, GEXF and networkx graphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx as nx
import numpy as np

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_graph
from hypergraph.datasets.sources import sha256
from hypergraph.errors import InputError, short
from hypergraph.files import reading, regular_file
from hypergraph.limits import require

_FEATURES = ("x", "feat", "feats", "features")
_LABELS = ("y", "label", "class", "value")
_Mention = tuple[str, str, int]  # "node" or "edge", the node that is named, the line
_READERS = {".graphml": "GraphML", ".gml": "GML", ".gexf": "GEXF"}


def read_markup(path: Path) -> GraphArrays:
    """Read a GraphML, GML or GEXF file; all name their nodes before they are used, and each once."""
    suffix = path.suffix.lower()
    regular_file(path)
    with reading(path, f"a {_READERS[suffix]} file"):
        require(20 * path.stat().st_size, str(path))  # networkx keeps a dictionary for every node and edge
        lines = _checked_mentions(
            path, list(_gml_mentions(path) if suffix == ".gml" else _xml_mentions(path))
        )
        if suffix == ".gml":
            graph = nx.read_gml(path, label="id")
        else:
            graph = nx.read_graphml(path) if suffix == ".graphml" else nx.read_gexf(path)
        names = None if suffix == ".graphml" else _take_names(graph)
        arrays = from_networkx(graph, path.stem, where=str(path), lines=lines, names=names)
    arrays.provenance = {"source": "file", "sha256": {path.name: sha256(path)}}
    return arrays


def _checked_mentions(path: Path, mentions: list[_Mention]) -> dict[str, int]:
    """The line of every node, if each is there once and no edge names another."""
    lines: dict[str, int] = {}
    for kind, node, line in mentions:
        if kind == "node" and node in lines:
            raise InputError(
                f"{path}:{line}: node '{node}' is there twice, first on line {lines[node]}; "
                "an id names one node."
            )
        if kind == "node":
            lines[node] = line
    for _, node, line in mentions:
        if node not in lines:
            raise InputError(f"{path}:{line}: node '{node}' is unknown; no node of the file has this id.")
    return lines


def _take_names(graph: Any) -> list[str] | None:
    """In GML and GEXF a node's label is its name; where nodes share labels, those are classes."""
    labels = [str(attributes.get("label", "")) for attributes in graph.nodes.values()]
    count = Counter(labels)
    if len(count) < len(labels) or "" in count:
        for node, attributes in graph.nodes.items():
            # A label has to be there in GEXF: networkx writes the id where a node has none.
            if str(node) == attributes.get("label") and count[str(node)] == 1:
                del attributes["label"]
        return None
    for attributes in graph.nodes.values():
        del attributes["label"]
    return labels


def from_networkx(
    graph: Any,
    name: str = "networkx",
    *,
    where: str = "networkx graph",
    lines: dict[str, int] | None = None,
    names: list[str] | None = None,
) -> GraphArrays:
    """The arrays of a networkx graph.

    The class of a node is its attribute ``y`` (or ``label``, ``class``, ``value``), and it may have none; its
    features are a list ``x`` (or ``feat``, ``features``), or numbers ``x0``, ``x1``, ... An edge may have a
    ``weight``. Other attributes are not read, which ``changes`` says.
    """
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError(f"{where}: the graph has no nodes.")
    ids = names or [str(node) for node in nodes]
    if len(set(ids)) < len(ids):
        raise InputError(f"{where}: two nodes are called the same; an id names one node.")
    index = {node: i for i, node in enumerate(nodes)}

    def place(row: int) -> str:
        line = (lines or {}).get(str(nodes[row]))
        return f"{where}: node '{ids[row]}'" if line is None else f"{where}:{line}"

    attributes = [graph.nodes[node] for node in nodes]
    present = {key for row in attributes for key in row if isinstance(key, str)}
    label = next((key for key in _LABELS if key in present), None)
    feature = next((key for key in _FEATURES if key in present), None)
    numbered = sorted(
        (key for key in present if re.fullmatch(r"x\d{1,9}", key)), key=lambda key: int(key[1:])
    )
    x = y = None
    if feature is not None:
        x = _matrix([np.atleast_1d(_take(row, feature, place(i))) for i, row in enumerate(attributes)], place)
    elif numbered:
        x = _matrix(
            [[_take(row, key, place(i)) for key in numbered] for i, row in enumerate(attributes)], place
        )
    if label is not None:
        y = np.empty(len(nodes), dtype=object)
        y[:] = [_label(row.get(label), place, i) for i, row in enumerate(attributes)]
    left = sorted(present - {label, feature, *(() if feature else numbered)})
    ends = [(index[u], index[v], given) for u, v, given in graph.edges(data="weight")]
    weighted = any(given is not None for _, _, given in ends)
    return checked_graph(
        name,
        np.array([(u, v) for u, v, _ in ends], dtype=np.int64).reshape(-1, 2).T,
        num_nodes=len(nodes),
        x=x,
        y=y,
        weights=np.array([_edge_weight(given, where) for _, _, given in ends]) if weighted else None,
        ids=None if ids == [str(i) for i in range(len(nodes))] else ids,
        columns=tuple(numbered),
        directed=graph.is_directed(),
        changes=[f"attributes not read: {short(', '.join(left))}"] if left else None,
        where=where,
        node=place,
    )


def _label(value: Any, place: Any, row: int) -> Any:
    if value is not None and not isinstance(value, (str, bytes, int, float, bool, np.generic)):
        raise InputError(f"{place(row)}: the label is a {type(value).__name__}, where one class is needed.")
    return value.item() if isinstance(value, np.generic) else value


def _edge_weight(given: Any, where: str) -> float:
    try:
        return 1.0 if given is None else float(given)
    except (TypeError, ValueError):
        raise InputError(f"{where}: the weight '{given}' of an edge is not a number.") from None


def _take(attributes: dict[str, Any], key: str, place: str) -> Any:
    if key not in attributes:
        raise InputError(f"{place}: this node has no '{key}', which others have; give it to all of them.")
    return attributes[key]


def _matrix(rows: list[Any], place: Any) -> Any:
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(f"{place(i)}: {len(row)} features, where the first node has {len(rows[0])}.")
        for value in row:
            if not isinstance(value, (int, float, np.number)):
                raise InputError(f"{place(i)}: feature '{value}' is not a number.")
    return np.array(rows, dtype=np.float64)


def _xml_mentions(path: Path) -> list[_Mention]:
    """Every node and every end of an edge, with its line: what networkx does not tell."""
    found: list[_Mention] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "node":
            found.append(("node", attributes.get("id", ""), parser.CurrentLineNumber))
        elif tag == "edge":
            for end in ("source", "target"):
                found.append(("edge", attributes.get(end, ""), parser.CurrentLineNumber))

    def refuse(*_: object) -> None:
        raise InputError(f"{path}:{parser.CurrentLineNumber}: a file with a DOCTYPE is not read.")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise InputError(f"{path}:{error.lineno}: not well-formed XML ({error}).") from error
    return found


def _gml_mentions(path: Path) -> Iterator[_Mention]:
    text = path.read_text(encoding="utf-8", errors="replace")
    block = ""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = re.sub(r'"[^"]*"', "", line)
        for match in re.finditer(r"\b(?:(node|edge)\s*\[|(id|source|target)\s+(-?\d+))", bare):
            block = match[1] or block
            if match[2] == "id" and block == "node":
                yield "node", match[3], number
                block = ""  # an id further in is not the node's
            elif match[2] in ("source", "target") and block == "edge":
                yield "edge", match[3], number
