"""An independent delta: every pair of pairs, on networkx distances; and random graphs to try it on."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray


def true_distances(graph: nx.Graph) -> NDArray[np.int64]:
    return nx.floyd_warshall_numpy(graph).astype(np.int64)


def brute_force(graph: nx.Graph, distances: NDArray[np.int64] | None = None) -> float:
    """Delta of a connected graph by the definition."""
    if distances is None:
        distances = true_distances(graph)
    if len(graph) < 4:
        return 0.0
    i, j = np.triu_indices(len(graph), 1)
    best = 0
    for x, y in zip(i, j):
        others = np.maximum(distances[x, i] + distances[y, j], distances[x, j] + distances[y, i])
        best = max(best, int((distances[x, y] + distances[i, j] - others).max()))
    return best / 2


def shown_by(graph: nx.Graph, witness: tuple[Any, Any, Any, Any]) -> tuple[int, int, int]:
    """The three pair sums of four nodes, largest first."""
    a, b, c, d = witness

    def far(u: Any, v: Any) -> int:
        return nx.shortest_path_length(graph, u, v)

    sums = sorted((far(a, b) + far(c, d), far(a, c) + far(b, d), far(a, d) + far(b, c)), reverse=True)
    return sums[0], sums[1], sums[2]


def largest_component(graph: nx.Graph) -> nx.Graph:
    return graph.subgraph(max(nx.connected_components(graph), key=len))


def random_graph(model: str, n: int, rng: np.random.Generator) -> nx.Graph:
    seed = int(rng.integers(2**31))
    if model == "gnp":
        return nx.gnp_random_graph(n, rng.uniform(0.05, 0.6), seed=seed)
    if model == "barabasi-albert":
        return nx.barabasi_albert_graph(n, int(rng.integers(1, min(n, 4))), seed=seed)
    if model == "watts-strogatz":
        graph = nx.watts_strogatz_graph(n, min(n - 1, 4), 0.2, seed=seed)
        graph.add_nodes_from(range(n))  # networkx 3.2 forgets those without edges
        return graph
    if model == "geometric":
        return nx.random_geometric_graph(n, rng.uniform(0.2, 0.6), seed=seed)
    base = nx.cycle_graph(n) if model == "cycle" else nx.random_labeled_tree(n, seed=seed)
    base.add_edges_from(rng.integers(n, size=(int(rng.integers(5)), 2)).tolist())
    return base


MODELS = ["gnp", "barabasi-albert", "watts-strogatz", "geometric", "cycle", "tree"]
