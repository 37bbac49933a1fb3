"""The graphs of the Open Graph Benchmark by name, from its raw files. No pickle is read.

The files are those of OGB's archives: ``raw/edge.csv.gz``, ``node-feat.csv.gz``, ``node-label.csv.gz``,
``num-node-list.csv.gz`` and ``split/<kind>/train.csv.gz`` (``valid``, ``test``); or ``raw/data.npz`` and
``node-label.npz``, which ogbn-papers100M has instead. See https://ogb.stanford.edu.
"""

from __future__ import annotations

import gzip
import os
import shutil
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_graph
from hypergraph.datasets.download import download
from hypergraph.datasets.large import LargeGraph, Rows, Stored, stored_names, stored_pairs
from hypergraph.datasets.reading import load_numpy
from hypergraph.datasets.sources import Folder, cache_dir
from hypergraph.errors import InputError
from hypergraph.files import atomic_path

PREFIXES = {"ogbn-": "nodeproppred", "ogbl-": "linkproppred"}
HOME = "https://snap.stanford.edu/ogb/data"
# What the archive of a dataset is called, where not by its name.
_ARCHIVES = {"ogbn-papers100M": "papers100M-bin", "ogbl-ppa": "ppassoc", "ogbl-citation2": "citation-v2"}
_BLOCK = 1 << 22


def read_ogb(name: str, data: Folder | None = None) -> GraphArrays:
    """The graph of an OGB dataset of nodes or links, undirected.

    Args:
        name: Such as ``ogbn-arxiv`` or ``ogbl-collab``.
        data: A folder that holds the files, in ``ogbn_arxiv/``, ``arxiv/`` or itself; by default
            ``HYPERGRAPH_DATA``, then the cache, then OGB's archive is fetched.
    """
    large = large_ogb(name, data)
    with _reading(Path(large.where) / "raw"):
        edges = np.concatenate([np.stack(pair) for pair in large.pairs()], axis=1)
        x = None if large.x is None else np.concatenate(list(large.x.in_rows()))
    return checked_graph(name, edges, num_nodes=large.num_nodes, x=x, where=large.where, **large.about)


def large_ogb(name: str, data: Folder | None = None) -> LargeGraph:
    """The same graph, read in blocks."""
    folder = _folder(name, data or os.environ.get("HYPERGRAPH_DATA") or None)
    raw = folder / "raw"
    x: Rows | None
    if (raw / "data.npz").is_file():
        with _reading(raw / "data.npz"):
            names = stored_names(raw / "data.npz")
            edge_index = Stored(raw / "data.npz", "edge_index")
            pairs = stored_pairs(edge_index)
            x = Stored(raw / "data.npz", "node_feat") if "node_feat" in names else None
            arrays = load_numpy(raw / "data.npz", lambda name: name == "num_nodes_list")
            count = int(np.ravel(arrays["num_nodes_list"])[0]) if arrays else None
        y = _labels_npz(raw / "node-label.npz")
    else:
        if not (raw / "edge.csv.gz").is_file():
            raise InputError(
                f"{folder}: no raw/edge.csv.gz nor raw/data.npz, so it is no OGB graph of one kind of nodes."
            )
        edges = Table(raw / "edge.csv.gz", np.int64)
        pairs = lambda: (tuple(block.T) for block in edges.in_rows())  # noqa: E731
        count = int(_table(raw / "num-node-list.csv.gz", np.int64)[0, 0])
        features = raw / "node-feat.csv.gz"
        x = Table(features, np.float32, count) if features.is_file() else None
        labels = raw / "node-label.csv.gz"
        y = _table(labels, np.float64) if labels.is_file() else None
    about = {
        "y": y,
        "masks": _masks(folder / "split", count or 0),
        "provenance": {"source": str(folder), "url": f"{HOME}/{_kind(name)}"},
    }
    return LargeGraph(name, str(folder), pairs, count, x, None, about)


def _kind(name: str) -> str:
    return next(kind for prefix, kind in PREFIXES.items() if name.startswith(prefix))


