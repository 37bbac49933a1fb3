from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from hypergraph.errors import InputError
from hypergraph.hyperbolicity import delta_hyperbolicity
from hypergraph.hyperbolicity.graph import as_graph

SQUARE = np.array([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])


@pytest.mark.parametrize(
    "graph",
    [
        SQUARE,
        SQUARE.tolist(),
        torch.from_numpy(SQUARE),
        Data(edge_index=torch.from_numpy(SQUARE), num_nodes=4),
        sp.coo_matrix((np.ones(8), SQUARE)),
        sp.csr_array((np.ones(8, bool), SQUARE)),
        nx.cycle_graph(4),
        nx.cycle_graph(4).to_directed(),
        nx.MultiGraph(nx.cycle_graph(4)),
        from_networkx(nx.cycle_graph(4)),
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_every_kind_of_graph(graph):
    read = as_graph(graph)
    assert (read.num_nodes, read.num_edges) == (4, 4)
    assert delta_hyperbolicity(graph).delta == 1


def test_loops_and_repeated_edges_are_dropped():
    doubled = np.concatenate([SQUARE, SQUARE, [[2], [2]]], axis=1)
    assert as_graph(doubled).num_edges == 4
    # More repeats than a byte counts.
    assert as_graph(np.tile(SQUARE, 128)).num_edges == 4


@pytest.mark.parametrize("graph", [SQUARE[:, ::2], nx.cycle_graph(4, create_using=nx.DiGraph)])
def test_directed_is_symmetrised_only_if_asked(graph):
    with pytest.raises(InputError, match=r"directed.*symmetrize=True"):
        delta_hyperbolicity(graph)
    assert delta_hyperbolicity(graph, symmetrize=True).delta == 1


def weighted_networkx():
    graph = nx.cycle_graph(4)
    graph.edges[0, 1]["weight"] = 2.5
    return graph


@pytest.mark.parametrize(
    "graph",
    [
        weighted_networkx(),
        Data(edge_index=torch.from_numpy(SQUARE), weight=torch.arange(8.0)),
        sp.coo_matrix((np.full(8, 0.5), SQUARE)),
        Data(edge_index=torch.from_numpy(SQUARE), edge_weight=torch.arange(8.0)),
        Data(edge_index=torch.from_numpy(SQUARE), edge_attr=torch.rand(8, 1)),
    ],
    ids=["networkx", "weight", "scipy", "edge_weight", "edge_attr"],
)
def test_weighted_is_refused(graph):
    with pytest.raises(InputError, match=r"weighted.*drop the weights"):
        delta_hyperbolicity(graph)


def test_edge_features_and_unit_weights_are_no_weights():
    edges = torch.from_numpy(SQUARE)
    assert as_graph(Data(edge_index=edges, edge_attr=torch.rand(8, 3), num_nodes=4)).num_edges == 4
    assert as_graph(Data(edge_index=edges, edge_weight=torch.ones(8), num_nodes=4)).num_edges == 4


def test_largest_component_keeps_its_labels():
    graph = nx.Graph([("a", "b"), ("u", "v"), ("v", "w")])
    assert list(as_graph(graph).labels) == ["u", "v", "w"]
    assert list(as_graph(graph, component="all").labels) == ["a", "b", "u", "v", "w"]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.zeros((3, 4), int), "3, 4.*2 x edges"),
        (np.zeros((2, 4)), "integer edge_index"),
        (np.array([[0, -1], [-1, 0]]), "negative node index"),
        (sp.coo_matrix((2, 3)), "square; this one is 2 x 3"),
        (np.zeros((2, 0), int), "no nodes"),
        (Data(), "no edge_index"),
        ("cora", "Cannot read a graph from str"),
    ],
)
def test_what_is_no_graph(graph, message):
    with pytest.raises(InputError, match=message):
        as_graph(graph)
