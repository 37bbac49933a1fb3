from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import InMemoryDataset
from torch_geometric.io import read_planetoid_data

from hypergraph.datasets import Airport, CiteSeer, Cora, Disease, PubMed, SimulatedDisease, load_graph
from hypergraph.datasets import sources as sources_module
from hypergraph.datasets.embedded import PATH, make_cora
from hypergraph.datasets.names import DATASETS
from hypergraph.errors import InputError

STATS = {  # nodes, undirected edges, columns of x in the file, label counts
    ("cora", "node"): (2708, 5278, 1433, [351, 217, 418, 818, 426, 298, 180]),
    ("pubmed", "link"): (19717, 44324, 500, [4103, 7739, 7875]),
    ("airport", "node"): (3188, 18630, 4, [521, 1443, 999, 225]),
    ("airport", "link"): (3188, 18630, 5, [521, 1443, 999, 225]),
    ("disease", "node"): (1044, 1043, 1000, [831, 213]),
    ("disease", "link"): (2665, 2664, 11, [1614, 1051]),
    ("disease-hgcn", "link"): (2665, 2664, 11, [1605, 1060]),
}


@pytest.mark.parametrize(("name", "task"), STATS)
def test_statistics(name: str, task: str, real_data: Callable[[str], Path | None]) -> None:
    data = load_graph(name, data=real_data(name), task=task)
    nodes, edges, columns, labels = STATS[name, task]
    assert (data.num_nodes, data.edge_index.shape[1], tuple(data.x.shape)) == (
        nodes,
        2 * edges,
        (nodes, columns),
    )
    assert np.bincount(data.y).tolist() == labels
    assert data.is_undirected()
    assert data.is_coalesced()
    assert not data.has_self_loops()
    assert data.validate()
    assert data.x.dtype == torch.float32
    assert (data.x.layout == torch.sparse_csr) == (columns > 11)
    assert data.name == name
    info = DATASETS[name]
    assert (
        (nodes, edges) == (info.link or (info.nodes, info.edges))[:2]
        if task == "link"
        else (info.nodes, info.edges)
    )
    assert info.classes == len(labels)
    if name != "disease":
        assert set(data.provenance) == {"source", "url", "sha256", "version"}