def _folder(name: str, data: Folder | None) -> Path:
    """Where the files are; OGB's archive is fetched to the cache where they are nowhere."""
    archive = _ARCHIVES.get(name, name.split("-", 1)[1])
    cached = cache_dir() / name
    places = [cached]
    if data is not None:
        if not Path(data).is_dir():
            raise InputError(
                f"{data}: no such folder; --data and HYPERGRAPH_DATA name a folder of raw files."
            )
        around = Path(data)
        places = [*(around / part for part in (name.replace("-", "_"), name, archive)), around, cached]
    for place in places:
        if (place / "raw").is_dir():
            return place
    url = f"{HOME}/{_kind(name)}/{archive}.zip"
    try:
        download(url, cached / "archive.zip", sha256=None)
    except (OSError, InputError) as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"{name}: no folder raw/ in {', '.join(map(str, places))}, and OGB's archive cannot be fetched "
            f"({reason}); unpack it elsewhere and give the folder around it with --data."
        ) from error
    _unpack(cached / "archive.zip", cached)
    return cached


def _unpack(archive: Path, folder: Path) -> None:
    """Take the tables out of an archive, and nothing else; ``raw/`` last, by which the folder is known."""
    try:
        with zipfile.ZipFile(archive) as packed:
            wanted = {}
            for member in packed.namelist():
                parts = member.split("/")[1:]
                table = member.endswith((".csv.gz", ".npz"))
                if table and parts and parts[0] in ("raw", "split") and ".." not in parts:
                    wanted["/".join(parts)] = member
            for target in sorted(wanted, reverse=True):
                with atomic_path(folder / target) as part, packed.open(wanted[target]) as file:
                    _copy(file, part)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"{archive}: not a whole archive ({error}); delete it, and it is fetched again."
        ) from error
    archive.unlink()


def _copy(file: IO[bytes], path: Path) -> None:
    with path.open("wb") as out:
        shutil.copyfileobj(file, out)


class Table:
    """A packed table of numbers, read block by block; Python's csv takes minutes for millions of rows.

    Args:
        path: The file.
        dtype: Of its numbers.
        rows: How many it should have, where that is known.
    """

    def __init__(self, path: Path, dtype: Any, rows: int = 0) -> None:
        self.path, self.dtype = path, dtype
        with _reading(path), gzip.open(path) as file:
            self.shape = (rows, file.readline().count(b",") + 1)

    def in_rows(self) -> Iterator[NDArray[Any]]:
        """Blocks of its rows."""
        rest = b""
        with gzip.open(self.path) as file:
            while True:
                with _reading(self.path):
                    block = file.read(_BLOCK)
                    text = rest + block
                    cut = text.rfind(b"\n") + 1 if block else len(text)
                    text, rest = text[:cut], text[cut:]
                    numbers = _numbers(text, self.dtype)
                    if len(numbers) % self.shape[1]:
                        raise ValueError(f"{len(numbers)} numbers in rows of {self.shape[1]}")
                if len(numbers):
                    yield numbers.reshape(-1, self.shape[1])
                if not block:
                    return


def _table(path: Path, dtype: Any) -> NDArray[Any]:
    blocks = list(Table(path, dtype).in_rows())
    if not blocks:
        raise InputError(f"{path}: damaged, or not a file of OGB (no rows).")
    return np.concatenate(blocks)


def _numbers(text: bytes, dtype: Any) -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy only warns of what is no number
        return np.fromstring(text.strip().replace(b"\n", b","), dtype, sep=",")


def _labels_npz(path: Path) -> NDArray[Any] | None:
    if not path.is_file():
        return None
    with _reading(path):
        labels: NDArray[Any] = load_numpy(path)["node_label"]
    return labels


def _masks(folder: Path, count: int) -> dict[str, NDArray[np.bool_]]:
    """OGB's split of nodes. That of links is a pickle, which is not read: their edges are split here."""
    kinds = sorted(folder.glob("*/train.csv.gz"))
    masks = {}
    for part, name in (("train", "train"), ("val", "valid"), ("test", "test")):
        for path in kinds[:1]:
            nodes = _table(path.parent / f"{name}.csv.gz", np.int64)[:, 0]
            if len(nodes) and not (nodes.min() >= 0 and nodes.max() < count):
                raise InputError(f"{path.parent / name}.csv.gz: a node outside 0 to {count - 1}.")
            masks[part] = np.zeros(count, dtype=bool)
            masks[part][nodes] = True
    return masks


class _reading:
    """Whatever a damaged file raises becomes one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) or not isinstance(error, Exception):
            return
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{self.path}: damaged, or not a file of OGB ({reason}).") from error
