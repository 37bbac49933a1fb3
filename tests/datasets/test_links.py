from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from hypergraph.datasets import LinkSplit, link_split, load_graph
from hypergraph.datasets.arrays import both_directions, simple_edges
from hypergraph.datasets.links import PairSet, sample_outside, sample_pairs
from hypergraph.datasets.stable_random import StableRandom
from hypergraph.errors import InputError
from tests.datasets.test_splits import fingerprint


def graph(edges: np.ndarray, nodes: int) -> Data:
    return Data(edge_index=torch.from_numpy(both_directions(edges, nodes)), num_nodes=nodes, name="graph")


def pairs(edges: Tensor) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in edges.T.tolist()}


@st.composite
def random_graphs(draw: st.DrawFn) -> Data:
    nodes = draw(st.integers(9, 40))
    random = StableRandom(draw(st.integers(0, 10**6)), "graphs")
    count = draw(st.integers(60, 160))
    edges = simple_edges(random.integers(nodes, count), random.integers(nodes, count), nodes)
    return graph(edges[:, : nodes * (nodes - 1) // 3], nodes)


def assert_sound(data: Data, split: LinkSplit) -> None:
    edges, graph_edges = pairs(data.edge_index), pairs(split.train_edge_index)
    train, val, test = pairs(split.train_pos), pairs(split.val_pos), pairs(split.test_pos)
    assert train | val | test == edges
    assert len(train) + len(val) + len(test) == len(edges)
    assert graph_edges == train  # so no validation or test edge is in the message-passing graph
    assert split.train_edge_index.shape[1] == 2 * len(train)
    val_neg, test_neg = pairs(split.val_neg), pairs(split.test_neg)
    assert (len(val_neg), len(test_neg)) == (len(val), len(test))
    assert not (val_neg & test_neg or (val_neg | test_neg) & edges)
    for part in (split.train_pos, split.val_pos, split.test_pos):
        assert (part[0] < part[1]).all()
    held_out = val | test | val_neg | test_neg
    for epoch in range(3):
        negatives = split.train_neg(epoch)
        assert negatives.shape == split.train_pos.shape
        assert not pairs(negatives) & train
        if split.kind == "strict":
            assert not pairs(negatives) & (held_out | edges)
            assert (negatives[0] < negatives[1]).all()


@settings(deadline=None, max_examples=40)
@given(data=random_graphs(), seed=st.integers(0, 2**40), kind=st.sampled_from(["hgcn", "strict"]))
def test_links_are_split_soundly(data: Data, seed: int, kind: str) -> None:
    assert_sound(data, link_split(data, kind, seed))


@pytest.mark.parametrize(("kind", "expected"), [("hgcn", "2408c5b5c82861da"), ("strict", "67ad78da0a4bc70f")])
def test_link_splits_never_change(kind: str, expected: str) -> None:
    data = load_graph("disease", task="link")
    split = link_split(data, kind, seed=3)
    assert_sound(data, split)
    assert (split.train_pos.shape[1], split.val_pos.shape[1], split.test_pos.shape[1]) == (2265, 133, 266)
    everything = (split.train_pos, split.val_pos, split.val_neg, split.test_pos, split.test_neg)
    assert fingerprint(*everything, split.train_neg(0), split.train_neg(1)) == expected
    assert torch.equal(split.train_neg(1), link_split(data, kind, seed=3).train_neg(1))
    assert not torch.equal(split.train_neg(0), split.train_neg(1))
    assert not torch.equal(split.train_neg(0), split.train_neg(0, seed=4))


@pytest.mark.parametrize("diagonal", [False, True])
def test_pairs_are_uniform(diagonal: bool) -> None:
    drawn = sample_pairs(StableRandom(0, "pairs"), 60_000, 5, diagonal=diagonal)
    every = (
        itertools.combinations_with_replacement(range(5), 2)
        if diagonal
        else itertools.combinations(range(5), 2)
    )
    counts = dict.fromkeys(every, 0)
    for pair in zip(*drawn.tolist()):
        counts[pair] += 1
    mean = 60_000 / len(counts)
    assert sum((count - mean) ** 2 / mean for count in counts.values()) < 36  # chi-squared, p = 0.001 at 14


@pytest.mark.parametrize(("nodes", "taken"), [(7, 12), (60, 9)])
def test_negatives_are_uniform_outside_the_edges(nodes: int, taken: int) -> None:
    """In a nearly complete graph, where the pairs are listed, and in a sparse one, where they are drawn."""
    edges = np.stack(np.triu_indices(nodes, 1))[:, ::3][:, :taken]
    outside = PairSet(edges, nodes)
    free = nodes * (nodes - 1) // 2 - edges.shape[1]
    drawn = sample_outside(StableRandom(1, "x"), 40 * free, outside, diagonal=False, distinct=False)
    counts = np.unique(drawn[0] * nodes + drawn[1], return_counts=True)[1]
    assert not outside.contains(drawn).any()
    assert len(counts) == free
    assert ((counts - 40) ** 2 / 40).sum() < free + 4 * np.sqrt(2 * free)
    distinct = sample_outside(StableRandom(1, "x"), free, outside, diagonal=False, distinct=True)
    assert len(np.unique(distinct[0] * nodes + distinct[1])) == free


def test_hgcn_negatives_contain_held_out_edges_as_in_hgcn() -> None:
    edges = simple_edges(*StableRandom(0, "dense").integers(12, 60).reshape(2, 30), 12)
    split = link_split(graph(edges, 12), "hgcn", 0)
    seen = set.union(*(pairs(split.train_neg(epoch)) for epoch in range(60)))
    assert pairs(split.val_pos) | pairs(split.test_pos) | pairs(split.test_neg) <= seen
    assert any(u == v for u, v in seen)


@settings(deadline=None, max_examples=50)
@given(keys=st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_pair_set_is_a_set(keys: set[tuple[int, int]]) -> None:
    edges = np.array(sorted(keys), dtype=np.int64).reshape(-1, 2).T
    every = np.stack(np.meshgrid(np.arange(31), np.arange(31))).reshape(2, -1)
    found = PairSet(edges, 31).contains(every)
    assert {tuple(pair) for pair in every[:, found].T.tolist()} == keys


def test_graphs_that_cannot_be_split() -> None:
    with pytest.raises(InputError, match=r"Unknown link split 'planetoid'"):
        link_split(graph(np.array([[0], [1]]), 2), "planetoid")
    with pytest.raises(InputError, match=r"19 edges are too few to split 85/5/10; 20 are needed"):
        link_split(graph(np.stack([np.arange(19), np.arange(1, 20)]), 20), "strict")
    complete = np.stack(np.triu_indices(8, 1))
    with pytest.raises(InputError, match=r"Only 0 pairs of nodes are no edges, and the split needs 3"):
        link_split(graph(complete, 8), "strict")
