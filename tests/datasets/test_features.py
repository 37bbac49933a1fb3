from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from hypergraph.datasets import link_split, load_graph, prepare_features
from hypergraph.datasets.features import recipe_of


@pytest.mark.parametrize(("task", "columns"), [("node", 11), ("link", 12)])
def test_airport(task: str, columns: int, data_dir: Path) -> None:
    data = load_graph("airport", data=data_dir, task=task)
    edge_index = link_split(data, "hgcn").train_edge_index if task == "link" else None
    x = prepare_features(data, task, edge_index)
    assert x.shape == (3188, columns)
    raw = data.x.double()
    assert torch.allclose(x[:, : columns - 7].double(), raw / raw.sum(1, keepdim=True), rtol=1e-3)
    degree = np.bincount((data.edge_index if edge_index is None else edge_index)[0], minlength=3188)
    assert torch.equal(x[:, columns - 7 : -1].argmax(1), torch.from_numpy(degree.clip(max=5)))
    assert torch.equal(x[:, columns - 7 :].sum(1), torch.full((3188,), 2.0))


def test_airport_does_not_give_its_class_away(data_dir: Path) -> None:
    node, link = (load_graph("airport", data=data_dir, task=task) for task in ("node", "link"))
    assert torch.equal(node.x, link.x[:, :4])
    assert np.array_equal(np.digitize(link.x[:, 4].double(), [1, 8 / 7, 9 / 7]), link.y)


@pytest.mark.parametrize("task", ["node", "link"])
def test_sparse_rows_sum_to_one_and_stay_sparse(task: str) -> None:
    x = prepare_features(load_graph("cora"), task)
    assert x.layout == torch.sparse_csr
    assert torch.allclose(x.to_dense().sum(1), torch.ones(2708))


def test_disease_is_normalised_for_nodes_only() -> None:
    data = load_graph("disease", task="link")
    assert torch.equal(prepare_features(data, "link"), data.x)
    assert torch.allclose(prepare_features(load_graph("disease"), "node").to_dense().sum(1), torch.ones(1044))


def test_rows_are_divided_or_not_as_asked() -> None:
    data = load_graph("disease", task="link")
    x = prepare_features(data, "link", recipe=recipe_of(data, normalize=True))
    assert torch.allclose(x.sum(1), torch.ones(2665), atol=1e-3)
    airport = Data(
        x=torch.tensor([[2.0, 6.0]]), edge_index=torch.zeros(2, 0, dtype=torch.long), name="airport"
    )
    raw = prepare_features(airport, "link", recipe=recipe_of(airport, normalize=False))
    assert raw.shape == (1, 9) and raw[0, :2].tolist() == [2.0, 6.0]
    published = Data(x=torch.tensor([[3.0, -1.0]]), name="disease-hgcn")
    assert prepare_features(published, "link").tolist() == [[1.5, -0.5]]


def test_own_features_of_both_signs_are_divided_by_their_size() -> None:
    data = Data(x=torch.tensor([[1.0, -1.0], [0.0, 0.0], [3.0, 1.0]]), name="graph")
    assert prepare_features(data, "link").tolist() == [[0.5, -0.5], [0.0, 0.0], [0.75, 0.25]]
