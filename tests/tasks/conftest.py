"""A small graph in a file, which every task can train on in a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


def write_graph(path: Path, seed: int = 0) -> Path:
    """Three communities of 40 nodes with features that say a little about them."""
    random = np.random.default_rng(seed)
    label = np.repeat(np.arange(3), 40)
    chance = np.where(label[:, None] == label[None, :], 0.15, 0.01)
    edges = np.argwhere(np.triu(random.random((120, 120)) < chance, 1)).T
    x = (np.eye(3)[label] + 0.4 * random.normal(size=(120, 3))).astype(np.float32)
    np.savez(path, edge_index=edges, x=x, y=label, num_nodes=120)
    return path


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graph(tmp_path_factory.mktemp("graph") / "three.npz")
