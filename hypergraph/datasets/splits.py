"""Which nodes train, validate and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hypergraph.datasets.arrays import UNLABELLED
from hypergraph.datasets.names import DATASETS, NODE_SPLITS
from hypergraph.datasets.stable_random import StableRandom
from hypergraph.errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

FRACTIONS = (0.7, 0.15, 0.15)
HGCN_SEED = 1234  # HGCN's own default: with it ``hgcn`` is the published split, node for node.


@dataclass(frozen=True)
class NodeSplit:
    """Node indices of the three parts.

    Under ``hgcn`` on more than two classes a node may occur in two parts, and twice in one: ``leaks``
    then says why, and is ``None`` otherwise.

    Example:
        >>> split = NodeSplit("mine", torch.tensor([0, 1]), torch.tensor([2]), torch.tensor([3]))
        >>> split.masks(4)["val_mask"]
        tensor([False, False,  True, False])
    """

    kind: str
    train: Tensor
    val: Tensor
    test: Tensor
    leaks: str | None = None

    def masks(self, num_nodes: int) -> dict[str, Tensor]:
        """The parts as boolean masks, named as in PyG."""
        parts = {"train_mask": self.train, "val_mask": self.val, "test_mask": self.test}
        return {
            name: torch.zeros(num_nodes, dtype=torch.bool).index_fill_(0, index, True)
            for name, index in parts.items()
        }


def default_split(data: Data) -> str:
    """The split that publications use on this dataset; on other graphs their own masks, or ``strict``.

    Example:
        >>> default_split(load_graph("cora"))
        'planetoid'
    """
    if data.name in DATASETS:
        return DATASETS[data.name].split
    return "masks" if "train_mask" in data else "strict"


def node_split(data: Data, kind: str, seed: int = HGCN_SEED) -> NodeSplit:
    """Split the nodes of ``data``.

    Args:
        data: A graph with labels; nodes without one are in no part.
        kind: ``"planetoid"``: the public split where there is one, else 20 nodes a class, 500 and 1000.
            ``"hgcn"``: as HGCN does (the public split where there is one; else its splitter, which
            balances validation and test over two classes and **leaks** on more).
            ``"strict"``: disjoint, with every class in proportion.
            ``"random"``: disjoint, uniformly at random.
            ``"masks"``: the graph's own ``train_mask``, ``val_mask`` and ``test_mask``.
        seed: The same seed gives the same split on every machine and version.

    Example:
        >>> split = node_split(load_graph("cora"), "strict", seed=1)
        >>> len(split.train) + len(split.val) + len(split.test)
        2708
    """
    if kind not in NODE_SPLITS:
        raise unknown_name("node split", kind, NODE_SPLITS)
    if data.y is None:
        raise InputError(f"{data.name}: a node split needs labels; give a labels file.")
    labelled = (data.y != UNLABELLED).numpy().nonzero()[0]
    if not len(labelled):
        raise InputError(f"{data.name}: no node has a label, and a split needs some; give labels.")
    y = data.y.numpy()[labelled]
    fractions = DATASETS[data.name].fractions if data.name in DATASETS else FRACTIONS
    leaks = None
    own = kind in ("hgcn", "planetoid", "masks") and "train_mask" in data
    if kind == "masks" and not own:
        raise InputError(f"{data.name}: the graph has no train_mask, val_mask and test_mask; use strict.")
    if own:
        parts = [data[f"{part}_mask"].numpy().nonzero()[0] for part in ("train", "val", "test")]
    elif kind == "hgcn":
        parts, leaks = _hgcn(y, fractions, seed)
    elif kind == "planetoid":
        parts = _planetoid(y, seed, data.name)
    elif kind == "strict":
        parts = _strict(y, fractions, seed)
    else:
        parts = _cut(StableRandom(seed, "node-split", "random").permutation(len(y)), fractions)
    parts = parts if own else [labelled[part] for part in parts]
    train, val, test = (torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64)) for part in parts)
    if not (len(train) and len(val) and len(test)):
        raise InputError(f"{data.name}: {len(y)} labelled nodes are too few for the {kind} split.")
    # the masks of one's own graph are no published split
    return NodeSplit("masks" if own and data.name not in DATASETS else kind, train, val, test, leaks)


def _hgcn(
    y: NDArray[np.int64], fractions: tuple[float, float, float], seed: int
) -> tuple[list[NDArray[np.int64]], str | None]:
    # The published split is made of NumPy's legacy stream, which NumPy has frozen (NEP 19): no other
    # generator can give it. "Positive" is label != 0 and "negative" is label != 1, as published.
    random = np.random.RandomState(seed)
    positive, negative = (y != 0).nonzero()[0], (y != 1).nonzero()[0]
    random.shuffle(positive)
    random.shuffle(negative)
    smaller = min(len(positive), len(negative))
    val, test = round(fractions[1] * smaller), round(fractions[2] * smaller)
    parts = [
        np.concatenate([positive[part], negative[part]])
        for part in (slice(val + test, None), slice(val), slice(val, val + test))
    ]
    both = int(np.isin(np.unique(parts[2]), parts[0]).sum())
    if y.max() < 2:
        return parts, None
    return parts, (
        f"HGCN's splitter takes label != 0 as positive and label != 1 as negative, so with {y.max() + 1} "
        f"classes a node can be both: {both} of {len(np.unique(parts[2]))} test nodes are also training "
        "nodes. Use --split strict for a figure that does not leak."
    )


def _strict(
    y: NDArray[np.int64], fractions: tuple[float, float, float], seed: int
) -> list[NDArray[np.int64]]:
    random = StableRandom(seed, "node-split", "strict")
    order = random.permutation(len(y))
    by_class = [_cut(order[y[order] == label], fractions) for label in np.bincount(y).nonzero()[0]]
    return [np.sort(np.concatenate(parts)) for parts in zip(*by_class)]


def _planetoid(y: NDArray[np.int64], seed: int, name: str) -> list[NDArray[np.int64]]:
    order = StableRandom(seed, "node-split", "planetoid").permutation(len(y))
    train = np.concatenate([order[y[order] == label][:20] for label in np.bincount(y).nonzero()[0]])
    rest = order[~np.isin(order, train)]
    if len(rest) < 1500:
        raise InputError(
            f"{name}: the planetoid split takes 20 nodes a class, 500 and 1000, and only {len(y)} are there; "
            "use strict or random."
        )
    return [np.sort(part) for part in (train, rest[:500], rest[500:1500])]


def _cut(order: NDArray[np.int64], fractions: tuple[float, float, float]) -> list[NDArray[np.int64]]:
    val, test = round(fractions[1] * len(order)), round(fractions[2] * len(order))
    return [np.sort(part) for part in (order[val + test :], order[:val], order[val : val + test])]
