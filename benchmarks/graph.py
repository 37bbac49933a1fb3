"""HGCN against the way the published code computes it, and against PyG's Euclidean GCN; one thread, float32.

    python benchmarks/graph.py [--data FOLDER] [--rounds 20] [--only speed|loss|memory|edges]

An epoch is a training step and an evaluation forward pass, of two convolutions of dimension 16 and the head
``bmlr-p``. The contestants take turns, so that a busy machine slows all; medians are compared.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from official_style import OfficialStyleHGCN
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from hypergraph.datasets import default_split, load_graph, node_split, prepare_features
from hypergraph.geometry import PoincareBall
from hypergraph.geometry.numerics import radius_limit
from hypergraph.nn import HGCN, make_head, normalized_adjacency
from hypergraph.nn.adjacency import Edges

DIM = 16
TARGET = {"cora": 15.0, "pubmed": 10.0, "airport": 5.0}
REPORTED = {"cora": 140, "pubmed": 421, "airport": 61}


class Model(nn.Module):
    """An encoder and a head."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, x: Tensor, graph: Tensor) -> Tensor:
        return self.head(self.encoder(x, graph))


class PyGGCN(nn.Module):
    """PyG's GCN with a linear head."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList([GCNConv(n, DIM, normalize=False) for n in (features, DIM)])
        self.head = nn.Linear(DIM, classes)

    def forward(self, x: Tensor, graph: tuple[Tensor, Tensor | None]) -> Tensor:
        for conv in self.convs:
            x = conv(x, *graph).relu()
        return self.head(x)


def graph_of(name: str, data: str | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Features, edges, labels and training nodes."""
    graph = load_graph(name, data=data)
    train = node_split(graph, default_split(graph)).train
    return prepare_features(graph, "node"), graph.edge_index, graph.y, torch.as_tensor(train)


def trainer(model: nn.Module, fused: bool, *given: Tensor) -> Callable[[], float]:
    """One epoch as a function."""
    x, graph, y, train = given
    target = y[train]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, fused=fused)

    def epoch() -> float:
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, graph).index_select(0, train), target)
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(x, graph)
        return loss.item()

    return epoch


def contestants(name: str, data: str | None) -> dict[str, Callable[[], float]]:
    """Ours and the yardstick from the same weights, and PyG's GCN with either kind of graph."""
    torch.manual_seed(0)
    x, edge_index, y, train = graph_of(name, data)
    x = x.to(torch.get_default_dtype())
    nodes, features = x.shape
    classes = int(y.max()) + 1
    ours = Model(HGCN(features, DIM, 2, PoincareBall()), make_head("bmlr-p", DIM, classes))
    official = Model(
        OfficialStyleHGCN([features, DIM, DIM], margin=1 - radius_limit(x.dtype)),
        make_head("bmlr-p", DIM, classes),
    )
    official.head.load_state_dict(ours.head.state_dict())
    with torch.no_grad():
        for conv, weight in zip(ours.encoder.layers, official.encoder.weights):
            weight.copy_(conv.linear.weight)
    matrix = normalized_adjacency(edge_index, num_nodes=nodes).csr
    edges, weight = gcn_norm(edge_index, None, nodes)
    csr = Edges(edges, weight, (nodes, nodes), 0).matrix().csr
    return {
        "ours": trainer(ours, True, x, edge_index, y, train),
        "official style": trainer(official, False, x.to_dense(), matrix.to_sparse_coo(), y, train),
        "PyG GCN, edges": trainer(PyGGCN(features, classes), True, x, (edges, weight), y, train),
        "PyG GCN, CSR": trainer(PyGGCN(features, classes), True, x, (csr, None), y, train),
    }


