from __future__ import annotations

import hashlib
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from hypergraph.datasets import NodeSplit, load_graph, node_split, prepare_features
from hypergraph.datasets.simulated import (
    LINK,
    NODE,
    Epidemic,
    draw_susceptible,
    random_tree,
    simulate_disease,
    spread,
)
from hypergraph.datasets.stable_random import StableRandom


@pytest.mark.parametrize(("task", "size"), [("node", (1044, 1000)), ("link", (2665, 11))])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_published_sizes_for_every_seed(task: str, size: tuple[int, int], seed: int) -> None:
    graph = simulate_disease(task, seed)
    assert graph.x.shape == size
    assert graph.y is not None
    tree = nx.Graph(graph.edges.T.tolist())
    assert tree.number_of_nodes() == size[0]
    assert nx.is_tree(tree)
    low, high = (NODE if task == "node" else LINK).attack_rate
    assert low <= graph.y.mean() <= high
    infected = tree.subgraph(graph.y.nonzero()[0].tolist())
    assert 0 in infected
    assert nx.is_connected(infected)  # the disease went from parent to child


def test_the_default_never_changes() -> None:
    digests = []
    for task in ("node", "link"):
        graph = simulate_disease(task)
        x = graph.x.toarray() if task == "node" else graph.x
        content = (
            graph.edges.astype("<i8").tobytes() + x.astype("<f4").tobytes() + graph.y.astype("<i8").tobytes()
        )
        digests.append(hashlib.sha256(content).hexdigest()[:16])
    assert digests == ["9f932432ab6f34b8", "98a2e20b386aee19"]


def test_the_parameters_are_those_of_the_epidemic() -> None:
    epidemic = Epidemic(num_nodes=50_000)
    random = StableRandom(0, "parameters")
    parent = random_tree(epidemic, random)
    children = np.bincount(parent[1:])[:-1]
    assert (children.min(), children.max(), round(children.mean(), 1)) == (2, 6, 4.0)
    susceptible = draw_susceptible(epidemic, parent, random)
    assert abs((susceptible == susceptible[parent])[1:].mean() - (0.5 + 0.5 * (0.4**2 + 0.6**2))) < 0.03
    # With everybody susceptible, a child of an infected node escapes only if its parent recovers first.
    infected = spread(epidemic, parent, np.ones(50_000, dtype=bool), random)
    well = sum((1 - 0.95) ** t * 0.95 ** (t - 1) * 0.05 for t in range(1, 50))
    assert abs(1 - infected[infected[parent]].mean() - well) < 0.002
    nobody = spread(epidemic, parent, np.arange(50_000) == 0, random)
    assert nobody.sum() == 1


def test_markers_carry_susceptibility_and_no_more() -> None:
    graph = simulate_disease("node", 4)
    x = graph.x.toarray()
    risk, protective = x[:, :500].mean(1), x[:, 500:].mean(1)
    assert abs(x.mean() - NODE.marker_rate) < 0.002
    share = risk / (risk + protective)
    # All who fell ill were susceptible; of the others a few were, and none of the markers is certain.
    assert abs(share[graph.y == 1].mean() - (1 + NODE.marker_signal) / 2) < 0.01
    assert share[graph.y == 1].min() < 0.5 < share[graph.y == 0].max()
    assert share[graph.y == 0].mean() < 0.5


class Network(nn.Module):
    """Two layers of 16 and a linear head, over the graph or not."""

    def __init__(self, layer: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.first, self.second, self.head = layer(1000, 16), layer(16, 16), nn.Linear(16, 2)

    def forward(self, x: Tensor, *graph: Tensor) -> Tensor:
        return self.head(self.second(self.first(x, *graph).relu(), *graph).relu())


def accuracy(data: Data, split: NodeSplit, layer: Callable[[int, int], nn.Module], *graph: Tensor) -> float:
    torch.manual_seed(0)
    model = Network(layer)
    x = 30 * prepare_features(data, "node").to_dense()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-3)
    for _ in range(100):
        optimiser.zero_grad()
        out = model(x, *graph)
        nn.functional.cross_entropy(out[split.train], data.y[split.train]).backward()
        optimiser.step()
    return float((out.argmax(1) == data.y)[split.test].double().mean())


def test_a_graph_model_does_clearly_better_than_an_mlp() -> None:
    data = load_graph("disease")
    split = node_split(data, "hgcn", seed=1)  # half of its test nodes are infected
    graph, mlp = accuracy(data, split, GCNConv, data.edge_index), accuracy(data, split, nn.Linear)
    assert graph > 0.75
    assert graph > mlp + 0.15