@pytest.mark.parametrize("name", ["cora", "pubmed"])
def test_planetoid_reads_as_pyg_does(name: str, data_dir: Path) -> None:
    ours, theirs = load_graph(name, data=data_dir), read_planetoid_data(str(data_dir / name), name)
    assert torch.equal(ours.x.to_dense(), theirs.x)
    assert torch.equal(ours.edge_index, theirs.coalesce().edge_index)
    for part in ("y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[part], theirs[part])


def _members(path: Path) -> dict[str, bytes]:
    """The files in an npz; how they are packed differs between versions of Python and NumPy."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_cora_of_the_package_is_that_of_the_raw_files(data_dir: Path, cache: Path, tmp_path: Path) -> None:
    embedded, raw = Cora()[0], Cora(data=data_dir)[0]
    assert list(cache.rglob("*.npz")) == [cache / "cora" / "processed" / "graph.npz"]  # of the raw
    for part in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        one, two = embedded[part], raw[part]
        assert one.dtype == two.dtype
        assert torch.equal(one.to_dense(), two.to_dense())
    assert embedded.classes == raw.classes
    assert embedded.provenance | {"source": "folder"} == raw.provenance
    make_cora(data_dir, tmp_path / "again.npz")
    assert _members(tmp_path / "again.npz") == _members(PATH)
    with pytest.raises(InputError, match=r"the Planetoid files ind\.cora"):
        make_cora(tmp_path)


# The nodes of each class, from the datasets' own descriptions: they say which number is which class.
PUBLISHED_COUNTS = {
    "cora": {
        "Case Based": 298,
        "Genetic Algorithms": 418,
        "Neural Networks": 818,
        "Probabilistic Methods": 426,
        "Reinforcement Learning": 217,
        "Rule Learning": 180,
        "Theory": 351,
    },
    "pubmed": {"Experimental": 4103, "Type 1": 7739, "Type 2": 7875},
}


@pytest.mark.parametrize("name", PUBLISHED_COUNTS)
def test_classes_by_name(name: str, real_data: Callable[[str], Path | None]) -> None:
    data = load_graph(name, data=real_data(name))
    assert dict(zip(data.classes, np.bincount(data.y).tolist())) == PUBLISHED_COUNTS[name]


@pytest.mark.parametrize("name", ["disease", "cora", "airport"])
def test_a_folder_that_is_not_there_is_said(name: str) -> None:
    with pytest.raises(InputError, match="/nope: no such folder"):
        load_graph(name, data="/nope")


def test_test_nodes_that_no_file_describes_are_isolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CiteSeer's gap in ``test.index``, in a small dataset of the same layout."""
    import pickle

    rng = np.random.default_rng(0)
    x = sp.csr_matrix(rng.integers(0, 2, (600, 4)).astype(np.float32))
    y = np.eye(6, dtype=np.int32)[rng.integers(0, 6, 600)]
    test = [603, 600, 604]  # 601 and 602 are nowhere
    state = {
        "x": x[:12],
        "allx": x,
        "tx": x[:3],
        "y": y[:12],
        "ally": y,
        "ty": y[:3],
        "graph": {0: [604, 1], 1: [0]},
    }
    for part, value in state.items():
        content = pickle.dumps(value, protocol=3).replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
        content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        (tmp_path / f"ind.citeseer.{part}").write_bytes(content)
    (tmp_path / "ind.citeseer.test.index").write_text("\n".join(map(str, test)))
    source = sources_module.SOURCES["citeseer"]
    unverified = sources_module.Source(source.folder, source.url, dict.fromkeys(source.files), source.wheel)
    monkeypatch.setitem(sources_module.SOURCES, "citeseer", unverified)
    data = CiteSeer(data=tmp_path)[0]
    assert data.num_nodes == 605
    assert data.x.to_dense()[601:603].abs().sum() == 0
    assert torch.equal(data.x.to_dense()[603], torch.from_numpy(x.toarray()[0]))
    assert data.test_mask.nonzero().flatten().tolist() == [600, 603, 604]
    assert data.edge_index.tolist() == [[0, 0, 1, 604], [1, 604, 0, 0]]


def test_the_cache_holds_no_pickle_and_gives_the_same_graph(data_dir: Path, cache: Path) -> None:
    first = Airport(data=data_dir, task="link")[0]
    assert sorted(path.name for path in cache.rglob("*") if path.is_file()) == ["link.npz"]
    with np.load(cache / "airport" / "processed" / "link.npz", allow_pickle=False) as file:
        assert all(array.dtype != object for array in file.values())
    second = Airport(task="link")[0]  # no folder given, and no network needed
    assert first.keys() == second.keys()
    for key in ("x", "edge_index", "y"):
        assert torch.equal(first[key], second[key])
    assert first.provenance == second.provenance


def test_a_damaged_or_outdated_copy_is_made_anew(
    data_dir: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Cora(data=data_dir)[0]
    copy = cache / "cora" / "processed" / "graph.npz"
    copy.write_bytes(copy.read_bytes()[:1000])
    assert torch.equal(Cora(data=data_dir)[0].edge_index, expected.edge_index)
    monkeypatch.setattr("hypergraph.datasets.cache.VERSION", 99)
    assert torch.equal(Cora(data=data_dir)[0].edge_index, expected.edge_index)


def test_a_damaged_folder_is_not_hidden_by_the_cache(data_dir: Path, tmp_path: Path) -> None:
    Cora(data=data_dir)
    shutil.copytree(data_dir / "cora", tmp_path / "cora", copy_function=shutil.copyfile)
    path = tmp_path / "cora" / "ind.cora.y"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(InputError, match=r"ind\.cora\.y: its SHA-256"):
        Cora(data=tmp_path)


@pytest.mark.posix
def test_a_cache_that_cannot_be_written_is_no_error(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERGRAPH_CACHE", "/dev/null/cache")
    assert Cora(data=data_dir)[0].num_nodes == 2708


def test_as_pyg_datasets(data_dir: Path, tmp_path: Path) -> None:
    dataset = PubMed(root=tmp_path, data=data_dir, transform=lambda data: setattr(data, "seen", True) or data)
    assert isinstance(dataset, InMemoryDataset)
    assert (len(dataset), str(dataset)) == (1, "PubMed()")
    assert dataset[0].seen
    assert (tmp_path / "processed" / "graph.npz").is_file()
    assert Cora(data=data_dir).num_classes == 7
    assert Cora(data=data_dir).num_features == 1433
    assert str(SimulatedDisease("link", seed=2)) == "SimulatedDisease(task='link', seed=2)"
    with pytest.raises(InputError, match=r"Unknown task 'nodes'; did you mean 'node'"):
        SimulatedDisease("nodes")


def test_real_disease_for_nodes_with_features_made_up_here(data_dir: Path, tmp_path: Path) -> None:
    shutil.copytree(data_dir / "disease_nc", tmp_path / "disease_nc", copy_function=shutil.copyfile)
    features = tmp_path / "disease_nc" / "disease_nc.feats.npz"
    sp.save_npz(features, sp.random(1044, 1000, 0.05, format="csr", rng=np.random.default_rng(0)))
    data = Disease(data=tmp_path)[0]
    assert (data.num_nodes, data.edge_index.shape[1], int(data.y.sum())) == (1044, 2086, 211)
    assert data.x.layout == torch.sparse_csr
    sp.save_npz(features, sp.csr_matrix((7, 1000)))
    with pytest.raises(InputError, match=r"1044 finite rows expected, 7 rows found"):
        Disease(data=tmp_path)
