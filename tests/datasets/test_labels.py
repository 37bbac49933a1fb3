"""Labels, weights and graphs as people have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.datasets import KarateClub

from hypergraph.datasets import load_graph, node_split
from hypergraph.datasets.arrays import simplify
from hypergraph.datasets.labels import encode_labels
from hypergraph.errors import InputError
from hypergraph.tasks import graph as graphs
from hypergraph.tasks.config import NodeConfig


@pytest.mark.parametrize(
    ("given", "classes", "y"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (["10", "9", "x"], ("9", "10", "x"), [1, 0, 2]),
        ([7, -3, 7], ("-3", "7"), [1, 0, 1]),
        ([10**9, 5, -1], ("5", "1000000000"), [1, 0, -1]),
        ([1.0, 3.0, np.nan], ("1", "3"), [0, 1, -1]),
        ([True, False, True], ("False", "True"), [1, 0, 1]),
        (["1.0", "1", "2"], ("1", "2"), [0, 0, 1]),
        (["a", "", "nan"], ("a",), [0, -1, -1]),
        (["a", None, float("nan")], ("a",), [0, -1, -1]),
        ([0, 0, 1], ("0", "1"), [0, 0, 1]),
    ],
)
def test_labels(given: list[Any], classes: tuple[str, ...], y: list[int]) -> None:
    values = np.array(given, dtype=object) if None in given else np.array(given)
    found, names = encode_labels(values, "here", str)
    assert (names, found.tolist()) == (classes, y)


@pytest.mark.parametrize("given", [[0.5, 1.0], ["0.5", "1"], [np.inf, 1.0]])
def test_a_number_that_is_not_whole_is_no_class(given: list[Any]) -> None:
    with pytest.raises(InputError, match="is not a whole number"):
        encode_labels(np.array(given), "here", str)


def test_weights_duplicates_and_directions(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("source;target;weight\na;b;2\nb;a;4\nb;c;1\nb;c;3\nc;c;9\n")
    data = load_graph(path)
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.edge_weight.tolist() == [3, 3, 2, 2]  # the mean of what is given for an edge
    assert data.changes[:3] == [
        "1 edge in one direction only goes both ways",
        "1 repeated edge dropped",
        "1 self-loop dropped",
    ]
    config = NodeConfig(dataset="x", encoder="gcn")
    assert graphs.edge_weights(config, data, data.edge_index[:, :2]).tolist() == [3, 3]  # type: ignore[union-attr]
    assert graphs.edge_weights(NodeConfig(dataset="x", weights=False), data, data.edge_index) is None
    assert graphs.edge_weights(NodeConfig(dataset="x", encoder="mlp"), data, data.edge_index) is None
    path.write_text("a b -1\nb c 1\n")
    with pytest.raises(InputError, match="a weight below 0, which no encoder can use; add --no-weights"):
        graphs.edge_weights(config, load_graph(path), load_graph(path).edge_index)


def test_simplify_counts_what_it_drops() -> None:
    random = np.random.default_rng(0)
    source, target = random.integers(0, 9, (2, 60))
    weights = random.random(60)
    simple = simplify(source, target, 9, weights)
    pairs: dict[tuple[int, int], list[float]] = {}
    arcs = set(zip(source.tolist(), target.tolist()))
    for u, v, w in zip(source.tolist(), target.tolist(), weights):
        if u != v:
            pairs.setdefault((min(u, v), max(u, v)), []).append(w)
    assert list(map(tuple, simple.edges.T.tolist())) == sorted(pairs)
    np.testing.assert_allclose(simple.weights, [np.mean(pairs[pair]) for pair in sorted(pairs)], rtol=1e-6)  # type: ignore[arg-type]
    assert simple.loops == int((source == target).sum())
    assert simple.repeated == 60 - len(arcs) - simple.loops + sum(u == v for u, v in arcs)
    assert simple.one_way == sum((v, u) not in arcs or (u, v) not in arcs for u, v in pairs)


def test_unlabelled_nodes_are_in_no_part(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), y=np.arange(40) % 4 - 1)
    data = load_graph(tmp_path / "g.npz")
    for kind in ("strict", "random", "hgcn"):
        split = node_split(data, kind)
        for part in (split.train, split.val, split.test):
            assert (data.y[part] >= 0).all()


def test_graphs_from_python() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "w": [1.0, 2.0], "when": [1, 2]})
    data = load_graph(frame)
    assert data.node_ids == ["a", "b", "c"] and data.edge_weight.tolist() == [1, 1, 2, 2]
    assert "columns not read: when" in data.changes
    edge_index = torch.tensor([[0, 1], [1, 2]])
    matrix = sp.coo_matrix((np.ones(2), edge_index.numpy()), shape=(3, 3))
    for graph in (edge_index, edge_index.numpy(), matrix, matrix.tocsr()):
        assert load_graph(graph).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert load_graph(KarateClub()).num_nodes == 34
