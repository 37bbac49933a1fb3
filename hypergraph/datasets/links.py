"""Which edges train, validate and test, and the pairs that are no edges, without an n x n matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hypergraph.datasets.arrays import both_directions
from hypergraph.datasets.names import LINK_SPLITS
from hypergraph.datasets.stable_random import StableRandom, mix64
from hypergraph.errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

Pairs = NDArray[np.int64]


class PairSet:
    """A set of unordered pairs of nodes that answers membership by hashing.

    A table with sixteen places a pair answers "no" at once for all but a sixteenth of the pairs that are
    not in the set; the others are looked up.
    """

    def __init__(self, pairs: Pairs, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        self.keys = np.sort(self._keys(pairs))
        self._mask = np.uint64((1 << (16 * len(self.keys)).bit_length()) - 1)
        self._table = np.zeros(int(self._mask) + 1, dtype=bool)
        self._table[self._places(self.keys)] = True

    def _keys(self, pairs: Pairs) -> NDArray[np.int64]:
        keys: NDArray[np.int64] = pairs[0] * self.num_nodes + pairs[1]
        return keys

    def _places(self, keys: NDArray[np.int64]) -> NDArray[np.uint64]:
        return mix64(keys.astype(np.uint64)) & self._mask

    def contains(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Whether each pair ``(i <= j)`` is in the set."""
        keys = self._keys(pairs)
        found = self._table[self._places(keys)]
        maybe = found.nonzero()[0]
        at = np.searchsorted(self.keys, keys[maybe]).clip(max=max(len(self.keys) - 1, 0))
        found[maybe] = self.keys[at] == keys[maybe]
        return found


def sample_pairs(random: StableRandom, count: int, num_nodes: int, *, diagonal: bool) -> Pairs:
    """``count`` pairs, uniform over ``i < j`` (or ``i <= j``), with repetitions.

    A rectangle of cells folds exactly twice onto the triangle, so one integer division does it.
    """
    rows = num_nodes + 1 if diagonal else num_nodes - 1
    row, column = np.divmod(random.integers(rows * num_nodes, count), num_nodes)
    if diagonal:
        low = np.where(row > column, column, num_nodes - 1 - column)
        return np.stack([low, np.where(row > column, row - 1, num_nodes - 1 - row)])
    low = np.where(column > row, row, num_nodes - 2 - row)
    return np.stack([low, np.where(column > row, column, num_nodes - 1 - column)])


def sample_outside(
    random: StableRandom, count: int, outside: PairSet, *, diagonal: bool, distinct: bool
) -> Pairs:
    """``count`` pairs that are not in ``outside``, uniformly; ``distinct`` ones come without repetition."""
    n = outside.num_nodes
    total = n * (n + 1) // 2 if diagonal else n * (n - 1) // 2
    free = total - len(outside.keys)
    if free < (count if distinct else min(count, 1)):
        raise InputError(
            f"Only {free} pairs of nodes are no edges, and the split needs {count} of them as negatives; "
            "a link split needs a sparser graph."
        )
    if total <= 4 * (len(outside.keys) + count):
        # Nearly complete: listing the triangle costs no more than the edges do.
        pairs = np.stack(np.triu_indices(n, 0 if diagonal else 1)).astype(np.int64)
        pairs = pairs[:, ~outside.contains(pairs)]
        chosen = random.permutation(free)[:count] if distinct else random.integers(free, count)
        return pairs[:, chosen]
    kept = np.empty((2, 0), dtype=np.int64)
    while kept.shape[1] < count:
        more = sample_pairs(
            random, int(1.4 * (count - kept.shape[1])) + 16, outside.num_nodes, diagonal=diagonal
        )
        kept = np.concatenate([kept, more[:, ~outside.contains(more)]], axis=1)
        if distinct:
            _, first = np.unique(kept[0] * n + kept[1], return_index=True)
            kept = kept[:, np.sort(first)]
    return kept[:, :count]


@dataclass(frozen=True)
class LinkSplit:
    """Edges and non-edges of the three parts, each pair once with ``i < j``; shapes ``(2, count)``.

    ``train_edge_index`` is the message-passing graph: the training edges alone, in both directions.

    Example:
        >>> split = link_split(load_graph("cora"), "strict")
        >>> split.test_pos.shape == split.test_neg.shape
        True
    """

    kind: str
    seed: int
    train_edge_index: Tensor
    train_pos: Tensor
    val_pos: Tensor
    val_neg: Tensor
    test_pos: Tensor
    test_neg: Tensor
    _never: PairSet = field(repr=False)

    @classmethod
    def empty(cls, edge_index: Tensor, num_nodes: int) -> LinkSplit:
        """No edge in any part: all of them carry messages."""
        none = torch.empty(2, 0, dtype=torch.long)
        return cls("none", 0, edge_index, none, none, none, none, none, PairSet(none.numpy(), num_nodes))

    def train_neg(self, epoch: int, *, seed: int | None = None) -> Tensor:
        """As many training negatives as training edges, new ones each epoch.

        ``hgcn`` draws from all pairs that are no training edge, which validation and test pairs are in;
        ``strict`` never gives an edge of the graph nor a validation or test pair.
        """
        random = StableRandom(self.seed if seed is None else seed, "train-negatives", self.kind, epoch)
        count = self.train_pos.shape[1]
        pairs = sample_outside(random, count, self._never, diagonal=self.kind == "hgcn", distinct=False)
        return torch.from_numpy(np.ascontiguousarray(pairs))


def link_split(data: Data, kind: str = "hgcn", seed: int = 1234) -> LinkSplit:
    """Split the edges 85/5/10 and draw as many non-edges for validation and test.

    Args:
        data: Any graph.
        kind: ``"hgcn"``: non-edges distributed as in HGCN, which counts the pair of a node with itself as
            one and trains on validation and test pairs as negatives; ``"strict"``: neither.
        seed: The same seed gives the same split on every machine and version.

    Example:
        >>> split = link_split(load_graph("cora"))
        >>> split.train_pos.shape[1], split.val_pos.shape[1], split.test_pos.shape[1]
        (4488, 263, 527)
    """
    if kind not in LINK_SPLITS:
        raise unknown_name("link split", kind, LINK_SPLITS)
    n = int(data.num_nodes)
    source, target = data.edge_index.numpy()
    edges = np.stack([source, target])[:, source < target].astype(np.int64)
    val, test = int(0.05 * edges.shape[1]), int(0.10 * edges.shape[1])
    if val == 0:
        raise InputError(f"{data.name}: {edges.shape[1]} edges are too few to split 85/5/10; 20 are needed.")
    edges = edges[:, StableRandom(seed, "link-split", "edges").permutation(edges.shape[1])]
    parts = [np.ascontiguousarray(part) for part in np.split(edges, [val, val + test], axis=1)]
    val_pos, test_pos, train_pos = parts

    random = StableRandom(seed, "link-split", kind, "negatives")
    strict = kind == "strict"
    negatives = sample_outside(random, val + test, PairSet(edges, n), diagonal=not strict, distinct=True)
    never = np.concatenate([edges, negatives], axis=1) if strict else train_pos
    return LinkSplit(
        kind,
        seed,
        torch.from_numpy(both_directions(train_pos, n)),
        train_pos=torch.from_numpy(train_pos),
        val_pos=torch.from_numpy(val_pos),
        val_neg=torch.from_numpy(negatives[:, :val].copy()),
        test_pos=torch.from_numpy(test_pos),
        test_neg=torch.from_numpy(negatives[:, val:].copy()),
        _never=PairSet(never, n),
    )
