"""Sarkar's construction: a tree in the disk with every edge of one length, and little distortion.

Sarkar (2011): put the root at the centre; at each node, seen from there, the neighbours lie on a circle of
radius ``length`` at equal angles. Subtrees with more leaves get wider angles here, so that a broad tree fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import InputError
from hypergraph.viz.plane import Array, disk, segment, sheet_to_disk
from hypergraph.viz.style import INK, PALETTE, ramp

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def spanning_tree(edges: NDArray[Any], num_nodes: int) -> tuple[NDArray[np.int64], list[int]]:
    """Parents (-1 of a root) and the nodes in breadth-first order, from a centre of the largest component on.

    The root is the middle of a longest path, so that a tree is drawn as shallow as it is. The roots of other
    components hang at the first root.
    """
    neighbours: list[list[int]] = [[] for _ in range(num_nodes)]
    for i, j in np.asarray(edges).T.tolist():
        if i != j:
            neighbours[i].append(j)
            neighbours[j].append(i)
    root = _middle(neighbours, _largest(neighbours))
    parent = np.full(num_nodes, -1, dtype=np.int64)
    order, seen = [], np.zeros(num_nodes, dtype=bool)
    for start in (root, *range(num_nodes)):
        if seen[start]:
            continue
        if start != root:
            parent[start] = root
        seen[start] = True
        queue = [start]
        for node in queue:
            for other in neighbours[node]:
                if not seen[other]:
                    seen[other] = True
                    parent[other] = node
                    queue.append(other)
        order += queue
    return parent, order


def _largest(neighbours: list[list[int]]) -> int:
    """A node of the largest connected component."""
    seen: set[int] = set()
    best, size = 0, 0
    for start in range(len(neighbours)):
        if start not in seen:
            found = list(_distances(neighbours, start))
            seen.update(found)
            if len(found) > size:
                best, size = start, len(found)
    return best


def _distances(neighbours: list[list[int]], start: int) -> dict[int, int]:
    """The distance of every node that can be reached, the nearest first."""
    found = {start: 0}
    queue = [start]
    for node in queue:
        for other in neighbours[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def _middle(neighbours: list[list[int]], start: int) -> int:
    """The middle of a longest path of a tree (of a long one, where the graph is none)."""
    end = list(_distances(neighbours, start))[-1]
    depth = _distances(neighbours, end)
    node = list(depth)[-1]
    for level in range(depth[node] - 1, depth[node] // 2 - 1, -1):
        node = next(other for other in neighbours[node] if depth[other] == level)
    return node


FARTHEST = 300.0  # from the root: beyond, coordinates overflow


def sarkar(
    edges: NDArray[Any], num_nodes: int, length: float | None = None
) -> tuple[Array, NDArray[np.int64]]:
    """Place the nodes of a tree on the hyperboloid of curvature -1.

    Args:
        edges: ``(2, E)``; of a graph that is no tree, a breadth-first tree is drawn.
        num_nodes: how many nodes.
        length: of an edge; by default as long as the deepest leaf still lies within distance 11.

    Returns:
        The points ``(n, 3)``, time first, and the parent of each node (-1 of the root).
    """
    if num_nodes == 0:
        raise InputError("The graph has no nodes; there is nothing to draw.")
    parent, order = spanning_tree(edges, num_nodes)
    depth, leaves = np.zeros(num_nodes, dtype=np.int64), np.zeros(num_nodes)
    children: list[list[int]] = [[] for _ in range(num_nodes)]
    for node in order[1:]:
        depth[node] = depth[parent[node]] + 1
        children[parent[node]].append(node)
    for node in reversed(order):
        leaves[node] = max(leaves[node], 1.0)
        if parent[node] >= 0:
            leaves[parent[node]] += leaves[node]
    if length is None:
        length = min(2.0, 11.0 / max(depth.max(), 1))
    most = FARTHEST / max(int(depth.max()), 1)
    if not 0 < length <= most:
        raise InputError(f"An edge has a length above 0 and, in this tree, at most {most:.3g}, not {length}.")
    # half-angle coordinates (a, b): the point b / a of the disk, |a|^2 - |b|^2 = 1. The isometry of a node
    # takes the origin to it and the negative axis towards its parent; precise far out.
    a, b = np.ones(num_nodes, dtype=complex), np.zeros(num_nodes, dtype=complex)
    ch, sh = np.cosh(length / 2), np.sinh(length / 2)
    for node in order:
        share = np.sqrt(leaves[children[node]])
        # at the root all round; elsewhere the parent keeps as much room as the mean child
        room = (
            share.sum() + (0 if parent[node] < 0 else max(share.mean(), share.sum() / 3)) if len(share) else 1
        )
        angles = np.pi * (2 * np.cumsum(share) - share - share.sum()) / room
        for child, angle in zip(children[node], angles):
            turn = np.exp(0.5j * angle)
            # compose with a turn, then a step along the positive axis
            p, q = a[node] * turn, b[node] / turn
            a[child], b[child] = p * ch + q * sh, p * sh + q * ch
    # the origin goes to b / conj(a); on the hyperboloid: (|a|^2 + |b|^2, 2 a b)
    z = 2 * a * b
    points = np.stack([np.sqrt(1 + np.abs(z) ** 2), z.real, z.imag], axis=-1)
    return points, parent


def tree(
    edges: NDArray[Any],
    num_nodes: int,
    ax: Axes | None = None,
    length: float | None = None,
    label: NDArray[Any] | None = None,
) -> Axes:
    """Draw a tree by Sarkar's construction, coloured by class, or by depth where no label is given.

    Example:
        >>> import networkx as nx, numpy as np
        >>> binary = nx.balanced_tree(2, 4)
        >>> ax = tree(np.array(binary.edges).T, len(binary))
        >>> len(ax.collections[0].get_segments())
        30
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap

    ax = ax or disk()
    points, parent = sarkar(edges, num_nodes, length)
    child = np.flatnonzero(parent >= 0)
    curves = [sheet_to_disk(segment(points[i], points[parent[i]])) for i in child]
    ax.add_collection(LineCollection(curves, colors=INK, linewidths=0.6, alpha=0.7), autolim=False)
    depth = np.zeros(num_nodes)
    for node in spanning_tree(edges, num_nodes)[1][1:]:
        depth[node] = depth[parent[node]] + 1
    z = sheet_to_disk(points)
    size = 26 * np.clip(1 - (z**2).sum(-1), 0.06, None)
    if label is None:
        ax.scatter(z[:, 0], z[:, 1], s=size, c=depth, cmap=ListedColormap(ramp()), linewidths=0, zorder=3)
    else:
        colours = np.array(PALETTE)[np.asarray(label) % len(PALETTE)]
        ax.scatter(z[:, 0], z[:, 1], s=size, c=colours, linewidths=0, zorder=3)
    return ax
