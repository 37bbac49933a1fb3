from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
import torch

from hypergraph.errors import InputError
from hypergraph.hyperbolicity import delta_from_distances, delta_hyperbolicity
from hypergraph.hyperbolicity.sampled import STRIP
from tests.hyperbolicity.reference import shown_by


def test_sampled_is_a_lower_bound_that_says_how_it_came():
    graph = nx.connected_watts_strogatz_graph(200, 4, 0.1, seed=0)
    truth = delta_hyperbolicity(graph)
    result = delta_hyperbolicity(graph, method="sampled", samples=3000, seed=4)
    assert (result.method, result.samples, result.seed) == ("sampled", 3000, 4)
    assert result.delta == result.lower <= truth.delta <= result.upper and not result.exact
    assert shown_by(graph, result.witness) == result.sums
    assert result.diameter == truth.diameter
    assert result.mean_interval[0] < result.mean < result.mean_interval[1] < result.lower
    again = delta_hyperbolicity(graph, method="sampled", samples=3000, seed=4, threads=1)
    assert (again.mean, again.witness) == (result.mean, result.witness)
    assert delta_hyperbolicity(graph, method="sampled", samples=3000, seed=5).mean != result.mean


def test_mean_and_interval_of_all_quadruples():
    graph = nx.cycle_graph(11)
    far = nx.floyd_warshall_numpy(graph).astype(int)
    values = []
    for a, b, c, d in product(range(11), repeat=4):
        if len({a, b, c, d}) == 4:
            sums = sorted((far[a, b] + far[c, d], far[a, c] + far[b, d], far[a, d] + far[b, c]))
            values.append((sums[2] - sums[1]) / 2)
    result = delta_hyperbolicity(graph, method="sampled", samples=40_000)
    low, high = result.mean_interval
    assert low < np.mean(values) < high
    assert high - low == pytest.approx(2 * 1.96 * np.std(values) / 200, rel=0.05)


def test_quadruples_without_paths_are_left_out():
    graph = nx.disjoint_union(nx.cycle_graph(8), nx.cycle_graph(8))
    result = delta_hyperbolicity(graph, method="sampled", component="all", samples=2000)
    assert 0 < result.samples < 1000
    assert shown_by(graph, result.witness) == result.sums


def test_sampling_stops_at_the_time_limit():
    graph = nx.random_regular_graph(3, 3000, seed=0)
    result = delta_hyperbolicity(graph, method="sampled", samples=200_000, time_limit=1e-3)
    assert result.samples < 200_000 and result.stopped == "time limit"
    assert result.lower <= result.upper


def base_point_by_definition(matrix, base):
    n = len(matrix)
    product_at = (matrix[base][:, None] + matrix[base][None, :] - matrix) / 2
    return max(
        min(product_at[x, z], product_at[z, y]) - product_at[x, y] for x, y, z in product(range(n), repeat=3)
    )


@pytest.mark.parametrize("base", [0, 3])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_base_point_estimate_of_a_point_cloud(base, kind):
    points = np.random.default_rng(0).normal(size=(23, 5))
    matrix = np.linalg.norm(points[:, None] - points[None, :], axis=2).astype(kind)
    result = delta_from_distances(torch.from_numpy(matrix), base=base)
    assert result.delta == pytest.approx(base_point_by_definition(matrix, base), rel=1e-5)
    assert (result.sums[0] - result.sums[1]) / 2 == pytest.approx(result.delta, rel=1e-5)
    assert result.relative == pytest.approx(2 * result.delta / matrix.max())
    every = max(delta_from_distances(matrix, base=i).delta for i in range(23))
    assert result.lower <= every <= result.upper and not result.exact


def test_base_points_together_give_delta_of_a_graph():
    graph = nx.grid_2d_graph(4, 5)
    matrix = nx.floyd_warshall_numpy(graph)
    assert max(delta_from_distances(matrix, base=i).delta for i in range(20)) == 3
    tree = nx.floyd_warshall_numpy(nx.random_labeled_tree(70, seed=0))
    assert delta_from_distances(tree).delta == 0 and delta_from_distances(tree).exact


def test_base_point_over_several_strips():
    points = np.random.default_rng(1).normal(size=(STRIP + 70, 2))
    matrix = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    product_at = (matrix[0][:, None] + matrix[0][None, :] - matrix) / 2
    expected = max(float((np.minimum(row, product_at).max(axis=1) - row).max()) for row in product_at)
    assert delta_from_distances(matrix).delta == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.array([[0, -1.0], [-1.0, 0]]), "not negative"),
        (np.array([[0, np.nan], [np.nan, 0]]), "finite"),
        (np.array([[0, 1.0], [2.0, 0]]), "symmetric"),
        (np.ones((2, 2)), "zeros on its diagonal"),
    ],
)
def test_what_is_no_matrix_of_distances(matrix, message):
    with pytest.raises(InputError, match=message):
        delta_from_distances(matrix)
    with pytest.raises(InputError, match="base is 7"):
        delta_from_distances(np.zeros((2, 2)), base=7)
