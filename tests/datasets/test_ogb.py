from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from hypergraph.datasets import load_graph, node_split, ogb
from hypergraph.errors import InputError

EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 2), (5, 1), (1, 0)]


def pack(path: Path, rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


def write_ogb(folder: Path, *, labels: bool = True) -> Path:
    """A small folder of the layout of ogbn-arxiv."""
    pack(folder / "raw/edge.csv.gz", EDGES)
    pack(folder / "raw/num-node-list.csv.gz", [(7,)])
    pack(folder / "raw/num-edge-list.csv.gz", [(7,)])
    pack(folder / "raw/node-feat.csv.gz", [(i, -0.5 * i, 1e-3) for i in range(7)])
    if labels:
        pack(folder / "raw/node-label.csv.gz", [(i % 3,) for i in range(7)])
        for name, nodes in {"train": [0, 1, 2], "valid": [3, 4], "test": [5, 6]}.items():
            pack(folder / f"split/time/{name}.csv.gz", [(node,) for node in nodes])
    return folder


@pytest.mark.parametrize("place", ["ogbn_arxiv", "arxiv", "ogbn-arxiv", "."])
def test_nodes(tmp_path, place):
    write_ogb(tmp_path / place)
    graph = load_graph("ogbn-arxiv", data=tmp_path)
    assert graph.num_nodes == 7 and graph.edge_index.shape == (2, 12)  # one edge is given both ways
    assert torch.allclose(graph.x[4], torch.tensor([4.0, -2.0, 1e-3]))
    assert graph.y.tolist() == [0, 1, 2, 0, 1, 2, 0]
    split = node_split(graph, "planetoid")
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0, 1, 2], [3, 4], [5, 6]]


def test_links_and_arrays(tmp_path):
    write_ogb(tmp_path / "ogbl_collab", labels=False)
    graph = load_graph("ogbl-collab", data=tmp_path, task="link")
    assert graph.y is None and graph.edge_index.shape == (2, 12) and "train_mask" not in graph
    raw = tmp_path / "papers100M-bin/raw"
    raw.mkdir(parents=True)
    np.savez(raw / "data.npz", edge_index=np.array(EDGES).T, node_feat=np.ones((7, 2), np.float16))
    np.savez(raw / "node-label.npz", node_label=np.arange(7.0)[:, None])
    graph = load_graph("ogbn-papers100M", data=tmp_path)
    assert graph.x.dtype == torch.float32 and graph.y.tolist() == list(range(7))


def test_many_blocks_are_one_table(tmp_path, monkeypatch):
    write_ogb(tmp_path / "arxiv")
    whole = load_graph("ogbn-arxiv", data=tmp_path)
    monkeypatch.setattr(ogb, "_BLOCK", 11)
    assert torch.equal(load_graph("ogbn-arxiv", data=tmp_path).x, whole.x)


def test_an_archive_is_fetched_and_only_its_tables_are_taken(tmp_path, monkeypatch):
    write_ogb(tmp_path / "made/arxiv")
    (tmp_path / "made/arxiv/raw/evil.pt").write_bytes(b"pickle")
    monkeypatch.setenv("HYPERGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HYPERGRAPH_DATA", raising=False)
    asked = []

    def fetch(url, path, sha256):
        asked.append(url)
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as packed:
            for file in sorted((tmp_path / "made").rglob("*.*")):
                packed.write(file, file.relative_to(tmp_path / "made"))

    monkeypatch.setattr(ogb, "download", fetch)
    assert load_graph("ogbn-arxiv").num_nodes == 7
    assert load_graph("ogbn-arxiv").num_nodes == 7  # from the cache
    assert asked == ["https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"]
    assert not list((tmp_path / "cache").rglob("*.pt")) and not list((tmp_path / "cache").rglob("*.zip"))


def test_bad_input_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HYPERGRAPH_CACHE", str(tmp_path / "cache"))

    def offline(url, path, sha256):
        raise InputError(f"{url}: no network.")

    monkeypatch.setattr(ogb, "download", offline)
    with pytest.raises(
        InputError, match=r"archive cannot be fetched .*give the folder around it with --data"
    ):
        load_graph("ogbn-arxiv", data=tmp_path)
    folder = write_ogb(tmp_path / "arxiv")
    pack(folder / "raw/edge.csv.gz", [("a", "b")])
    with pytest.raises(InputError, match=r"edge.csv.gz: damaged, or not a file of OGB"):
        load_graph("ogbn-arxiv", data=tmp_path)
    (folder / "raw/edge.csv.gz").write_bytes(b"\x1f\x8bgarbage")
    with pytest.raises(InputError, match=r"edge.csv.gz: damaged"):
        load_graph("ogbn-arxiv", data=tmp_path)
    (folder / "raw/edge.csv.gz").unlink()
    with pytest.raises(InputError, match="no OGB graph of one kind of nodes"):
        load_graph("ogbn-arxiv", data=tmp_path)
    write_ogb(folder)
    pack(folder / "split/time/valid.csv.gz", [(9,)])
    with pytest.raises(InputError, match="a node outside 0 to 6"):
        load_graph("ogbn-arxiv", data=tmp_path)
