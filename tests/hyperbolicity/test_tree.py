from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hypergraph.hyperbolicity import delta_hyperbolicity
from hypergraph.hyperbolicity.tree import chain, chain_error
from tests.hyperbolicity.reference import MODELS, brute_force, largest_component, random_graph, true_distances

SHARED = np.zeros(2, np.int64)


def widest_chains(products):
    """The smallest product on the best chain between any two nodes, by Floyd and Warshall's recursion."""
    best = products.copy()
    for z in range(len(best)):
        best = np.maximum(best, np.minimum(best[:, z : z + 1], best[z : z + 1, :]))
    return best


@pytest.mark.parametrize("model", MODELS)
def test_error_is_that_of_the_approximating_tree_and_bounds_delta(model):
    rng = np.random.default_rng(7)
    for _ in range(20):
        graph = largest_component(random_graph(model, int(rng.integers(4, 40)), rng))
        distances = true_distances(graph)
        n = len(distances)
        base = int(rng.integers(n))
        order, gaps = chain(distances.astype(np.uint8), base, SHARED)
        assert sorted(order) == list(range(n)) and order[0] == base
        error = max(
            chain_error(distances.astype(np.uint8), order, gaps, first, min(first + 5, n), SHARED)
            for first in range(0, n, 5)
        )
        products = distances[base][:, None] + distances[base][None, :] - distances
        assert error == (widest_chains(products) - products).max()
        assert 2 * brute_force(graph, distances) <= 2 * error


def test_a_thick_tree_is_bracketed_tightly():
    # The pairs alone, from the farthest down, would leave the upper bound near half of the diameter for long.
    graph = nx.cartesian_product(nx.random_labeled_tree(1500, seed=0), nx.path_graph(2))

    def stop_at_the_pairs(lower, upper, stage):
        if stage.startswith("pairs"):
            raise KeyboardInterrupt

    result = delta_hyperbolicity(graph, watch=stop_at_the_pairs)
    assert (result.lower, result.upper, result.stopped) == (1, 2, "interrupted")
    assert result.diameter > 60
