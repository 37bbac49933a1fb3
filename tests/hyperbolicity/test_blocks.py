from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from hypergraph.hyperbolicity.blocks import biconnected, clustered, induced
from hypergraph.hyperbolicity.graph import as_graph
from tests.hyperbolicity.reference import MODELS, random_graph


@pytest.mark.parametrize("model", MODELS)
def test_biconnected_equals_networkx(model):
    rng = np.random.default_rng(0)
    for _ in range(30):
        graph = random_graph(model, int(rng.integers(2, 40)), rng)
        read = as_graph(graph, component="all")
        nodes, starts = biconnected(read.indptr, read.indices)
        ours = sorted(sorted(nodes[a:b].tolist()) for a, b in pairwise(starts))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        assert ours == sorted(sorted(block) for block in nx.biconnected_components(graph))


def test_a_deep_graph_needs_no_recursion():
    read = as_graph(nx.path_graph(20_000))
    assert len(biconnected(read.indptr, read.indices)[1]) == 20_000


def test_induced_subgraph_in_the_given_order():
    graph = nx.grid_2d_graph(4, 5)
    read = as_graph(graph)
    chosen = np.array([7, 3, 2, 8, 12], np.int32)
    position = np.full(20, -1, np.int32)
    indptr, indices = induced(read.indptr, read.indices, chosen, position)
    expected = nx.to_numpy_array(graph)[np.ix_(chosen, chosen)]
    dense = np.zeros((5, 5))
    for u in range(5):
        dense[u, indices[indptr[u] : indptr[u + 1]]] = 1
    assert (dense == expected).all() and (position == -1).all()


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(40, 40), nx.path_graph(700), nx.complete_graph(300)])
def test_clusters_are_an_order_of_all_nodes(graph):
    read = as_graph(graph)
    assert sorted(clustered(read.indptr, read.indices)) == list(range(len(graph)))
