from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hypergraph.datasets import default_split, load_graph, node_split, report
from hypergraph.datasets.disk import convert
from hypergraph.errors import InputError


def write_npz(path: Path, *, masks: bool = True) -> Path:
    random = np.random.default_rng(0)
    arrays = {
        "edge_index": random.integers(0, 40, (2, 160)),
        "x": random.normal(size=(40, 5)).astype(np.float32),
        "y": random.integers(0, 3, 40),
    }
    if masks:
        part = random.permutation(40)
        arrays |= {
            f"{name}_mask": np.isin(np.arange(40), part[i::3])
            for i, name in enumerate(("train", "val", "test"))
        }
    np.savez(path, **arrays)
    return path


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor) and a.layout == torch.sparse_csr:
        return torch.equal(a.to_dense(), b.to_dense())
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_a_folder_holds_the_same_graph(tmp_path):
    source = write_npz(tmp_path / "graph.npz")
    convert(str(source), tmp_path / "folder")
    here, there = load_graph(str(source)), load_graph(str(tmp_path / "folder"))
    for name, value in here.to_dict().items():
        assert same(value, there[name]), name
    rowptr, edges = there.rowptr, there.edge_index
    for node in (0, 7, 39):
        assert (edges[0, rowptr[node] : rowptr[node + 1]] == node).all()
    assert rowptr[-1] == edges.shape[1]
    assert default_split(there) == "masks"
    assert torch.equal(node_split(there, "planetoid").train, node_split(here, "planetoid").train)
    assert report.check(tmp_path / "folder")["ok"]
    # from a folder to a folder
    convert(str(tmp_path / "folder"), tmp_path / "again")
    assert load_graph(str(tmp_path / "again")).mapped == there.mapped


def test_arrays_are_mapped_and_never_written(tmp_path):
    convert(str(write_npz(tmp_path / "graph.npz")), tmp_path / "folder")
    before = (tmp_path / "folder" / "x.npy").read_bytes()
    graph = load_graph(str(tmp_path / "folder"))
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(tmp_path / "folder" / "x.npy") in maps.read_text()
    graph.x.zero_()
    assert (tmp_path / "folder" / "x.npy").read_bytes() == before


def test_sparse_features_and_published_graphs(tmp_path):
    convert("disease", tmp_path / "folder")
    here, there = load_graph("disease"), load_graph(str(tmp_path / "folder"))
    assert there.x.layout == torch.sparse_csr and same(here.x, there.x)
    assert there.name == "disease" and default_split(there) == default_split(here)
    with pytest.raises(InputError, match="convert it again with --task link"):
        load_graph(str(tmp_path / "folder"), task="link")


def test_damage_is_one_sentence(tmp_path):
    folder = tmp_path / "folder"
    convert(str(write_npz(tmp_path / "graph.npz")), folder)
    with pytest.raises(InputError, match="something here already"):
        convert("disease", folder)
    whole = (folder / "x.npy").read_bytes()
    (folder / "x.npy").write_bytes(whole[:-8])
    with pytest.raises(InputError, match=r"x.npy: 920 bytes, where 928 were written; the file is cut off"):
        load_graph(str(folder))
    (folder / "x.npy").write_bytes(bytes(len(whole)))
    with pytest.raises(InputError, match=r"x.npy: not a NumPy array"):
        load_graph(str(folder))
    (folder / "x.npy").write_bytes(whole[:-1] + b"?")
    checked = report.check(folder)
    assert checked["damaged"] == ["x.npy"] and not checked["ok"]
    (folder / "x.npy").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        load_graph(str(folder))
    for text in ("{", "[]", json.dumps({"version": 1})):
        (folder / "graph.json").write_text(text)
        with pytest.raises(InputError, match="not written by `hypergraph data convert`"):
            load_graph(str(folder))


def test_what_cannot_be_read_leaves_nothing(tmp_path):
    with pytest.raises(InputError):
        convert("no-such-graph", tmp_path / "folder")
    assert not list(tmp_path.iterdir())
