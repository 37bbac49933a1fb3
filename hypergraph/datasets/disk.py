"""A graph as a folder of ``.npy`` files that are mapped into memory, for graphs larger than it.

``graph.json`` names the arrays, with the shape, type, size and SHA-256 of each, and holds what is no array.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergraph.datasets.names import DATASETS
from hypergraph.datasets.sources import sha256
from hypergraph.errors import InputError
from hypergraph.files import reading

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from hypergraph.datasets.large import LargeGraph

ABOUT = "graph.json"
VERSION = 1
_CSR = ("crow", "col", "value")


def is_graph_folder(path: Path) -> bool:
    """Whether :func:`write_folder` made it."""
    return (path / ABOUT).is_file()


def convert(
    graph: Any,
    folder: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    task: str = "node",
) -> dict[str, Any]:
    """Write a graph to a folder that is mapped when it is loaded.

    Args:
        graph: Everything that :func:`~hypergraph.datasets.load_graph` takes, with ``data`` and ``task``.
        folder: A new folder, or an empty one.
    """
    from hypergraph.datasets.load import large_graph, load_graph

    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: there is something here already; name a new folder.")
    large = large_graph(graph, data=data)
    return write_folder(large or load_graph(graph, data=data, task=task), path, task)


def write_folder(graph: Data | LargeGraph, folder: Path, task: str = "node") -> dict[str, Any]:
    """Write a graph, which appears under its name when it is whole; returns what ``graph.json`` holds."""
    import torch

    from hypergraph.datasets.large import LargeGraph

    folder.parent.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {"version": VERSION, "task": task, "arrays": {}, "sparse": {}, "about": {}}
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
            part = Path(temporary) / "graph"
            part.mkdir()
            held = _stream(graph, part, about) if isinstance(graph, LargeGraph) else _with_pointer(graph)
            for name, value in held.items():
                if not isinstance(value, torch.Tensor):
                    about["about"][name] = value
                elif value.layout == torch.sparse_csr:
                    about["sparse"][name] = list(value.shape)
                    pieces = (value.crow_indices(), value.col_indices(), value.values())
                    for key, piece in zip(_CSR, pieces):
                        np.save(part / f"{name}_{key}.npy", piece.numpy())
                else:
                    np.save(part / f"{name}.npy", value.numpy())
            about["arrays"] = {path.stem: _described(path) for path in sorted(part.glob("*.npy"))}
            (part / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            if folder.is_dir():
                folder.rmdir()
            part.replace(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
    return about


def _with_pointer(data: Data) -> dict[str, Any]:
    """What a graph holds, and where the edges of each node begin: they are sorted by their source."""
    import torch

    held = {name: value for name, value in data.to_dict().items() if name != "mapped"}
    held["num_nodes"] = int(data.num_nodes or 0)
    if "rowptr" not in held:
        degree = torch.bincount(data.edge_index[0], minlength=held["num_nodes"])
        held["rowptr"] = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    return held


def _stream(graph: LargeGraph, folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Write edges and features, and give what else a graph holds."""
    import torch

    nodes, pointer, sparse = graph.write(folder)
    held = _with_pointer(nodes.to_data()) | {"rowptr": torch.from_numpy(pointer)}
    del held["edge_index"]
    if graph.x is not None:
        del held["x"]
        if sparse:
            about["sparse"]["x"] = list(graph.x.shape)
    return held


def _described(path: Path) -> dict[str, Any]:
    """What is known of a file that has been written."""
    array = np.load(path, mmap_mode="r")
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return {
        "shape": list(array.shape),
        "dtype": array.dtype.str,
        "bytes": path.stat().st_size,
        "sha256": sha256(path),
    }


def load_folder(folder: Path, task: str = "node") -> Data:
    """The graph of a folder; its arrays are mapped, and read when they are used.

    The sizes of the files are checked, their checksums are not: ``hypergraph data check`` does that.
    """
    import torch
    from torch_geometric.data import Data

    from hypergraph.sparse import csr_tensor

    with reading(folder, "a folder written by `hypergraph data convert`"):
        about = _about(folder)
        arrays = {name: _map(folder / f"{name}.npy", known) for name, known in about["arrays"].items()}
        _check(folder, about, arrays)
    data = Data()
    for name, shape in about["sparse"].items():
        crow, col, value = (arrays.pop(f"{name}_{key}") for key in _CSR)
        data[name] = csr_tensor(crow, col, value, (shape[0], shape[1]))
    for name, array in arrays.items():
        data[name] = torch.from_numpy(array)
    for name, value in about["about"].items():
        data[name] = tuple(value) if name in ("classes", "columns") else value
    named = DATASETS.get(data.name)
    if named is not None and named.link is not None and task != about["task"]:
        raise InputError(
            f"{folder}: {data.name} as it is for {about['task']}s; for {task}s convert it again with "
            f"--task {task}."
        )
    data.mapped = fingerprint(about)
    return data


