"""GraphML, GML and networkx graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

import networkx as nx
import numpy as np

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_graph
from hypergraph.datasets.sources import sha256
from hypergraph.errors import InputError

_FEATURES = ("x", "feat", "feats", "features")
_LABELS = ("y", "label", "class")
_Mention = tuple[str, str, int]  # "node" or "edge", the node that is named, the line


def read_markup(path: Path) -> GraphArrays:
    """Read a GraphML or GML file; both name their nodes before they are used, and each once."""
    gml = path.suffix.lower() == ".gml"
    lines: dict[str, int] = {}
    mentions = list(_gml_mentions(path) if gml else _graphml_mentions(path))
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
    try:
        graph = nx.read_gml(path, label="id") if gml else nx.read_graphml(path)
    except (nx.NetworkXException, ParseError, ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a readable {'GML' if gml else 'GraphML'} file ({error}).") from error
    if gml:
        for attributes in graph.nodes.values():
            attributes.pop("label", None)  # in GML the name of the node, not its class
    arrays = from_networkx(graph, path.stem, where=str(path), lines=lines)
    arrays.provenance |= {"source": "file", "sha256": {path.name: sha256(path)}}
    return arrays


def from_networkx(
    graph: Any, name: str = "networkx", *, where: str = "networkx graph", lines: dict[str, int] | None = None
) -> GraphArrays:
    """The arrays of a networkx graph.

    The class of a node is its attribute ``y`` (or ``label``, ``class``); its features are a list ``x`` (or
    ``feat``, ``features``), or numbers ``x0``, ``x1``, ... Other attributes are not read.
    """
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError(f"{where}: the graph has no nodes.")
    index = {node: i for i, node in enumerate(nodes)}

    def place(row: int) -> str:
        line = (lines or {}).get(str(nodes[row]))
        return f"{where}: node '{nodes[row]}'" if line is None else f"{where}:{line}"

    attributes = [graph.nodes[node] for node in nodes]
    label = next((key for key in _LABELS if key in attributes[0]), None)
    feature = next((key for key in _FEATURES if key in attributes[0]), None)
    numbered = sorted(
        (key for key in attributes[0] if re.fullmatch(r"x\d+", key)), key=lambda key: int(key[1:])
    )
    x = y = None
    if feature is not None:
        x = _matrix([np.atleast_1d(_take(row, feature, place(i))) for i, row in enumerate(attributes)], place)
    elif numbered:
        x = _matrix(
            [[_take(row, key, place(i)) for key in numbered] for i, row in enumerate(attributes)], place
        )
    if label is not None:
        values = [_take(row, label, place(i)) for i, row in enumerate(attributes)]
        for i, value in enumerate(values):
            if not isinstance(value, (int, float, np.number)):
                raise InputError(f"{place(i)}: label '{value}' is not an integer; number the classes from 0.")
        y = np.array(values)
    pairs = [(index[u], index[v]) for u, v in graph.edges()]
    edge_index = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    arrays = checked_graph(name, edge_index, num_nodes=len(nodes), x=x, y=y, where=where, node=place)
    names = [str(node) for node in nodes]
    arrays.provenance = {"source": where}
    if names != [str(i) for i in range(len(nodes))]:
        arrays.provenance["node_ids"] = names
    return arrays


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


def _graphml_mentions(path: Path) -> list[_Mention]:
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
        raise InputError(f"{path}:{parser.CurrentLineNumber}: a GraphML file with a DOCTYPE is not read.")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise InputError(f"{path}:{error.lineno}: not well-formed GraphML ({error}).") from error
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
