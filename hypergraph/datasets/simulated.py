"""An SIR epidemic on a random tree: the embedded stand-in for HGCN's Disease, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays, simple_edges
from hypergraph.datasets.stable_random import StableRandom


@dataclass(frozen=True)
class Epidemic:
    """The parameters of the simulation; the defaults are those of ``disease`` for nodes.

    Args:
        num_nodes: Size of the tree.
        children: Fewest and most children of an inner node; the number is uniform between them.
        susceptible: Probability that a node is susceptible; the others are resistant.
        transmission: Probability per step that an infected parent infects a susceptible child.
        transmission_resistant: The same for a resistant child.
        recovery: Probability per step that an infected node recovers, and infects no more.
        markers: Number of binary features; a half of them are risk markers, the others protective.
        marker_rate: Probability of a marker that says nothing about its node.
        marker_signal: By how much risk markers are likelier, and protective ones less likely, on a
            susceptible node (and the reverse on a resistant one), relative to ``marker_rate``.
    """

    num_nodes: int = 1044
    children: tuple[int, int] = (2, 6)
    susceptible: float = 0.6
    transmission: float = 0.9
    transmission_resistant: float = 0.02
    recovery: float = 0.1
    markers: int = 1000
    marker_rate: float = 0.05
    marker_signal: float = 0.5


NODE = Epidemic()
LINK = Epidemic(num_nodes=2665, children=(1, 11), markers=0)
# The first seed whose epidemic has the published balance of classes.
DEFAULT_SEED = 0


def simulate_disease(task: str = "node", seed: int = DEFAULT_SEED) -> GraphArrays:
    """Draw a tree, run the epidemic from its root, and describe every node by noisy features.

    A node is of class 1 if it was ever infected. Node classification has sparse binary markers of
    susceptibility; link prediction has ten noisy measurements of it and the place of the node in the tree.
    """
    epidemic = NODE if task == "node" else LINK
    random = StableRandom(seed, "simulated-disease", task)
    parent = random_tree(epidemic, random)
    susceptible = random.uniform(epidemic.num_nodes) < epidemic.susceptible
    infected = spread(epidemic, parent, susceptible, random)
    x: sp.csr_matrix | NDArray[np.float32]
    if task == "node":
        x = sp.csr_matrix(draw_markers(epidemic, susceptible, random))
    else:
        noise = 0.8 * random.normal(10 * epidemic.num_nodes).reshape(-1, 10)
        x = np.column_stack([susceptible[:, None] + noise, tree_place(parent)]).astype(np.float32)
    return GraphArrays(
        name="disease",
        num_nodes=epidemic.num_nodes,
        edges=simple_edges(np.arange(1, epidemic.num_nodes), parent[1:], epidemic.num_nodes),
        x=x,
        y=infected.astype(np.int64),
        provenance={"source": "simulated", "generator": "SIR epidemic on a random tree", "seed": seed},
    )


def random_tree(epidemic: Epidemic, random: StableRandom) -> NDArray[np.int64]:
    """The parent of every node of a tree that grows level by level; the root 0 is its own parent."""
    fewest, most = epidemic.children
    counts = fewest + random.integers(most - fewest + 1, epidemic.num_nodes)
    parent = np.repeat(np.arange(epidemic.num_nodes), counts)[: epidemic.num_nodes - 1]
    return np.concatenate([[0], parent])


def spread(
    epidemic: Epidemic, parent: NDArray[np.int64], susceptible: NDArray[np.bool_], random: StableRandom
) -> NDArray[np.bool_]:
    """Whether each node is ever infected, the root first. A tree passes the disease down, never back."""
    last, contact = random.uniform(len(parent)), random.uniform(len(parent))
    infected = np.zeros(len(parent), dtype=bool)
    infected[0] = True
    chance = np.where(susceptible, epidemic.transmission, epidemic.transmission_resistant)
    for node in range(1, len(parent)):
        up = parent[node]
        if infected[up]:
            # The parent stays infectious for a geometric number of steps, the same for all its children.
            steps, still = 1, 1.0 - epidemic.recovery
            while last[up] < still**steps:
                steps += 1
            infected[node] = contact[node] >= (1.0 - chance[node]) ** steps
    return infected


def draw_markers(
    epidemic: Epidemic, susceptible: NDArray[np.bool_], random: StableRandom
) -> NDArray[np.float32]:
    """Binary markers: each says a little, and not reliably, about susceptibility."""
    risk = np.arange(epidemic.markers) < epidemic.markers // 2
    sign = np.where(susceptible[:, None] == risk[None, :], 1.0, -1.0)
    rate = epidemic.marker_rate * (1.0 + epidemic.marker_signal * sign)
    return (random.uniform(rate.size).reshape(rate.shape) < rate).astype(np.float32)


def tree_place(parent: NDArray[np.int64]) -> NDArray[np.float64]:
    """A place in ``[-1, 1]`` for every node: the children of a node share out its interval evenly."""
    children = np.bincount(parent[1:], minlength=len(parent))
    first = np.concatenate([[1], 1 + np.cumsum(children)[:-1]])
    low, width = np.full(len(parent), -1.0), np.full(len(parent), 2.0)
    for node in range(1, len(parent)):
        up = parent[node]
        width[node] = width[up] / children[up]
        low[node] = low[up] + (node - first[up]) * width[node]
    return low + width / 2
