"""An SIR epidemic on a random tree: the embedded stand-in for HGCN's Disease, drawn from a seed."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays, simple_edges
from hypergraph.datasets.names import DATASETS
from hypergraph.datasets.stable_random import StableRandom


@dataclass(frozen=True)
class Epidemic:
    """The parameters of the simulation; the defaults are those of ``disease`` for nodes.

    Args:
        num_nodes: Size of the tree.
        children: Fewest and most children of an inner node; the number is uniform between them.
        susceptible: Probability that a node is susceptible; the others are resistant, and never infected.
        inheritance: Probability that a node takes after its parent instead.
        transmission: Probability per step that an infected parent infects a susceptible child.
        recovery: Probability per step that an infected node recovers, and infects no more.
        attack_rate: The least and the greatest share of infected nodes; other epidemics are drawn again.
        markers: Number of binary features; a half of them are risk markers, the others protective.
        marker_rate: Probability of a marker that says nothing about its node.
        marker_signal: By how much risk markers are likelier, and protective ones less likely, on a
            susceptible node (and the reverse on a resistant one), relative to ``marker_rate``.
    """

    num_nodes: int = 1044
    children: tuple[int, int] = (2, 6)
    susceptible: float = 0.4
    inheritance: float = 0.5
    transmission: float = 0.95
    recovery: float = 0.05
    attack_rate: tuple[float, float] = (0.185, 0.215)
    markers: int = 1000
    marker_rate: float = 0.05
    marker_signal: float = 0.3


NODE = Epidemic()
LINK = Epidemic(num_nodes=2665, children=(1, 11), susceptible=0.5, attack_rate=(0.37, 0.43), markers=10)
DEFAULT_SEED = 0


def simulate_disease(task: str = "node", seed: int = DEFAULT_SEED) -> GraphArrays:
    """Draw a tree, run the epidemic from its root, and describe every node by noisy features.

    A node is of class 1 if it was ever infected. For nodes the features are sparse binary markers of
    susceptibility; for links they are ten noisy measurements of it and the place of the node in the tree.
    """
    epidemic = NODE if task == "node" else LINK
    for attempt in itertools.count():
        random = StableRandom(seed, "simulated-disease", task, attempt)
        parent = random_tree(epidemic, random)
        susceptible = draw_susceptible(epidemic, parent, random)
        infected = spread(epidemic, parent, susceptible, random)
        if epidemic.attack_rate[0] <= infected.mean() <= epidemic.attack_rate[1]:
            break
    x = draw_markers(epidemic, susceptible, random)
    if task == "link":
        noise = 0.8 * random.normal(x.size).reshape(x.shape)
        x = np.column_stack([susceptible[:, None] + noise, tree_place(parent)]).astype(np.float32)
    return GraphArrays(
        name="disease",
        num_nodes=epidemic.num_nodes,
        edges=simple_edges(np.arange(1, epidemic.num_nodes), parent[1:], epidemic.num_nodes),
        x=sp.csr_matrix(x) if task == "node" else x,
        y=infected.astype(np.int64),
        classes=DATASETS["disease"].class_names,
        provenance={"source": "simulated", "seed": seed, **asdict(epidemic)},
    )


def random_tree(epidemic: Epidemic, random: StableRandom) -> NDArray[np.int64]:
    """The parent of every node of a tree that grows level by level; the root 0 is its own parent."""
    fewest, most = epidemic.children
    counts = fewest + random.integers(most - fewest + 1, epidemic.num_nodes)
    parent = np.repeat(np.arange(epidemic.num_nodes), counts)[: epidemic.num_nodes - 1]
    return np.concatenate([[0], parent])


def draw_susceptible(
    epidemic: Epidemic, parent: NDArray[np.int64], random: StableRandom
) -> NDArray[np.bool_]:
    """Which nodes are susceptible: the root is, the others take after their parent or not."""
    own = random.uniform(len(parent)) < epidemic.susceptible
    inherits = random.uniform(len(parent)) < epidemic.inheritance
    own[0] = True
    for node in inherits.nonzero()[0]:
        own[node] = own[parent[node]]  # parents come before their children
    return own


def spread(
    epidemic: Epidemic, parent: NDArray[np.int64], susceptible: NDArray[np.bool_], random: StableRandom
) -> NDArray[np.bool_]:
    """Whether each node is ever infected, the root first. A tree passes the disease down, never back."""
    recovers, escapes = random.uniform(len(parent)), random.uniform(len(parent))
    infected = np.zeros(len(parent), dtype=bool)
    infected[0] = True
    for node in range(1, len(parent)):
        if not (susceptible[node] and infected[parent[node]]):
            continue
        # The parent is infectious for a geometric number of steps, the same for all its children.
        still_ill, still_well = 1.0 - epidemic.recovery, 1.0 - epidemic.transmission
        while recovers[parent[node]] < still_ill:
            still_ill *= 1.0 - epidemic.recovery
            still_well *= 1.0 - epidemic.transmission
        infected[node] = escapes[node] >= still_well
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
