"""Graphs that are written to a folder in blocks: the same as those that are read as a whole."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hypergraph.datasets import edge_lists, large, load_graph, sorting
from hypergraph.datasets.disk import convert, write_folder
from hypergraph.datasets.load import large_graph
from hypergraph.errors import InputError
from tests.datasets.test_ogb import write_ogb


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks and buckets of few edges."""
    for module in (sorting, large):
        monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr(sorting, "BUCKET", 16)
    monkeypatch.setattr(sorting, "_ROWS", 1000)
    monkeypatch.setattr(large, "_BYTES", 100)
    monkeypatch.setattr(edge_lists, "_TEXT", 50)


def same_folders(graph: Path | str, folder: Path, data: Path | None = None) -> None:
    """Whether a graph is written in blocks, and as it is when it is read as a whole."""
    in_blocks = large_graph(str(graph), data=data)
    assert in_blocks is not None
    here = write_folder(in_blocks, folder / "blocks")
    there = write_folder(load_graph(str(graph), data=data), folder / "whole")
    assert here["about"] == there["about"] and here["sparse"] == there["sparse"]
    assert here["arrays"] == there["arrays"]  # with their checksums
    assert sorted(file.name for file in (folder / "blocks").iterdir()) == sorted(
        file.name for file in (folder / "whole").iterdir()
    )


