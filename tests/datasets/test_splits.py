from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hypergraph.datasets import link_split, load_graph, node_split


def test_hgcn_split_of_airport_is_the_published_one_and_says_that_it_leaks(data_dir: Path) -> None:
    split = node_split(load_graph("airport", data=data_dir), "hgcn")
    test = np.unique(split.test)
    assert len(test) == 506
    assert np.isin(test, split.train).sum() == 225
    assert split.leaks is not None
    assert "225 of 506" in split.leaks


@pytest.mark.parametrize("kind", ["hgcn", "strict"])
def test_no_held_out_edge_is_in_the_message_passing_graph(kind: str) -> None:
    data = load_graph("disease", task="link")
    split = link_split(data, kind, seed=3)
    n = data.num_nodes
    graph = split.train_edge_index[0] * n + split.train_edge_index[1]
    for part in (split.val_pos, split.test_pos):
        assert not np.isin(part[0] * n + part[1], graph).any()
        assert not np.isin(part[1] * n + part[0], graph).any()
