"""A small graph with words as ids and labels, a third of them missing, written in every format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

NODES = 60
RANDOM = np.random.default_rng(0)
EDGES = np.stack([np.arange(NODES), (np.arange(NODES) * 7 + 1) % NODES])
X = RANDOM.normal(size=(NODES, 3)).astype(np.float32).round(2)
LABELS = [["ham", "spam", ""][i % 3] for i in range(NODES)]
NAMES = [f"n{i}" for i in range(NODES)]
WEIGHTS = [1 + i % 3 for i in range(NODES)]


def rows(mark: str) -> str:
    return "".join(f"n{u}{mark}n{v}{mark}{w}\n" for (u, v), w in zip(EDGES.T, WEIGHTS))


def node_table(mark: str) -> str:
    lines = [mark.join([f"n{i}", LABELS[i], *map(str, X[i])]) for i in range(NODES)]
    return "\n".join([mark.join(["id", "label", "a", "b", "c"]), *lines]) + "\n"


def networkx() -> nx.Graph:
    graph = nx.Graph()
    for i in range(NODES):
        graph.add_node(f"n{i}", **{f"x{k}": float(value) for k, value in enumerate(X[i])})
        if LABELS[i]:
            graph.nodes[f"n{i}"]["y"] = LABELS[i]
    graph.add_weighted_edges_from((f"n{u}", f"n{v}", w) for (u, v), w in zip(EDGES.T.tolist(), WEIGHTS))
    return graph


def write_csv(folder: Path) -> Path:
    (folder / "edges.csv").write_text("source,target,weight\n" + rows(","))
    (folder / "nodes.csv").write_text(node_table(","))
    return folder


def write_gz(folder: Path) -> Path:
    (folder / "edges.tsv.gz").write_bytes(gzip.compress(rows("\t").encode()))
    (folder / "nodes.tsv.gz").write_bytes(gzip.compress(node_table("\t").encode()))
    return folder


def write_numbers(folder: Path) -> Path:
    np.savetxt(folder / "a.edges.csv", EDGES.T, fmt="%d", delimiter=",")
    sp.save_npz(folder / "a.feats.npz", sp.csr_matrix(X))
    np.save(folder / "a.labels.npy", np.arange(NODES) % 3)
    return folder / "a.edges.csv"


def write_txt(folder: Path) -> Path:
    (folder / "g.txt").write_text("# from elsewhere\n" + rows(" "))
    (folder / "g.labels.csv").write_text("\n".join(f"n{i};{LABELS[i]}" for i in range(NODES)))
    return folder / "g.txt"


def write_edgelist(folder: Path) -> Path:
    nx.write_edgelist(networkx(), folder / "g.edgelist")
    (folder / "g.nodes.csv").write_text(node_table(","))
    return folder / "g.edgelist"


def write_parquet(folder: Path) -> Path:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    ends = {name: [f"n{i}" for i in side] for name, side in zip(("source", "target"), EDGES)}
    pandas.DataFrame(ends).to_parquet(folder / "edges.parquet")
    table = {"id": [f"n{i}" for i in range(NODES)], "label": LABELS, "a": X[:, 0]}
    pandas.DataFrame(table).to_parquet(folder / "nodes.parquet")
    return folder


def write_npz(folder: Path) -> Path:
    np.savez(folder / "g.npz", edge_index=EDGES, x=X, y=np.array(LABELS), node_ids=np.array(NAMES))
    return folder / "g.npz"


def write_scipy(folder: Path) -> Path:
    matrix = sp.coo_matrix((WEIGHTS, tuple(EDGES)), shape=(NODES, NODES))
    sp.save_npz(folder / "g.npz", matrix.tocsr())
    return folder / "g.npz"


def write_pt(folder: Path) -> Path:
    data = Data(torch.from_numpy(X), torch.from_numpy(EDGES), y=LABELS, node_ids=NAMES)
    torch.save(data, folder / "g.pt")
    return folder / "g.pt"


def write_markup(suffix: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / f"g.{suffix}"
        {"graphml": nx.write_graphml, "gml": nx.write_gml, "gexf": nx.write_gexf}[suffix](networkx(), path)
        return path

    return write


NAMED: dict[str, Callable[[Path], Path]] = {
    "csv": write_csv,
    "tsv.gz": write_gz,
    "txt": write_txt,
    "edgelist": write_edgelist,
    "parquet": write_parquet,
    "npz": write_npz,
    "pt": write_pt,
    "graphml": write_markup("graphml"),
    "gml": write_markup("gml"),
    "gexf": write_markup("gexf"),
}
