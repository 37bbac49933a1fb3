"""Forged files: none of them writes outside its arrays, runs code, or takes memory that is not there."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import pickle
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData

from hypergraph import limits
from hypergraph.datasets import load_graph, unpickle
from hypergraph.datasets.genomes import load_genome
from hypergraph.datasets.images import decode, load_images
from hypergraph.datasets.unpickle import ARRAYS, InertArray, InertType, restricted_load
from hypergraph.errors import InputError
from hypergraph.tasks.classify_config import GenomeConfig
from hypergraph.tasks.config import NodeConfig, read_toml, settle
from hypergraph.tasks.genome import Genome
from tests.memory import peak


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 64 MB to spare, so that what is too much is small."""
    monkeypatch.setattr(limits, "available", lambda: 64 << 20)


def batch(kind: bytes, raw: bytes) -> bytes:
    """A CIFAR batch whose pixels are an array of ``kind`` made of ``raw``, as a forger would write it."""
    return (
        b"\x80\x02}(X\x04\x00\x00\x00datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
        b"(K\x01K\x01K\x01\x86cnumpy\ndtype\nX" + len(kind).to_bytes(4, "little") + kind + b"K\x00K\x01\x87R"
        b"(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89"
        b"C" + len(raw).to_bytes(1, "little") + raw + b"tb"
        b"X\x06\x00\x00\x00labels]K\x01au."
    )


@pytest.mark.parametrize("kind", [b"O8", b"O", b"V8", b"M8", b"i8,O", b"U2", b"f16"])
def test_an_array_in_a_pickle_is_of_numbers_or_refused(tmp_path: Path, kind: bytes) -> None:
    """dtype('O') and bytes make pointers to wherever the bytes say."""
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(batch(kind, b"AAAAAAAA"))
    with pytest.raises(
        InputError, match=r"data_batch_1: damaged, or not a batch of CIFAR .* only arrays of num"
    ):
        load_images(tmp_path)


def test_numpys_own_classes_are_never_made_of_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "good"
    path.write_bytes(batch(b"u1", b"A"))
    whole = restricted_load(path, ARRAYS)
    assert type(whole["data"]) is InertArray and type(whole["data"].state[2]) is InertType
    assert whole["data"].numbers().tolist() == [[65]]
    path.write_bytes(batch(b"u1", b"AA"))
    with pytest.raises(ValueError, match="more or fewer bytes"):
        restricted_load(path, ARRAYS)["data"].numbers()
    for order in (">", "<"):
        array = np.arange(6, dtype=f"{order}i4").reshape(2, 3, order="F")
        text = pickle.dumps(array, 2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        path.write_bytes(text)
        meanings = {**ARRAYS, ("_codecs", "encode"): codecs.encode}
        made = restricted_load(path, meanings).numbers()
        np.testing.assert_array_equal(made, array)


@pytest.mark.parametrize(
    "content",
    [b"\x80\x04Nr\xff\xff\xff\x10.", b"Np4294967295\n.", b"\x80\x05\x96" + b"\xff" * 7 + b"\x0f."],
)
def test_a_size_that_the_file_cannot_fill_takes_nothing(tmp_path: Path, content: bytes) -> None:
    """A memo of nine bytes takes 4.4 GB in Python's unpickler in C."""
    (tmp_path / "memo").write_bytes(content)
    before = peak()
    with contextlib.suppress(InputError):
        assert restricted_load(tmp_path / "memo", {}) is None
    assert peak() < before + (1 << 20)


# A number, then 60 times a tuple that holds the last one twice.
TWICE = b"K\x01" + b"2\x86" * 60


@pytest.mark.parametrize(
    "content",
    [
        b"}%sK\x01s." % TWICE,
        b"}(%sK\x01u." % TWICE,
        b"(%sK\x01d." % TWICE,
        b"\x8f(%s\x90." % TWICE,
        b"(%s\x91." % TWICE,
        b"}X\x04\x00\x00\x00datacnumpy\nndarray\n)R(K\x01)cnumpy\ndtype\n(%stR\x89NtbsX\x06\x00\x00\x00labels]s."
        % TWICE,
    ],
    ids=["item", "items", "dict", "set", "frozenset", "name of a type"],
)
def test_what_takes_for_ever_to_hash_or_to_print_is_refused(tmp_path: Path, content: bytes) -> None:
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(b"\x80\x04" + content)
    with pytest.raises(InputError, match=r"data_batch_1: (not a readable pickle|damaged)"):
        load_images(tmp_path)


LONG = b"\x8b" + (4_000_000).to_bytes(4, "little") + b"\x7f" * 4_000_000
TEXT = b"X" + (4_000_000).to_bytes(4, "little") + b"a" * 4_000_000


@pytest.mark.parametrize(
    "content",
    [
        b"}" + LONG + b"q\x00Ns" + b"h\x00Ns" * 200_000 + b".",
        b"}" + TEXT + b"Ns" + TEXT + b"q\x00Ns" + b"h\x00Ns" * 200_000 + b".",
        b"(" + b"N" * 500_000 + b"tq\x00cnumpy\nndarray\nq\x01" + b"h\x01h\x00R0" * 200_000 + b".",
        b"(" + b"N" * 500_000 + b"tq\x00cnumpy\nndarray\nq\x01" + b"h\x01h\x00\x810" * 200_000 + b".",
        b"}X\x04\x00\x00\x00datacnumpy\nndarray\n)R(K\x01(%s%stcnumpy\ndtype\nX\x02\x00\x00\x00u1\x85R\x89C\x00tb"
        b"sX\x06\x00\x00\x00labels]s." % (LONG, b"2" * 50),
    ],
    ids=["numbers as keys", "texts as keys", "call", "new object", "shape"],
)
def test_what_is_cheap_to_write_and_dear_to_repeat_is_refused(tmp_path: Path, content: bytes) -> None:
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(b"\x80\x04" + content)
    with pytest.raises(InputError, match=r"data_batch_1: (not a readable pickle|damaged)"):
        load_images(tmp_path)


def test_a_pickle_of_too_many_parts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpickle, "MOST", 1000)
    (tmp_path / "many").write_bytes(b"\x80\x02]" + b"N0" * 600 + b".")
    with pytest.raises(InputError, match="more than 1,000 parts"):
        restricted_load(tmp_path / "many", {})


