from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hypergraph.hyperbolicity.bracket import STOP, Bracket, Team
from hypergraph.hyperbolicity.diameter import DiameterSearch
from hypergraph.hyperbolicity.distances import centre, depths, sweep
from hypergraph.hyperbolicity.graph import as_graph
from tests.hyperbolicity.reference import true_distances

GRAPHS = {
    "grid": nx.grid_2d_graph(9, 31),
    "small world": nx.connected_watts_strogatz_graph(400, 4, 0.1, seed=0),
    "tree": nx.random_labeled_tree(300, seed=0),
    "cycle": nx.cycle_graph(700),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_sweep_and_depths_equal_networkx(name):
    graph = GRAPHS[name]
    read = as_graph(graph)
    expected = true_distances(graph)
    kind = np.uint16 if expected.max() > 255 else np.uint8
    rng = np.random.default_rng(0)
    for count in (1, 63, 64, 65, 200, 256):
        sources = rng.permutation(len(graph))[:count].astype(np.int32)
        strip = np.zeros((len(graph), count + 3), kind)
        largest = sweep(read.indptr, read.indices, sources, strip, 3, np.zeros(2, np.int64))
        assert (strip[:, 3:] == expected[:, sources]).all()
        assert largest == expected[:, sources].max()
    assert (depths(read.indptr, read.indices, 5) == expected[5]).all()


def test_sweep_obeys_the_stop_flag():
    read = as_graph(nx.path_graph(10))
    shared = np.zeros(2, np.int64)
    shared[STOP] = 1
    nothing = np.empty((10, 0), np.uint8)
    assert sweep(read.indptr, read.indices, np.array([0], np.int32), nothing, 0, shared) == -1


def test_depths_marks_what_is_out_of_reach():
    read = as_graph(nx.disjoint_union(nx.path_graph(3), nx.path_graph(2)), component="all")
    assert depths(read.indptr, read.indices, 0).tolist() == [0, 1, 2, -1, -1]
    middle, depth = centre(read.indptr, read.indices, 0)
    assert middle == 1 and depth.max() == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", GRAPHS)
def test_diameter(name, threads):
    graph = GRAPHS[name]
    bracket = Bracket(0, 10**6, (0, 0, 0, 0), diameter_upper=10**6)
    search = DiameterSearch(as_graph(graph), bracket, Team(threads))
    search.run(most=0)
    truth = int(true_distances(graph).max())
    assert bracket.diameter_lower <= truth <= bracket.diameter_upper
    search.run()
    assert bracket.diameter_lower == truth == bracket.diameter_upper
    assert bracket.upper == truth
