from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from hypergraph.errors import InputError
from hypergraph.hyperbolicity import delta_hyperbolicity
from tests.hyperbolicity.reference import (
    MODELS,
    brute_force,
    largest_component,
    random_graph,
    shown_by,
    true_distances,
)


def assert_valid(result, graph, truth):
    """The bracket holds the truth, and the witness shows the lower bound."""
    assert result.lower <= truth <= result.upper
    assert result.exact == (result.lower == result.upper)
    sums = shown_by(graph, result.witness)
    assert sums == result.sums
    assert (sums[0] - sums[1]) / 2 == result.lower


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("count", "smallest", "largest"), [(340, 2, 14), (34, 20, 60)])
def test_equals_brute_force(model, count, smallest, largest):
    # 340 (34) of each of 6 models: 2040 (204) graphs, each with 1 and 2 threads.
    rng = np.random.default_rng(len(model))
    for _ in range(count):
        graph = random_graph(model, int(rng.integers(smallest, largest + 1)), rng)
        results = [delta_hyperbolicity(graph, threads=threads) for threads in (1, 2)]
        component = graph.subgraph(nx.node_connected_component(graph, results[0].witness[0]))
        distances = true_distances(component)
        delta = brute_force(component, distances)
        for result in results:
            assert result.exact and result.stopped == ""
            assert result.delta == delta
            assert result.nodes == max(map(len, nx.connected_components(graph))) == len(component)
            assert result.diameter == distances.max() and result.diameter_exact
            assert_valid(result, component, delta)


def cycle_delta(n):
    return n // 4 - 0.5 if n % 4 == 1 else n // 4