@pytest.mark.parametrize("label", [float("nan"), 0.5])
def test_labels_that_are_no_whole_numbers_are_refused(tmp_path: Path, label: float) -> None:
    content = {"data": np.zeros((2, 3072), np.uint8), "labels": np.array([label, 1.0])}
    text = pickle.dumps(content, 3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError, match="labels that are no whole numbers"):
        load_images(tmp_path)


def test_postscript_that_is_called_an_image_is_not_run(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    (tmp_path / "0.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n0 0 moveto showpage\n%%EOF\n"
    )
    with pytest.raises(InputError, match="cannot identify image file"):
        decode(tmp_path / "0.png", 8)


@pytest.mark.parametrize("name", ["batches.meta.txt", "val/val_annotations.txt"])
def test_names_of_classes_that_fill_the_memory_are_refused(tmp_path: Path, name: str) -> None:
    """A file of a tebibyte, none of which is on the disk."""
    for part in ("train/a", "train/b", "val"):
        (tmp_path / part).mkdir(parents=True)
    for path in ("train/a/0.png", "train/b/0.png"):
        (tmp_path / path).touch()
    if name == "batches.meta.txt":
        for part in ("data_batch_1.bin", "test_batch.bin"):
            (tmp_path / part).write_bytes(bytes(3073))
    with (tmp_path / name).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match=r"\.txt would take 3.0 TiB of memory"):
        load_images(tmp_path)


CUT = {
    "num_nodes": {"num_nodes": np.array(3.5)},
    "indices": {
        "x_data": np.ones(2, np.float32),
        "x_indices": np.array([0, 1.5]),
        "x_indptr": np.array([0, 1, 2, 2]),
        "x_shape": np.array([3, 3]),
    },
}


@pytest.mark.parametrize("what", CUT)
def test_numbers_are_not_cut_to_whole_ones(tmp_path: Path, what: str) -> None:
    np.savez(tmp_path / "graph.npz", edge_index=np.array([[0, 1, 2], [1, 2, 0]]), **CUT[what])
    with pytest.raises(InputError, match=r"graph.npz: damaged, or not an npz"):
        load_graph(tmp_path / "graph.npz")


def test_complex_features_are_refused(tmp_path: Path) -> None:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    torch.save(Data(x=torch.ones(3, 2) * 1j, edge_index=edges), tmp_path / "graph.pt")
    with pytest.raises(InputError, match="complex numbers, where real ones are needed"):
        load_graph(tmp_path / "graph.pt")


def test_labels_that_nest_are_refused(tmp_path: Path) -> None:
    """Ten lists in each other, ten times each, are ten thousand million labels."""
    labels: Any = [1]
    for _ in range(10):
        labels = [labels] * 10
    content = {"data": [1], "labels": labels}
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(pickle.dumps(content))
    with pytest.raises(InputError, match="labels that are no list of whole numbers"):
        load_images(tmp_path)


OUTSIDE = {
    "data": np.ones(2, np.float32),
    "indices": np.array([0, 2**30], np.int32),
    "indptr": np.array([0, 1, 2]),
}


