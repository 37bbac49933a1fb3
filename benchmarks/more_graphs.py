"""Four graphs that are in no paper, to try the default recipe on: `python benchmarks/more_graphs.py FOLDER`.

    hypergraph reproduce node-clf --dataset FOLDER/digits.npz --dataset FOLDER/cells.npz \
        --dataset FOLDER/blocks.npz --dataset FOLDER/taxonomy.npz --method gcn --method bmlr-p --method bmlr-l

Of each class 20 nodes are trained, a third of the others chooses the epoch, the rest is tested.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

Array = NDArray[np.generic]


def neighbours(x: Array, count: int = 10) -> Array:
    """The edges from every row to its nearest ones."""
    return np.stack(kneighbors_graph(x, count).nonzero())


def blocks(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A stochastic block model of six classes, with features that hardly tell them apart."""
    y = rng.integers(0, 6, 1500)
    chance = np.where(y[:, None] == y[None], 0.012, 0.0015)
    edges = np.stack(np.triu(rng.random(chance.shape) < chance, 1).nonzero())
    return edges, 0.25 * rng.standard_normal((6, 32))[y] + rng.standard_normal((1500, 32)), y


def taxonomy(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A random tree: the class is the branch at the root, and the features of a node differ a little from its
    parent's."""
    parent = np.array([0] + [rng.integers(max(0, (i - 1) // 8), i) for i in range(1, 1500)])
    y, x = np.zeros(1500, dtype=np.int64), 0.3 * rng.standard_normal((1500, 32))
    for node in range(1, 1500):
        y[node] = node % 5 if parent[node] == 0 else y[parent[node]]
        x[node] += x[parent[node]]
    return np.stack([parent[1:], np.arange(1, 1500)]), x + rng.standard_normal(x.shape), y


def save(path: Path, edges: Array, x: Array, y: Array, rng: np.random.Generator) -> None:
    """The graph with its split."""
    order = rng.permutation(len(y))
    train = np.concatenate([order[y[order] == label][:20] for label in np.unique(y)])
    rest = order[~np.isin(order, train)]
    masks = {"train": train, "val": rest[: len(rest) // 3], "test": rest[len(rest) // 3 :]}
    parts = {f"{name}_mask": np.isin(np.arange(len(y)), nodes) for name, nodes in masks.items()}
    np.savez(path, edge_index=edges, x=x.astype(np.float32), y=y, **parts)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for name, load in (("digits", load_digits), ("cells", load_breast_cancer)):
        x, y = load(return_X_y=True)
        x = StandardScaler().fit_transform(x)
        save(folder / f"{name}.npz", neighbours(x), x, y, rng)
    for name, make in (("blocks", blocks), ("taxonomy", taxonomy)):
        save(folder / f"{name}.npz", *make(rng), rng)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
