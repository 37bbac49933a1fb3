"""Graphs of the sizes of ogbn-arxiv and ogbn-products: the sampler, training, memory. Prints Markdown.

    python benchmarks/scale.py [--only sampler|arxiv|products] [--work FOLDER] [--threads 1]

The graphs are synthetic: random edges, features of class means and noise. ``products`` writes a file of 2 GB
and a folder of 3 GB to ``--work`` and needs 12 GiB of memory; memory is measured in processes of their own.
Processor time is counted where a busy machine would disturb the clock; a speed is the median of rounds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

SIZES = {
    "arxiv": {"nodes": 169_343, "edges": 1_166_243, "features": 128, "classes": 40, "train": 90_941},
    "products": {"nodes": 2_449_029, "edges": 61_859_140, "features": 100, "classes": 47, "train": 196_615},
}
BATCH, FANOUT, DIM = 1024, [15, 10], 16


def write_graph(path: Path, size: dict[str, int]) -> None:
    """A graph in an npz."""
    random = np.random.default_rng(0)
    nodes, classes = size["nodes"], size["classes"]
    y = random.integers(0, classes, nodes)
    means = random.normal(size=(classes, size["features"])).astype(np.float32)
    x = random.standard_normal((nodes, size["features"]), dtype=np.float32)
    x += means[y]
    order = random.permutation(nodes)
    cut = (size["train"], size["train"] + (nodes - size["train"]) // 2)
    masks = {}
    for name, part in zip(("train", "val", "test"), np.split(order, cut)):
        masks[f"{name}_mask"] = np.zeros(nodes, dtype=bool)
        masks[f"{name}_mask"][part] = True
    np.savez(path, edge_index=random.integers(0, nodes, (2, size["edges"])), x=x, y=y, **masks)


def peak() -> float:
    """The most memory that this process has had, in GiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20


def median(function: Callable[[], Any], rounds: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds, after one call to warm up."""
    function()
    found = []
    for _ in range(rounds):
        start = clock()
        function()
        found.append(clock() - start)
    return statistics.median(found)


def child(what: str, *words: str) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--child", what, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE)  # what goes wrong is said on standard error
    if done.returncode:
        sys.exit(f"{what} of {words[0]} failed.")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def sampler() -> None:
    """Milliseconds a batch: 100k nodes, 1M edges, 1,024 seeds, fan-out 15 and 10."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.sampler import NodeSamplerInput

    from hypergraph.loader import NeighborSampler

    random = np.random.default_rng(0)
    edges = torch.from_numpy(random.integers(0, 100_000, (2, 1_000_000)))
    found = NeighborSampler(Data(edge_index=edges, num_nodes=100_000), FANOUT)
    batches = [
        NodeSamplerInput(None, part) for part in torch.from_numpy(random.permutation(100_000)).split(BATCH)
    ]

    def one(batch: NodeSamplerInput) -> float:
        start = time.thread_time()
        found.sample_from_nodes(batch)
        return time.thread_time() - start

    one(batches[0])
    alone = statistics.median(one(batch) for _ in range(3) for batch in batches)
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        for batch in batches:
            one(batch)
        single = time.perf_counter() - start
        with ThreadPoolExecutor(2) as pool:
            start = time.perf_counter()
            together = list(pool.map(one, batches))
            rates.append((single / (time.perf_counter() - start), statistics.median(together)))
    clock, inflated = (statistics.median(rate[i] for rate in rates) for i in (0, 1))
    print("## Sampler\n\n100k nodes, 1M edges, 1,024 seeds, fan-out 15 and 10.\n")
    print("| | ms a batch, one thread |\n|---|---:|")
    print(f"| hypergraph.loader.NeighborSampler | {1e3 * alone:.1f} |")
    try:
        import torch_sparse  # noqa: F401
    except ImportError:
        print("| torch-sparse | not installed |")
    else:
        pointer, row = (torch.from_numpy(np.array(part)) for part in (found._pointer, found._row))
        given = [(pointer, row, batch.node, FANOUT, False, True) for batch in batches[:20]]
        times = iter(given * 2)
        seconds = median(lambda: torch.ops.torch_sparse.neighbor_sample(*next(times)), 20)
        print(f"| torch-sparse | {1e3 * seconds:.1f} ({seconds / alone:.0f} times) |")
    print(
        f"\nTwo threads: {clock:.2f} times the batches by the clock; by processor time a batch takes "
        f"{inflated / alone:.2f} times as long, which would be {2 * alone / inflated:.2f} times on two free "
        "cores (at least 1.7)."
    )


def config_of(graph: str, threads: int, **more: Any) -> Any:
    from hypergraph.tasks.config import NodeConfig

    given = {"head": "bmlr-l", "encoder": "hgcn", "dim": DIM, "num_layers": 2, "threads": threads}
    given |= {"device": "cpu"}
    return NodeConfig(dataset=graph, **given, **more)


def child_full(graph: str, threads: int) -> dict[str, float]:
    """A full-batch epoch of node classification: a training step and an evaluation."""
    import torch

    from hypergraph.tasks.node_clf import NodeClf

    torch.set_num_threads(threads)
    config = config_of(graph, threads)
    task = NodeClf(config, 0, NodeClf.load(config))

    def epoch() -> None:
        task.train_epoch(1)
        task.evaluate()

    return {"seconds": median(epoch, 5), "GiB": peak()}


def child_gcn(graph: str, threads: int) -> dict[str, float]:
    """The same of PyG's GCN on edge_index, normalised once."""
    import torch
    from torch_geometric.nn import GCNConv
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    from hypergraph.tasks.node_clf import NodeClf

    torch.set_num_threads(threads)
    data = NodeClf.load(config_of(graph, threads))
    edges, weight = gcn_norm(data.edge_index, None, len(data.x))
    convs = torch.nn.ModuleList([GCNConv(n, DIM, normalize=False) for n in (data.x.shape[1], DIM)])
    model = torch.nn.ModuleList([convs, torch.nn.Linear(DIM, len(data.classes))])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    y, train = data.graph.y, data.split.train

    def logits() -> torch.Tensor:
        u = data.x
        for conv in convs:
            u = conv(u, edges, weight).relu()
        return model[1](u)

    def epoch() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits()[train], y[train]).backward()
        optimizer.step()
        with torch.no_grad():
            logits()

    return {"seconds": median(epoch, 5), "GiB": peak()}


