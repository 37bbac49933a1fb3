from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from hypergraph import Lorentz, viz
from hypergraph.errors import InputError
from hypergraph.viz.sarkar import sarkar, spanning_tree


def edges_of(graph):
    return np.array(graph.edges, dtype=np.int64).T.reshape(2, -1)


def test_every_edge_has_the_length_and_other_pairs_are_farther():
    graph = nx.balanced_tree(3, 4)
    points, parent = sarkar(edges_of(graph), len(graph), length=1.5)
    unit, x = Lorentz().double(), torch.from_numpy(points)
    child = np.flatnonzero(parent >= 0)
    assert len(child) == len(graph) - 1
    lengths = unit.dist(x[child], x[parent[child]])
    torch.testing.assert_close(lengths, torch.full_like(lengths, 1.5))
    apart = unit.dist(x[:, None], x[None]).numpy()
    steps = np.asarray(nx.floyd_warshall_numpy(graph))
    # a long enough edge makes a tree metric, up to a bounded factor
    ratio = apart[steps > 0] / (1.5 * steps[steps > 0])
    assert ratio.min() > 0.2 and ratio.max() <= 1 + 1e-9


def test_longer_edges_distort_less():
    graph = nx.balanced_tree(2, 4)
    steps = np.asarray(nx.floyd_warshall_numpy(graph))
    found = []
    for length in (1.0, 2.0, 4.0):
        x = torch.from_numpy(sarkar(edges_of(graph), len(graph), length)[0])
        apart = Lorentz().double().dist(x[:, None], x[None]).numpy()
        found.append((1 - apart[steps > 0] / (length * steps[steps > 0])).max())
    assert found[0] > found[1] > found[2]


def test_root_is_the_middle_and_other_components_hang_at_it():
    path = edges_of(nx.path_graph(7))
    parent, order = spanning_tree(np.concatenate([path, [[7], [8]]], 1), 10)
    assert order[0] == 3 and parent[3] == -1
    assert parent[7] == 3 and parent[8] == 7 and parent[9] == 3
    assert sorted(order) == list(range(10))


def test_one_node_and_none():
    points, parent = sarkar(np.empty((2, 0), dtype=np.int64), 1)
    np.testing.assert_array_equal(points, [[1.0, 0.0, 0.0]])
    assert parent.tolist() == [-1]
    with pytest.raises(InputError, match="no nodes"):
        sarkar(np.empty((2, 0), dtype=np.int64), 0)


def test_tree_takes_and_returns_an_ax():
    ax = viz.disk()
    assert viz.tree(edges_of(nx.star_graph(4)), 5, ax) is ax
    assert len(ax.collections[-1].get_offsets()) == 5


@pytest.mark.parametrize("length", [0.0, -1.0, 1e300, float("inf"), float("nan")])
def test_a_length_that_overflows_is_refused(length: float) -> None:
    with pytest.raises(InputError, match="a length above 0 and, in this tree, at most 300"):
        sarkar(np.array([[0, 1], [1, 2]]), 3, length)
    assert np.isfinite(sarkar(np.array([[0, 1], [1, 2]]), 3, 300.0)[0]).all()