def _check(folder: Path, about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Refuse indices that point outside: what is made of them would be read and written there."""
    nodes, edges = about["about"]["num_nodes"], arrays["edge_index"]
    classes = about["about"].get("classes", [])
    sides = [("edge_index", 0, nodes)]
    if "y" in arrays:
        sides.append(("y", -1, len(classes)))
    for name, (rows, columns) in about["sparse"].items():
        sides += [(f"{name}_col", 0, columns), (f"{name}_crow", 0, len(arrays[f"{name}_col"]) + 1)]
        fits = len(arrays[f"{name}_crow"]) == rows + 1 and (np.diff(arrays[f"{name}_crow"]) >= 0).all()
        if not fits or arrays[f"{name}_crow"][-1] != len(arrays[f"{name}_value"]) or rows != nodes:
            raise InputError(f"{folder}: the parts of '{name}' do not fit; convert the graph again.")
    for name, least, end in sides:
        array = arrays[name]
        if array.dtype.kind not in "iu" or (array.size and not least <= array.min() <= array.max() < end):
            raise InputError(
                f"{folder / name}.npy: not whole numbers from {least} to {end - 1}; convert the graph again."
            )
    pointer = arrays["rowptr"]
    fits = edges.ndim == 2 and len(edges) == 2 and len(pointer) == nodes + 1 and pointer.dtype.kind in "iu"
    if not fits or pointer[0] or pointer[-1] != edges.shape[1] or (np.diff(pointer) < 0).any():
        raise InputError(f"{folder}: edge_index and rowptr do not fit each other; convert the graph again.")
    for name, array in arrays.items():
        if name in ("x", "y", "train_mask", "val_mask", "test_mask") and len(array) != nodes:
            raise InputError(f"{folder / name}.npy: {len(array)} rows for {nodes} nodes; convert it again.")
    if "x" in arrays and (arrays["x"].ndim != 2 or arrays["x"].dtype.kind != "f"):
        raise InputError(f"{folder / 'x'}.npy: not a matrix of numbers; convert the graph again.")


def fingerprint(about: dict[str, Any]) -> str:
    """A hash of the features, edges and labels, from the checksums that were taken when they were written."""
    import hashlib

    digest = hashlib.sha256()
    for name, known in sorted(about["arrays"].items()):
        if name.split("_")[0] in ("x", "edge", "y"):
            digest.update(f"{name} {known['sha256']}".encode())
    return digest.hexdigest()


def check_folder(folder: Path) -> dict[str, str]:
    """Which files are ``ok`` and which ``damaged``, by their checksums."""
    return {
        f"{name}.npy": "ok" if (file := folder / f"{name}.npy").is_file() and sha256(file) == known["sha256"]
        else "damaged"
        for name, known in _about(folder)["arrays"].items()
    }  # fmt: skip


def _about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    try:
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = about["version"]
        _ = [(known["shape"], known["dtype"], known["bytes"]) for known in about["arrays"].values()]
        _ = (about["sparse"], about["about"]["name"], about["task"])
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not written by `hypergraph data convert` ({error}).") from error
    if version != VERSION:
        raise InputError(f"{path}: of version {version}, and this is {VERSION}; convert the graph again.")
    return about


def _map(path: Path, known: dict[str, Any]) -> Any:
    try:
        length = path.stat().st_size
        if length != known["bytes"]:
            raise InputError(
                f"{path}: {length} bytes, where {known['bytes']} were written; the file is cut off or "
                "another one, so convert the graph again."
            )
        # copy on write: nothing is written, and torch takes the array without a copy
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); convert the graph again.") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a NumPy array ({error}); convert the graph again.") from error
    if list(array.shape) != known["shape"] or array.dtype.str != known["dtype"]:
        raise InputError(f"{path}: an array of another shape or type; convert the graph again.")
    return np.asarray(array)