def child_links(graph: str, threads: int) -> dict[str, float]:
    """A full-batch epoch of link prediction: HNN of bfc-p, a training step and an evaluation."""
    import torch

    from hypergraph.tasks.config import LinkConfig
    from hypergraph.tasks.link_pred import LinkPred

    torch.set_num_threads(threads)
    config = LinkConfig(dataset=graph, fc="bfc-p", encoder="hnn", dim=DIM, threads=threads, device="cpu")
    task = LinkPred(config, 0, LinkPred.load(config))

    def epoch() -> None:
        task.train_epoch(1)
        task.evaluate()

    return {"seconds": median(epoch, 3), "GiB": peak()}


def child_batches(graph: str, threads: int, count: int = 40) -> dict[str, float]:
    """Mini-batches from a file or a folder: to the first one, and then by ours and by a PyG GCN in turns."""
    start, spent = time.perf_counter(), time.process_time()
    import torch
    from torch_geometric.nn import GCNConv
    from torch_geometric.sampler import NodeSamplerInput

    from hypergraph.tasks.node_clf import NodeClf

    torch.set_num_threads(threads)
    config = config_of(graph, threads, batch_size=BATCH, fanout=",".join(map(str, FANOUT)))
    task = NodeClf(config, 0, NodeClf.load(config))
    assert task.batches is not None
    order = task.batches.sampler.shuffled(len(task.split.train))
    parts = [part for part in order.split(BATCH) if len(part) == BATCH][: count + 1]
    task.model.train()
    task._train_batch(parts[0], 1.0)
    first, own = time.perf_counter() - start, time.process_time() - spent

    convs = torch.nn.ModuleList([GCNConv(n, DIM) for n in (task.data.x.shape[1], DIM)])
    model = torch.nn.ModuleList([convs, torch.nn.Linear(DIM, task.num_classes)])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)

    counts = []

    def loaded(index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = task.batches.sampler.sample_from_nodes(NodeSamplerInput(None, task.split.train[index]))
        counts.append((len(found.node), len(found.row)))
        return task.batches.features(found.node), torch.stack([found.row, found.col])

    def gcn(index: torch.Tensor) -> None:
        nodes = task.split.train[index]
        u, edges = loaded(index)
        for conv in convs:
            u = conv(u, edges).relu()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model[1](u[:BATCH]), task.y[nodes]).backward()
        optimizer.step()

    times: dict[str, list[float]] = {"ours": [], "gcn": [], "sample": []}
    for index in parts[1:]:
        for name, step in (
            ("ours", lambda index=index: task._train_batch(index, 1.0)),
            ("gcn", lambda index=index: gcn(index)),
            ("sample", lambda index=index: loaded(index)),
        ):
            begin = time.process_time()
            step()
            times[name].append(time.process_time() - begin)
    found = {name: statistics.median(values) for name, values in times.items()}
    nodes, edges = (statistics.mean(count[i] for count in counts) for i in (0, 1))
    return {"first": first, "first_own": own, "GiB": peak(), "nodes": nodes, "edges": edges, **found}