def random_graph(seed: int, *, nodes: int = 30, edges: int = 120, width: int = 5) -> dict[str, np.ndarray]:
    """With self-loops, repeated edges, edges in both directions and nodes without any."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes - 4, (2, edges)) + 2
    return {
        "edge_index": np.concatenate([ends, ends[::-1, : edges // 3], ends[:, :5]], axis=1),
        "x": random.normal(size=(nodes, width)),
        "y": random.integers(-1, 3, nodes),
        "train_mask": np.arange(nodes) % 3 == 0,
        "val_mask": np.arange(nodes) % 3 == 1,
        "test_mask": np.arange(nodes) % 3 == 2,
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, seed, save):
    save(tmp_path / "graph.npz", **random_graph(seed))
    same_folders(tmp_path / "graph.npz", tmp_path)


@pytest.mark.parametrize("weights", [np.ones(165), np.arange(165), np.linspace(0.1, 9, 165) ** 3])
def test_weights(tmp_path, weights):
    np.savez(tmp_path / "graph.npz", edge_weight=weights, **random_graph(0))
    same_folders(tmp_path / "graph.npz", tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"x": np.eye(30, 80)},  # becomes sparse
        {"x": np.ones((30, 80), np.float16)},
        {"x": np.asfortranarray(np.arange(60.0).reshape(30, 2))},
        {"edge_index": np.asfortranarray(random_graph(1)["edge_index"].astype(np.int32))},
        {"edge_index": np.empty((2, 0), np.int64)},
        {"edge_index": np.zeros((2, 50), np.uint8)},
        {"node_ids": np.array([f"n{i}" for i in range(30)]), "classes": np.array(["a", "b", "c"])},
        {"x": None},
        {"x": None, "y": None},
        {"x": None, "y": None, "num_nodes": np.array(33)},
    ],
)
def test_kinds_of_npz(tmp_path, change):
    arrays = {name: array for name, array in (random_graph(2) | change).items() if array is not None}
    np.savez(tmp_path / "graph.npz", **arrays)
    if change.get("edge_index", np.ones(1)).size == 0:
        assert load_graph(str(tmp_path / "graph.npz")).num_nodes == 30
        assert large_graph(str(tmp_path / "graph.npz")) is None
    else:
        same_folders(tmp_path / "graph.npz", tmp_path)


@pytest.mark.parametrize("mark", [",", "\t", " ", ";"])
@pytest.mark.parametrize("header", ["", "source,target\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_edge_lists_of_numbers(tmp_path, mark, header, end):
    pairs = random_graph(3)["edge_index"].T.tolist()
    text = header + "\n".join(f"{i * i},{j * j}" for i, j in pairs) + ("\n" if header else "")
    (tmp_path / "graph.csv").write_bytes(text.replace(",", mark).replace("\n", end).encode())
    same_folders(tmp_path / "graph.csv", tmp_path)


def test_an_edge_list_beside_arrays(tmp_path):
    arrays = random_graph(4)
    folder = tmp_path / "own"
    folder.mkdir()
    text = "\n".join(f"{i},{j}" for i, j in arrays["edge_index"].T.tolist())
    with gzip.open(folder / "edges.csv.gz", "wt") as file:
        file.write(text)
    np.save(folder / "features.npy", arrays["x"])
    np.save(folder / "labels.npy", arrays["y"])
    same_folders(folder, tmp_path)
    with gzip.open(folder / "edges.csv.gz", "at") as file:
        file.write("\n3,99\n")
    with pytest.raises(InputError, match=r"edges.csv.gz:166: node '99' is unknown; the graph has 0 to 29"):
        convert(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()


TEXTS = ["a,b\nb,c\n", "1,2,0.5\n2,3,1.5\n", "007,1\n7,1\n", "# a\n1,2\n2 3,4\n", "1,2\n\n3,4\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_are_read_as_a_whole(tmp_path, text):
    (tmp_path / "graph.csv").write_text(text)
    assert large_graph(str(tmp_path / "graph.csv")) is None


def test_ogb(tmp_path):
    write_ogb(tmp_path / "arxiv")
    same_folders("ogbn-arxiv", tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"edge_index": np.array([[0, 1], [1, 30]])}, "edge 1: node '30' is unknown; the graph has 0 to 29"),
        ({"x": np.where(np.arange(150).reshape(30, 5) == 77, np.nan, 0.0)}, "node 15: feature 3 is nan"),
        ({"x": np.ones((29, 5))}, "x has 29 rows|y has 30 rows"),
        ({"edge_weight": np.where(np.arange(165) == 100, np.inf, 1.0)}, "edge 100: the weight is inf"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_left(tmp_path, change, sentence):
    np.savez(tmp_path / "graph.npz", **(random_graph(5) | change))
    with pytest.raises(InputError, match=sentence):
        convert(tmp_path / "graph.npz", tmp_path / "new")
    with pytest.raises(InputError, match=sentence):
        load_graph(tmp_path / "graph.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["graph.npz"]


def test_a_damaged_npz_is_one_sentence(tmp_path):
    np.savez_compressed(tmp_path / "graph.npz", **random_graph(6))
    whole = (tmp_path / "graph.npz").read_bytes()
    for end in (100, len(whole) // 2, len(whole) - 30):
        (tmp_path / "graph.npz").write_bytes(whole[:end])
        with pytest.raises(InputError):
            convert(tmp_path / "graph.npz", tmp_path / "new")
    for at in range(40, len(whole) - 400, 97):
        (tmp_path / "graph.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            convert(tmp_path / "graph.npz", tmp_path / f"new{at}")
        except InputError as error:
            assert "graph.npz" in str(error)  # noqa: PT017


MEASURE = """
import sys
from hypergraph.datasets.disk import convert
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
convert(sys.argv[1], sys.argv[2])
small = peak()
convert(sys.argv[3], sys.argv[4])
print(peak() - small)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("kind", ["npz", "csv"])
def test_memory_does_not_grow_with_edges_and_features(tmp_path, kind):
    random = np.random.default_rng(0)
    nodes = 20_000
    for name, edges, width in (("small", 1000, 2), ("large", 2_000_000, 2000)):
        ends = random.integers(0, nodes, (2, edges), dtype=np.int32)
        x = np.ones((nodes, width), np.float32)
        folder = tmp_path / name
        folder.mkdir()
        if kind == "npz":
            np.savez(folder / "graph.npz", edge_index=ends, x=x)
        else:
            (folder / "edges.csv").write_text("\n".join(map("%d,%d".__mod__, zip(*ends.tolist()))))
            np.save(folder / "features.npy", x)
    paths = [
        part
        for name in ("small", "large")
        for part in (tmp_path / name / ("graph.npz" if kind == "npz" else ""), tmp_path / f"{name}-folder")
    ]
    done = subprocess.run([sys.executable, "-c", MEASURE, *map(str, paths)], capture_output=True, check=True)
    written = sum(file.stat().st_size for file in (tmp_path / "large-folder").iterdir()) / 1024
    assert int(done.stdout) < 0.5 * written