NAMED = (
    [(f"cycle-{n}", nx.cycle_graph(n), cycle_delta(n)) for n in (4, 5, 6, 7, 8, 9, 33, 102)]
    + [
        (f"grid-{r}x{c}", nx.grid_2d_graph(r, c), min(r, c) - 1)
        for r, c in ((1, 6), (2, 2), (3, 9), (8, 8), (11, 5))
    ]
    + [(f"complete-{n}", nx.complete_graph(n), 0) for n in (4, 5, 30)]
    + [(f"hypercube-{d}", nx.hypercube_graph(d), d // 2) for d in (2, 3, 4, 5)]
    + [
        ("petersen", nx.petersen_graph(), 0.5),
        ("tree", nx.balanced_tree(3, 4), 0),
        ("path", nx.path_graph(50), 0),
        ("star", nx.star_graph(9), 0),
        ("blocks", nx.barbell_graph(6, 3), 0),
        ("windmill", nx.windmill_graph(4, 5), 0),
        ("lollipop", nx.lollipop_graph(7, 5), 0),
    ]
)


@pytest.mark.parametrize(("graph", "delta"), [case[1:] for case in NAMED], ids=[case[0] for case in NAMED])
def test_known_values(graph, delta):
    if len(graph) <= 40:
        assert brute_force(graph) == delta
    result = delta_hyperbolicity(graph)
    assert result.exact and result.delta == delta
    assert result.relative == pytest.approx(2 * delta / nx.diameter(graph))
    assert_valid(result, graph, delta)


def test_distances_beyond_one_byte():
    graph = nx.cycle_graph(1201)
    result = delta_hyperbolicity(graph)
    assert result.delta == 299.5 and result.exact and result.diameter == 600
    assert_valid(result, graph, 299.5)


def test_many_blocks_take_the_largest_delta():
    # A long necklace: the block that decides is not the one with the most nodes.
    graph = nx.disjoint_union_all(
        [nx.complete_graph(40), nx.cycle_graph(13), nx.cycle_graph(12), nx.path_graph(5)]
    )
    graph.add_edges_from([(0, 40), (41, 53), (54, 65)])
    result = delta_hyperbolicity(graph)
    assert result.delta == 3 == brute_force(graph)
    assert_valid(result, graph, 3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_than_four_nodes(n):
    result = delta_hyperbolicity(nx.complete_graph(n))
    assert (result.delta, result.upper, result.exact, result.nodes) == (0, 0, True, n)
    assert result.diameter == min(n - 1, 1) and result.relative == 0
    assert set(result.witness) <= set(range(n))


def test_component_largest_and_all():
    graph = nx.disjoint_union_all(
        [nx.path_graph(30), nx.cycle_graph(12), nx.cycle_graph(4), nx.empty_graph(3)]
    )
    largest = delta_hyperbolicity(graph)
    assert (largest.delta, largest.nodes, largest.diameter) == (0, 30, 29)
    every = delta_hyperbolicity(graph, component="all")
    assert (every.delta, every.nodes, every.diameter) == (3, 49, 29)
    assert shown_by(graph, every.witness) == every.sums


def test_labels_come_back():
    graph = nx.relabel_nodes(nx.cycle_graph(8), dict(enumerate("abcdefgh")))
    graph.add_edge("z", "a")
    result = delta_hyperbolicity(graph)
    assert set(result.witness) <= set(graph) and result.delta == 2
    assert_valid(result, graph, 2)


def hard_graph():
    """A thick tree of delta 1 and a large diameter: a known hard case, whose bracket closes slowly."""
    return nx.convert_node_labels_to_integers(
        nx.cartesian_product(nx.random_labeled_tree(1000, seed=0), nx.path_graph(2))
    )


@pytest.mark.parametrize("limit", [1e-6, 0.02, 0.1, 0.3, 1.0])
def test_every_time_limit_leaves_a_valid_bracket(limit):
    graph = hard_graph()
    delta_hyperbolicity(nx.petersen_graph())
    result = delta_hyperbolicity(graph, time_limit=limit)
    assert_valid(result, graph, 1)
    assert result.exact or result.stopped == "time limit"


@pytest.mark.parametrize("limit", [1e-6, 0.001, 0.01])
def test_time_limit_brackets_hold_the_truth(limit):
    rng = np.random.default_rng(3)
    for model in MODELS:
        graph = largest_component(random_graph(model, 60, rng))
        assert_valid(delta_hyperbolicity(graph, time_limit=limit), graph, brute_force(graph))


@pytest.mark.parametrize("calls", [1, 4])
def test_interrupt_leaves_a_valid_bracket(calls):
    graph = hard_graph()
    left = calls

    def interrupt(*state):
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    result = delta_hyperbolicity(graph, watch=interrupt)
    assert result.stopped == "interrupted" and not result.exact
    assert_valid(result, graph, 1)


def test_a_failing_watch_leaves_no_thread_behind():
    def fail(*state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delta_hyperbolicity(hard_graph(), watch=fail)
    time.sleep(0.5)
    assert not [thread for thread in threading.enumerate() if thread.name == "delta-search"]


def test_cold_compilation_keeps_the_time_limit(tmp_path):
    code = (
        "import json, networkx as nx\n"
        "from hypergraph.hyperbolicity import delta_hyperbolicity\n"
        "r = delta_hyperbolicity(nx.grid_2d_graph(20, 20), time_limit=0.2)\n"
        "print(json.dumps([r.lower, r.upper, r.exact, r.stopped]), flush=True)\n"
        "import os; os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    lower, upper, exact, stopped = json.loads(done.stdout)
    # Nothing could be compiled in that time: the bracket is what scipy alone knows.
    assert 0 <= lower <= 19 <= upper <= 38
    assert not exact and stopped == "time limit"


def test_memory_limit_gives_a_bracket_and_says_so():
    graph = nx.random_regular_graph(3, 1500, seed=1)
    truth = delta_hyperbolicity(graph)
    result = delta_hyperbolicity(graph, memory_limit=10**6)
    assert "memory" not in truth.stopped and truth.exact
    assert (
        "memory limit" in result.stopped
        and "1500 nodes" in result.stopped
        and "2 MB" in result.stopped
        and "1 MB" in result.stopped
    )
    assert not result.exact and result.diameter_exact
    assert result.upper <= result.diameter / 2
    assert_valid(result, graph, truth.delta)
    # Landmarks see far more than as many random quadruples would.
    assert result.lower >= delta_hyperbolicity(graph, method="sampled", samples=1000).lower


def test_watch_sees_a_closing_bracket():
    seen = []
    delta_hyperbolicity(hard_graph(), time_limit=1.0, watch=lambda *state: seen.append(state))
    lowers, uppers = [s[0] for s in seen], [s[1] for s in seen]
    assert lowers == sorted(lowers) and uppers == sorted(uppers, reverse=True)
    assert len({stage for _, _, stage in seen}) > 1


def test_import_needs_neither_torch_nor_numba():
    code = "import sys, hypergraph.hyperbolicity; assert not {'torch', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exakt"}, "did you mean 'exact'"),
        ({"component": "larges"}, "did you mean 'largest'"),
        ({"time_limit": 0}, "time_limit is 0; it has to be positive"),
        ({"samples": -1}, "samples is -1"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        delta_hyperbolicity(nx.cycle_graph(5), **options)


@pytest.mark.parametrize(("name", "delta", "diameter"), [("cora", 4, 19), ("airport", 2, 12)])
def test_real_graphs(real_data, name, delta, diameter):
    from hypergraph.datasets import load_graph

    graph = load_graph(name, data=real_data(name))
    result = delta_hyperbolicity(graph)
    assert (result.delta, result.diameter, result.exact) == (delta, diameter, True)
    edges = graph.edge_index.numpy()
    adjacency = sp.coo_array((np.ones(edges.shape[1]), edges), shape=(graph.num_nodes, graph.num_nodes))
    assert_valid(result, nx.from_scipy_sparse_array(adjacency), delta)