def written(work: Path, name: str) -> tuple[Path, Path, str]:
    """A graph as an npz and as a folder, and what converting took."""
    path, folder = work / f"{name}.npz", work / name
    if folder.exists():
        return path, folder, ""
    if not path.exists():
        write_graph(path, SIZES[name])
    command = [sys.executable, "-m", "hypergraph", "data", "convert", str(path), str(folder)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    return path, folder, f"`data convert` took {seconds:.0f} s."


def arxiv(work: Path, threads: int) -> dict[str, float]:
    path, folder, _ = written(work, "arxiv")
    full, gcn, links = (child(what, str(path), str(threads)) for what in ("full", "gcn", "links"))
    batches = child("batches", str(folder), str(threads))
    print("\n## The size of ogbn-arxiv\n\n169,343 nodes, 1.17M edges, 128 features, 40 classes.\n")
    print("| | s an epoch | peak GiB | target |\n|---|---:|---:|---|")
    print(f"| HGCN + BMLR-L, full batch | {full['seconds']:.2f} | {full['GiB']:.2f} | below GCN; 2.5 GiB |")
    print(f"| PyG GCN, full batch | {gcn['seconds']:.2f} | {gcn['GiB']:.2f} | |")
    print(f"| link prediction, HNN of BFC | {links['seconds']:.2f} | {links['GiB']:.2f} | 3 s |")
    print(report_batches(batches))
    return batches


def report_batches(found: dict[str, float]) -> str:
    return (
        f"\nBatches of {BATCH}, fan-out 15 and 10: {1e3 * found['ours']:.0f} ms a batch, a PyG GCN on the "
        f"same {1e3 * found['gcn']:.0f} ms ({found['ours'] / found['gcn']:.2f} times, at most 1.3), of both "
        f"{1e3 * found['sample']:.0f} ms sampling and gathering. A batch has {found['nodes']:,.0f} nodes and "
        f"{found['edges']:,.0f} edges: {1e6 * found['ours'] / found['nodes']:.2f} us a node. To the first "
        f"batch {found['first_own']:.1f} s of processor time, {found['first']:.1f} s by the clock; peak "
        f"{found['GiB']:.2f} GiB."
    )


def products(work: Path, threads: int, before: dict[str, float] | None) -> None:
    path, folder, converted = written(work, "products")
    print("\n## The size of ogbn-products\n\n2.45M nodes, 61.9M edges, 100 features, 47 classes.", converted)
    if path.exists():
        print(
            "\nFrom the npz (to the first batch at most 60 s):",
            report_batches(child("batches", str(path), str(threads))),
        )
    found = child("batches", str(folder), str(threads))
    print("\nFrom the mapped folder (at most 10 s, 12 GiB):", report_batches(found))
    if before:
        each = found["ours"] / found["nodes"] * before["nodes"] / before["ours"]
        print(
            f"\nA batch takes {found['ours'] / before['ours']:.2f} times that of arxiv's size, and has "
            f"{found['nodes'] / before['nodes']:.2f} times the nodes, whose features are gathered:"
            f" {each:.2f} times for a node (at most 1.2)."
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["sampler", "arxiv", "products"])
    parser.add_argument(
        "--work", type=Path, help="where graphs are written, and kept; by default a folder of /tmp"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--child", nargs=3, metavar=("WHAT", "GRAPH", "THREADS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        what, graph, threads = args.child
        print(json.dumps(globals()[f"child_{what}"](graph, int(threads))))
        return
    work = args.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    try:
        if args.only in (None, "sampler"):
            sampler()
        before = arxiv(work, args.threads) if args.only in (None, "arxiv") else None
        if args.only in (None, "products"):
            products(work, args.threads, before)
    finally:
        if args.work is None:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