@pytest.mark.parametrize("prefix", ["x_", ""])
def test_indices_outside_of_a_matrix_in_an_npz_are_refused(tmp_path: Path, prefix: str) -> None:
    arrays = {f"{prefix}{name}": value for name, value in OUTSIDE.items()} | {
        f"{prefix}shape": np.array([2, 2])
    }
    arrays |= {"edge_index": np.array([[0], [1]])} if prefix else {"format": np.array("csr")}
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(InputError, match=r"graph\.npz: its sparse matrix is inconsistent"):
        load_graph(tmp_path / "graph.npz")


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_indices_outside_of_a_matrix_in_a_pt_are_refused(tmp_path: Path, layout: str) -> None:
    index, pointer, value = torch.tensor([0, 2**30]), torch.tensor([0, 1, 2]), torch.ones(2)
    make = {"csr": torch.sparse_csr_tensor, "csc": torch.sparse_csc_tensor}
    if layout == "coo":
        x = torch.sparse_coo_tensor(
            torch.stack([torch.tensor([0, 1]), index]), value, (2, 2), check_invariants=False
        )
    else:
        x = make[layout](pointer, index, value, (2, 2), check_invariants=False)
    torch.save(Data(x=x, edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1])), tmp_path / "graph.pt")
    with pytest.raises(InputError, match=r"graph\.pt: "):
        load_graph(tmp_path / "graph.pt")


def test_the_cache_is_checked_too(tmp_path: Path, cache: Path, data_dir: Path) -> None:
    """A copy in the cache whose indices point outside is made anew."""
    from hypergraph.datasets import PubMed

    expected = PubMed(data=data_dir)[0]
    copy = cache / "pubmed" / "processed" / "graph.npz"
    arrays = dict(np.load(copy))
    arrays["x_indices"][0] = 2**30
    np.savez(copy, **arrays)
    assert torch.equal(PubMed(data=data_dir)[0].x.to_dense(), expected.x.to_dense())


def save(path: Path, **arrays: Any) -> None:
    np.savez(path, **{"edge_index": np.array([[0], [1]])} | arrays)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    "arrays",
    [
        {"edge_index": np.array([[0], [10**9]])},
        {"num_nodes": np.array(10**9)},
        {"num_nodes": np.array(2**40)},
        {
            "x_data": np.ones(1),
            "x_indices": np.zeros(1, int),
            "x_indptr": np.array([0, 1]),
            "x_shape": np.array([1, 10**12]),
        },
    ],
)
def test_a_graph_that_would_not_fit_is_refused(tmp_path: Path, arrays: dict[str, Any]) -> None:
    save(tmp_path / "graph.npz", **arrays)
    with pytest.raises(InputError, match=r"would take .* of memory|nodes, where a graph has|has 1 rows"):
        load_graph(tmp_path / "graph.npz")


def test_large_labels_and_ids_cost_nothing(tmp_path: Path) -> None:
    save(tmp_path / "graph.npz", y=np.array([10**9, -(10**9)]))
    data = load_graph(tmp_path / "graph.npz")
    assert (data.classes, data.y.tolist()) == (("-1000000000", "1000000000"), [1, 0])
    digits = "9" * 900
    (tmp_path / "graph.csv").write_text(f"1000000000,{digits}\n")
    assert load_graph(tmp_path / "graph.csv").node_ids == ["1000000000", digits]
    (tmp_path / "graph.csv").write_text(f"1,{'9' * 4301}\n")
    with pytest.raises(InputError, match="an id of more than 1000 characters"):
        load_graph(tmp_path / "graph.csv")


