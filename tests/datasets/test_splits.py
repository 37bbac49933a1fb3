from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from hypergraph.datasets import NodeSplit, default_split, load_graph, node_split
from hypergraph.errors import InputError


def fingerprint(*parts: Tensor) -> str:
    content = b"|".join(part.numpy().astype("<i8").tobytes() for part in parts)
    return hashlib.sha256(content).hexdigest()[:16]


def labelled(y: list[int] | np.ndarray, name: str = "graph") -> Data:
    return Data(
        y=torch.as_tensor(y), edge_index=torch.empty(2, 0, dtype=torch.long), name=name, num_nodes=len(y)
    )


def parts(split: NodeSplit) -> list[set[int]]:
    return [set(part.tolist()) for part in (split.train, split.val, split.test)]


def test_hgcn_split_of_airport_is_the_published_one_and_says_that_it_leaks(data_dir: Path) -> None:
    split = node_split(load_graph("airport", data=data_dir), "hgcn")
    test = np.unique(split.test)
    assert len(test) == 506
    assert np.isin(test, split.train).sum() == 225
    assert split.leaks is not None
    assert "225 of 506" in split.leaks
    assert fingerprint(split.train, split.val, split.test) == "483b81b40ce5325f"


@pytest.mark.parametrize("kind", ["strict", "random", "planetoid"])
def test_other_splits_of_airport_are_disjoint(kind: str, data_dir: Path) -> None:
    split = node_split(load_graph("airport", data=data_dir), kind)
    train, val, test = parts(split)
    assert split.leaks is None
    assert not (train & val or train & test or val & test)
    if kind != "planetoid":
        assert (len(train), len(val), len(test)) == (2232, 478, 478)


@pytest.mark.parametrize(
    ("kind", "sizes", "expected"),
    [
        ("hgcn", (746, 42, 256), "dbf4e244675a8451"),
        ("strict", (313, 104, 627), "7e66d2aae7f13ee3"),
        ("random", (314, 104, 626), "eef4610785482237"),
    ],
)
def test_splits_never_change(kind: str, sizes: tuple[int, int, int], expected: str) -> None:
    data = load_graph("disease")
    split = node_split(data, kind, seed=1234)
    assert (len(split.train), len(split.val), len(split.test)) == sizes
    assert sum(map(len, parts(split))) == len(set.union(*parts(split))) == data.num_nodes
    assert fingerprint(split.train, split.val, split.test) == expected
    assert fingerprint(node_split(data, kind, seed=1).test) != fingerprint(split.test)


def test_hgcn_balances_validation_and_test_over_two_classes() -> None:
    data = load_graph("disease")
    split = node_split(data, "hgcn", seed=5)
    assert data.y[split.val].float().mean() == data.y[split.test].float().mean() == 0.5
    assert split.leaks is None


def test_the_public_split() -> None:
    data = load_graph("cora")
    for kind in ("planetoid", "hgcn"):
        split = node_split(data, kind)
        assert torch.equal(split.train, torch.arange(140))
        assert (len(split.val), len(split.test)) == (500, 1000)
        for name, mask in split.masks(data.num_nodes).items():
            assert torch.equal(mask, data[name])


def test_planetoid_on_another_graph_takes_twenty_a_class() -> None:
    data = labelled(np.arange(2000) % 3)
    split = node_split(data, "planetoid", seed=0)
    assert torch.bincount(data.y[split.train]).tolist() == [20, 20, 20]
    assert (len(split.val), len(split.test)) == (500, 1000)
    assert fingerprint(split.train, split.val, split.test) == "9ac3b68ea6f16309"
    with pytest.raises(
        InputError, match=r"20 nodes a class, 500 and 1000, and only 90 are there; use strict"
    ):
        node_split(labelled(np.arange(90) % 3), "planetoid")


@settings(deadline=None, max_examples=50)
@given(y=st.lists(st.integers(0, 3), min_size=30, max_size=80), seed=st.integers(0, 2**40))
def test_strict_is_disjoint_complete_and_stratified(y: list[int], seed: int) -> None:
    split = node_split(labelled(y), "strict", seed)
    assert sorted([*split.train.tolist(), *split.val.tolist(), *split.test.tolist()]) == list(range(len(y)))
    for label in set(y):
        count = y.count(label)
        for part, fraction in ((split.val, 0.15), (split.test, 0.15)):
            assert abs(sum(y[i] == label for i in part) - fraction * count) <= 0.5


def test_defaults_and_mistakes() -> None:
    assert default_split(load_graph("disease")) == "hgcn"
    assert default_split(load_graph("cora")) == "planetoid"
    assert default_split(labelled([0, 1])) == "strict"
    with pytest.raises(InputError, match=r"Unknown node split 'stric'; did you mean 'strict'"):
        node_split(labelled([0, 1]), "stric")
    with pytest.raises(InputError, match=r"graph: a node split needs labels"):
        node_split(Data(edge_index=torch.empty(2, 0), name="graph"), "strict")
    with pytest.raises(InputError, match=r"3 labelled nodes are too few for the random split"):
        node_split(labelled([0, 1, 1]), "random")
