"""The compiled part of neighbour sampling: draw, number the nodes, list the edges.

Every function releases the interpreter lock, so threads sample batches side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.kernel import kernel

Ints = NDArray[Any]


@kernel
def by_target(source: Ints, target: Ints, num_nodes: int) -> tuple[Ints, Ints, Ints]:
    """Edges grouped by their target (CSC): the pointer, the sources, and where each edge was."""
    pointer = np.zeros(num_nodes + 1, np.int64)
    for node in target:
        pointer[node + 1] += 1
    for node in range(num_nodes):
        pointer[node + 1] += pointer[node]
    place = pointer[:-1].copy()
    row = np.empty(len(source), np.int64)
    edge = np.empty(len(source), np.int64)
    for i in range(len(source)):
        at = place[target[i]]
        place[target[i]] += 1
        row[at] = source[i]
        edge[at] = i
    return pointer, row, edge


@kernel
def mix(value: np.uint64) -> np.uint64:
    """A number in which every bit depends on every bit of ``value`` (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def stream(seed: int, epoch: int, nodes: Ints) -> np.uint64:
    """The random stream of a batch: it depends on the seed, the epoch and the nodes of the batch alone."""
    state = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    state = mix(state ^ np.uint64(epoch))
    for node in nodes:
        state = mix(state ^ np.uint64(node))
    return state


@kernel
def _below(state: Ints, bound: int) -> int:
    """The next number of a stream, uniform in ``range(bound)``; Lemire's method, which has no bias."""
    wide = np.uint64(bound)
    least = np.uint64(0xFFFFFFFF)
    while True:
        state[0] += np.uint64(0x9E3779B97F4A7C15)
        product = (mix(state[0]) >> np.uint64(32)) * wide
        low = product & least
        if low >= wide or low >= (np.uint64(1 << 32) - wide) % wide:
            return np.int64(product >> np.uint64(32))


@kernel
def _draw(state: Ints, degree: int, count: int, replace: bool, out: Ints) -> int:
    """Write positions of ``count`` of ``degree`` neighbours to ``out``; -1 is all. Returns how many."""
    if degree == 0:
        return 0
    if replace and count >= 0:
        for i in range(count):
            out[i] = _below(state, degree)
        return count
    if count < 0 or count >= degree:
        for i in range(degree):
            out[i] = i
        return degree
    if count * count > 4 * degree:  # one pass: the next is taken with the chance that is left
        taken = 0
        for i in range(degree):
            if _below(state, degree - i) < count - taken:
                out[taken] = i
                taken += 1
        return count
    for i in range(count):  # Floyd's method: a draw that was there before becomes the last one possible
        last = degree - count + i
        drawn = _below(state, last + 1)
        for j in range(i):
            if out[j] == drawn:
                drawn = last
                break
        out[i] = drawn
    return count


@kernel
def _find(table: Ints, nodes: Ints, trees: Ints, node: int, tree: int) -> int:
    """The slot of a node (of a tree) in the table, or the empty slot where it belongs.

    ``trees`` is empty where the nodes are not divided among trees.
    """
    mask = len(table) - 1
    key = np.uint64(node) + np.uint64(tree) * np.uint64(0xD1342543DE82EF95)
    slot = np.int64(mix(key) >> np.uint64(8)) & mask
    while True:
        local = table[slot]
        if local < 0 or (nodes[local] == node and (len(trees) == 0 or trees[local] == tree)):
            return slot
        slot = (slot + 1) & mask


@kernel
def _table(nodes: Ints, trees: Ints, count: int, room: int) -> Ints:
    """A hash table of the first ``count`` nodes, at most half full with ``room`` of them."""
    size = 16
    while size < 2 * room:
        size *= 2
    table = np.full(size, -1, np.int32)
    for local in range(count):
        tree = trees[local] if len(trees) else 0
        slot = _find(table, nodes, trees, nodes[local], tree)
        if table[slot] < 0:  # of a seed that is named twice, the first
            table[slot] = local
    return table


@kernel
def _longer(array: Ints, used: int, room: int) -> Ints:
    grown = np.empty(room, array.dtype)
    grown[:used] = array[:used]
    return grown


@kernel
def sample(
    pointer: Ints,
    row: Ints,
    seeds: Ints,
    counts: Ints,
    replace: bool,
    disjoint: bool,
    state: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, int]:
    """Sample the neighbourhood of ``seeds``, hop by hop.

    Args:
        pointer, row: Edges by their target: those into ``i`` come from ``row[pointer[i]:pointer[i + 1]]``.
        seeds: Nodes of the graph; they are the first of the sample, in their order.
        counts: How many neighbours a node draws in every hop; -1 is all.
        replace: Whether a neighbour may be drawn twice.
        disjoint: Whether each seed has a neighbourhood of its own.
        state: The stream of random numbers, an array of one.

    Returns:
        The nodes; the seed that each belongs to (with ``disjoint``); of each edge its source and target as
        positions in the nodes, and its place in ``row``; the numbers of nodes and of edges in each hop; and
        the first place in ``row`` that names no node, or -1.
    """
    num_nodes = len(pointer) - 1
    total = len(seeds)
    nodes = seeds.astype(np.int64)
    trees = np.arange(total if disjoint else 0)
    source, target, edge = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    drawn = np.empty(1, np.int64)
    nodes_in, edges_in = np.zeros(len(counts) + 1, np.int64), np.zeros(len(counts), np.int64)
    nodes_in[0] = total
    table = _table(nodes, trees, total, total)
    begin, made = 0, 0
    for hop in range(len(counts)):
        end, count = total, counts[hop]
        room, widest = 0, 0
        for local in range(begin, end):
            degree = pointer[nodes[local] + 1] - pointer[nodes[local]]
            most = degree if count < 0 or (degree < count and not replace) else count
            room += most if degree > 0 else 0
            widest = max(widest, most)
        nodes = _longer(nodes, total, total + room)
        if disjoint:
            trees = _longer(trees, total, total + room)
        source, target = _longer(source, made, made + room), _longer(target, made, made + room)
        edge = _longer(edge, made, made + room)
        if len(drawn) < widest:
            drawn = np.empty(widest, np.int64)
        most = total + room if disjoint else len(seeds) + min(total + room, num_nodes)
        if len(table) < 2 * most:
            table = _table(nodes, trees, total, most)
        for local in range(begin, end):
            first = pointer[nodes[local]]
            taken = _draw(state, pointer[nodes[local] + 1] - first, count, replace, drawn)
            tree = trees[local] if disjoint else 0
            for i in range(taken):
                place = first + drawn[i]
                node = np.int64(row[place])
                if node < 0 or node >= num_nodes:
                    return nodes, trees, source, target, edge, nodes_in, edges_in, place
                slot = _find(table, nodes, trees, node, tree)
                if table[slot] < 0:
                    table[slot] = total
                    nodes[total] = node
                    if disjoint:
                        trees[total] = tree
                    total += 1
                source[made], target[made], edge[made] = table[slot], local, place
                made += 1
        nodes_in[hop + 1] = total - end
        edges_in[hop] = made - edges_in[:hop].sum()
        begin = end
    return nodes[:total], trees[:total], source[:made], target[:made], edge[:made], nodes_in, edges_in, -1


@kernel
def induced(pointer: Ints, row: Ints, nodes: Ints, trees: Ints) -> tuple[Ints, Ints, Ints]:
    """Every edge of the graph between sampled nodes (of one tree): its source, its target and its place."""
    table = _table(nodes, trees, len(nodes), len(nodes))
    made = 0
    room = 0
    for local in range(len(nodes)):
        room += pointer[nodes[local] + 1] - pointer[nodes[local]]
    source, target, edge = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    for local in range(len(nodes)):
        tree = trees[local] if len(trees) else 0
        for place in range(pointer[nodes[local]], pointer[nodes[local] + 1]):
            slot = _find(table, nodes, trees, np.int64(row[place]), tree)
            if table[slot] >= 0:
                source[made], target[made], edge[made] = table[slot], local, place
                made += 1
    return source[:made], target[:made], edge[:made]


@kernel
def normalized(
    pointer: Ints,
    degree: Any,
    nodes: Ints,
    rows: int,
    source: Ints,
    target: Ints,
    weight: Any,
    symmetric: bool,
) -> tuple[Ints, Ints, Any]:
    """The matrix of :func:`hypergraph.loader.blocks.blocks` for the first ``rows`` of ``nodes``, as CSR.

    ``target`` rises, as :func:`sample` gives it; ``weight`` is empty where all are 1.
    """
    crow = np.empty(rows + 1, np.int32)
    col = np.empty(rows + len(source), np.int32)
    value = np.empty(rows + len(source), degree.dtype)
    made, end = 0, 0
    for row in range(rows):
        node, begin = nodes[row], end
        while end < len(target) and target[end] == row:
            end += 1
        crow[row], col[made], value[made] = made, row, 1 / degree[node]
        made += 1
        scale = (pointer[node + 1] - pointer[node]) / max(end - begin, 1)
        for place in range(begin, end):
            given = scale * weight[place] if len(weight) else scale
            product = degree[node] * (degree[nodes[source[place]]] if symmetric else degree[node])
            col[made], value[made] = source[place], given / np.sqrt(product)
            made += 1
    crow[rows] = made
    return crow, col, value


@kernel
def transposed(crow: Ints, col: Ints, value: Any, columns: int) -> tuple[Ints, Ints, Any]:
    """The transpose of a CSR matrix: counted, not sorted."""
    back = np.zeros(columns + 1, np.int32)
    for place in range(len(col)):
        back[col[place] + 1] += 1
    for column in range(columns):
        back[column + 1] += back[column]
    at = back[:-1].copy()
    rows, values = np.empty_like(col), np.empty_like(value)
    for row in range(len(crow) - 1):
        for place in range(crow[row], crow[row + 1]):
            slot = at[col[place]]
            at[col[place]] += 1
            rows[slot], values[slot] = row, value[place]
    return back, rows, values