@pytest.mark.usefixtures("small_machine")
def test_an_archive_that_unpacks_to_more_than_there_is(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "graph.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("edge_index.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(40):
            member.write(bytes(1 << 20))
    with pytest.raises(InputError, match=r"its arrays would take 40\.0 MiB"):
        load_graph(tmp_path / "graph.npz")
    with zipfile.ZipFile(tmp_path / "graph.npz") as source:
        (tmp_path / "graph.pt").write_bytes((tmp_path / "graph.npz").read_bytes())
        assert source.infolist()[0].file_size == 40 << 20
    with pytest.raises(InputError, match=r"its tensors would take 40\.0 MiB"):
        load_graph(tmp_path / "graph.pt")


def test_a_gzip_that_unpacks_to_a_thousand_times_its_size(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(100):
            file.write(b"a,b\n" * (1 << 18))
    (tmp_path / "graph.csv.gz").write_bytes(packed.getvalue())
    with pytest.raises(InputError, match=r"that unpack to more than 64\.0 MiB"):
        load_graph(tmp_path / "graph.csv.gz")


@pytest.mark.usefixtures("small_machine")
def test_an_expanded_tensor_is_as_large_as_it_says(tmp_path: Path) -> None:
    torch.save(Data(edge_index=torch.zeros(2, 1, dtype=torch.long).expand(2, 10**9)), tmp_path / "graph.pt")
    with pytest.raises(InputError, match=r"edge_index of shape \(2, 1000000000\) would take 14\.9 GiB"):
        load_graph(tmp_path / "graph.pt")


def test_an_array_whose_header_lies(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<i8", "fortran_order": False, "shape": (2, 10**12)}
    )
    with zipfile.ZipFile(tmp_path / "graph.npz", "w") as archive:
        archive.writestr("edge_index.npy", buffer.getvalue() + bytes(16))
    with pytest.raises(
        InputError, match=r"edge_index: \d+ bytes, where an array of shape \(2, 1000000000000\) takes"
    ):
        load_graph(tmp_path / "graph.npz")


@pytest.mark.usefixtures("small_machine")
def test_sequences_that_would_not_fit(tmp_path: Path) -> None:
    rows = [f"{'ACGT' * 5},{label}" for label in (0, 1) for _ in range(20)]
    path = tmp_path / "genome.csv"
    path.write_text("\n".join(["sequence,label", *rows]) + "\n")
    with pytest.raises(InputError, match=r"40 sequences of 1,000,000,000 letters each would take"):
        load_genome(path, length=10**9)
    long = ["A" * 100_000 + ",0"] * 4  # so that one is for training
    path.write_text("\n".join(["sequence,label", *rows[4:], *long]) + "\n")
    config = settle(GenomeConfig, {"dataset": str(path), "split_seed": 1})
    with pytest.raises(InputError, match=r"a network for 100,000 letters \(--length cuts them\) would take"):
        Genome.load(config)


def test_images_larger_than_any_photograph(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    header = b"IHDR" + struct.pack(">IIBBBBB", 13_000, 13_000, 8, 2, 0, 0, 0)
    pixels = b"IDAT" + zlib.compress(b"")
    chunks = [
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in (header, pixels)
    ]
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for number in range(2):
            (tmp_path / label / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    with pytest.raises(InputError, match=r"169,000,000 pixels, and no more than 89,478,485 are read"):
        load_images(tmp_path, size=8)


@pytest.mark.posix
def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edges.csv")
    with pytest.raises(InputError, match=r"edges\.csv: a device or a pipe"):
        load_graph(tmp_path)
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (Path("/dev/zero"), tmp_path / "pipe.toml"):
        with pytest.raises(InputError, match="not a file"):
            read_toml(path)
        with pytest.raises(InputError, match="not a file"):
            settle(NodeConfig, {}, path)
    (tmp_path / "edges.csv").unlink()
    (tmp_path / "edges.csv").mkdir()
    with pytest.raises(InputError, match=r"edges\.csv: a folder, where a file is needed"):
        load_graph(tmp_path)


def test_what_used_to_end_in_a_traceback(tmp_path: Path) -> None:
    npz = tmp_path / "graph.npz"
    for arrays, message in [
        ({"x": np.array(1.0)}, "x has no rows"),
        ({"x": np.array([["a"], ["b"]])}, "features of type <U1"),
        ({"y": np.array([0, np.inf])}, "label 'inf' is not a whole number"),
        ({"num_nodes": np.array([1, 2])}, "damaged, or not an npz"),
        ({"node_ids": np.array(["a", "a"])}, "two nodes have the same id"),
        ({"edge_weight": np.array([np.inf])}, "the weight is inf"),
        ({"edge_index": np.zeros((2, 0), int)}, "0 nodes"),
    ]:
        save(npz, **arrays)
        with pytest.raises(InputError, match=message):
            load_graph(npz)
    gml = tmp_path / "deep.gml"
    gml.write_text("graph [ " + "a [ " * 900 + "] " * 900 + "]")
    with pytest.raises(InputError, match=r"nested too deeply|has no nodes"):
        load_graph(gml)
    encrypted = bytearray(npz.read_bytes())
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    npz.write_bytes(encrypted)
    with pytest.raises(InputError, match="encrypted"):
        load_graph(npz)
    torch.save(HeteroData(), tmp_path / "graph.pt")
    with pytest.raises(InputError, match="not a PyG Data that can be loaded without running code"):
        load_graph(tmp_path / "graph.pt")
    with pytest.raises(InputError, match=r"a HeteroData has several kinds of nodes; pass one kind, or"):
        load_graph(HeteroData())
    with pytest.raises(InputError, match="square"):
        load_graph(sp.csr_matrix((2, 3)))