def speed(names: list[str], data: str | None, rounds: int) -> None:
    """Milliseconds an epoch."""
    print("ms an epoch       ours  official style  ratio (target)    PyG GCN  ours/PyG (limit 2)  reported")
    for name in names:
        runs = contestants(name, data)
        times: dict[str, list[float]] = {who: [] for who in runs}
        for turn in range(rounds + 3):
            for who, epoch in runs.items():
                start = time.perf_counter()
                epoch()
                if turn >= 3:
                    times[who].append(1e3 * (time.perf_counter() - start))
        ours, official, *gcns = (statistics.median(times[who]) for who in runs)
        gcn = min(gcns)
        print(
            f"{name:12} {ours:9.2f} {official:15.1f} {official / ours:6.1f} ({TARGET[name]:g})"
            f" {gcn:15.2f} {ours / gcn:12.2f} {REPORTED[name]:24}"
        )


def loss(names: list[str], data: str | None) -> None:
    """The loss after 50 epochs from the same weights, in float32 and float64.

    On Airport some points are clipped at the boundary of the ball, and the two differ by more.
    """
    for dtype, name in itertools.product((torch.float32, torch.float64), names):
        torch.set_default_dtype(dtype)
        runs = contestants(name, data)
        ours, official = ([runs[who]() for _ in range(51)][-1] for who in ("ours", "official style"))
        torch.set_default_dtype(torch.float32)
        print(
            f"{name:12} {dtype} loss after 50 epochs {ours:.6f}, official style {official:.6f} (within 1e-4)"
        )


def memory(data: str | None) -> None:
    """The peak of a process that trains on PubMed."""
    if "--child" not in sys.argv:
        extra = [] if data is None else ["--data", data]
        subprocess.run([sys.executable, __file__, "--only", "memory", "--child", *extra], check=True)
        return
    x, edge_index, y, train = graph_of("pubmed", data)
    model = Model(HGCN(x.shape[1], DIM, 2, PoincareBall()), make_head("bmlr-p", DIM, 3))
    epoch = trainer(model, True, x, edge_index, y, train)
    for _ in range(20):
        epoch()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"pubmed       peak memory of a training process {peak:.2f} GiB (at most 0.93)")


def edges(kind: str) -> None:
    """Time per edge on random graphs of average degree 10.

    In a ``local`` graph the ends of an edge are at most 1000 apart, as where nodes are numbered by community.
    In a ``uniform`` one they are anywhere: beyond the cache, every edge is then a read from memory.
    """
    before = None
    for count in (10**5, 10**6, 10**7):
        generator = torch.Generator().manual_seed(0)
        nodes = count // 10
        source = torch.randint(nodes, (count,), generator=generator)
        reach = 1000 if kind == "local" else nodes
        target = (source + torch.randint(reach, (count,), generator=generator)) % nodes
        x = torch.randn(nodes, DIM, generator=generator) / 4
        y = torch.randint(4, (nodes,), generator=generator)
        model = Model(HGCN(DIM, DIM, 2, PoincareBall()), make_head("bmlr-p", DIM, 4))
        epoch = trainer(model, True, x, torch.stack([source, target]), y, torch.arange(nodes // 10))
        epoch()
        times = []
        for _ in range(max(3, 10**7 // count // 5)):
            start = time.perf_counter()
            epoch()
            times.append(time.perf_counter() - start)
        each = 1e9 * statistics.median(times) / count
        growth = "" if before is None else f", {each / before:.2f} times the one before (at most 1.5)"
        print(f"{count:.0e} edges, {kind:8} {each:6.0f} ns an edge and epoch{growth}")
        before = each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the folder with the raw data")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--datasets", nargs="+", default=list(TARGET), choices=list(TARGET))
    parser.add_argument("--graphs", nargs="+", default=["local", "uniform"], choices=["local", "uniform"])
    parser.add_argument("--only", choices=["speed", "loss", "memory", "edges"])
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "Sparse")
    if args.only in (None, "speed"):
        speed(args.datasets, args.data, args.rounds)
    if args.only in (None, "loss"):
        loss(args.datasets, args.data)
    if args.only in (None, "memory"):
        memory(args.data)
    if args.only in (None, "edges"):
        for kind in args.graphs:
            edges(kind)


if __name__ == "__main__":
    main()
