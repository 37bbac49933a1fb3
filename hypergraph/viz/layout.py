"""A graph without a run in the disk: a tree by its own drawing, any other graph by a short training."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from hypergraph.errors import InputError
from hypergraph.geometry.space import Lorentz
from hypergraph.nn.decoders import FermiDirac
from hypergraph.viz.plane import Array
from hypergraph.viz.sarkar import sarkar
from hypergraph.viz.scene import Column, Say, Scene, add_graph, quiet

STEPS = 300
PAIRS = 50_000  # edges, and as many other pairs, that one step looks at
REACH = 7.0  # how far out the training starts


def graph_scene(dataset: Any, data: str | None = None, seed: int = 0, say: Say = quiet) -> Scene:
    """The scene of a graph: a dataset's name, a file, a folder, or an object from Python."""
    from hypergraph.datasets import load_graph
    from hypergraph.datasets.arrays import node_ids
    from hypergraph.tasks.result import count as counted

    graph = load_graph(dataset, data=data)
    count = int(graph.num_nodes)
    if count == 0:
        raise InputError(f"{graph.name}: the graph has no nodes; there is nothing to show.")
    edges = graph.edge_index.numpy()
    edges = edges[:, edges[0] < edges[1]]
    sheet, note = place(edges, count, seed)
    say(f"{graph.name}: {note}.")
    scene = Scene(
        title=f"{graph.name} · {counted(count, 'node')} · {counted(edges.shape[1], 'edge')}",
        sheet=sheet,
        s=1.0,
        ids=[str(name) for name in node_ids(graph)],
        note=note,
    )
    if graph.y is not None:
        scene.classes = [str(name) for name in graph.classes]
        scene.columns["class"] = Column(graph.y.numpy(), scene.classes)
    add_graph(scene, graph)
    return scene


def place(edges: NDArray[Any], count: int, seed: int = 0) -> tuple[Array, str]:
    """Points on the hyperboloid of curvature -1 for the nodes of a graph, and how they were found."""
    points = sarkar(edges, count)[0]
    if edges.shape[1] < count:
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        links = coo_matrix((np.ones(edges.shape[1]), edges), shape=(count, count))
        parts = connected_components(links, directed=False)[0]
        if edges.shape[1] == count - parts:
            kind = "a tree" if parts == 1 else f"a forest of {parts} trees, hung at one root"
            return points, f"{kind}, by Sarkar's construction"
    trained, auc = train(points, edges, seed)
    return trained, f"2 dimensions, trained for {STEPS} steps to tell edges from other pairs (AUC {auc:.3f})"


def train(points: Array, edges: NDArray[Any], seed: int = 0) -> tuple[Array, float]:
    """Move points so that neighbours are near and other pairs far, by a Fermi-Dirac decoder.

    Args:
        points: where they start, on the hyperboloid of curvature -1.
        edges: ``(2, E)``.
        seed: of the pairs that are drawn.

    Returns:
        The points, and the AUC of edges against random pairs.
    """
    from sklearn.metrics import roc_auc_score

    unit = Lorentz().double()
    generator = torch.Generator().manual_seed(seed)
    start = unit.log0(torch.from_numpy(points))
    start = start * min(1.0, REACH / max(float(start.norm(dim=-1).max()), 1e-9))
    # two nodes at one place would never part
    u = (start + 1e-3 * torch.randn(start.shape, generator=generator).double()).requires_grad_()
    decoder, links = FermiDirac(unit), torch.from_numpy(edges)
    optimizer = torch.optim.Adam([u], lr=0.05)

    def pairs() -> tuple[torch.Tensor, torch.Tensor]:
        some = torch.randperm(links.shape[1], generator=generator)[:PAIRS]
        return links[:, some], torch.randint(len(points), (2, len(some)), generator=generator)

    for _ in range(STEPS):
        near, far = pairs()
        z = unit.exp0(u)
        loss = F.softplus(-decoder(z, near)).mean() + F.softplus(decoder(z, far)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        near, far = pairs()
        z = unit.exp0(u)
        scores = torch.cat([decoder(z, near), decoder(z, far)])
    truth = np.repeat([1, 0], near.shape[1])
    return z.numpy(), float(roc_auc_score(truth, scores.numpy()))
