"""PyG's own: a ``Data`` object, one saved with ``torch.save``, and any PyG dataset by name."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_graph
from hypergraph.datasets.sources import cache_dir, sha256
from hypergraph.errors import InputError, unknown_name

# The classes of a Data object, all of them containers.
_GLOBALS = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def from_data(data: Any, name: str = "data", *, where: str = "Data") -> GraphArrays:
    """A PyG ``Data`` with ``edge_index``, and where there are ``x``, ``y`` and masks."""
    if not isinstance(data, Data):
        raise InputError(f"{where}: a {type(data).__name__}, where one homogeneous PyG Data is needed.")
    if not isinstance(data.edge_index, Tensor):
        raise InputError(f"{where}: the Data has no edge_index.")
    y = data.y if isinstance(data.y, Tensor) else None
    return checked_graph(
        name,
        data.edge_index.cpu().numpy(),
        num_nodes=None if data.num_nodes is None else int(data.num_nodes),
        x=None if data.x is None else _features(data.x),
        y=None if y is None else y.cpu().numpy(),
        masks={
            part: data[f"{part}_mask"].cpu().numpy()
            for part in ("train", "val", "test")
            if isinstance(data.get(f"{part}_mask"), Tensor)
        },
        where=where,
        provenance={"source": where},
    )


def read_saved_data(path: Path) -> GraphArrays:
    """A ``Data`` (or its ``to_dict()``) saved with ``torch.save``, loaded as weights only: nothing is run."""
    try:
        with torch.serialization.safe_globals(_GLOBALS):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, AttributeError) as error:
        named = re.search(r"Unsupported \w+: GLOBAL (\S+)", str(error))
        reason = f"refused '{named[1]}'" if named else str(error).strip().splitlines()[0]
        raise InputError(
            f"{path}: not a PyG Data that can be loaded without running code ({reason}); save it with "
            "`torch.save(Data(x=..., edge_index=..., y=...), path)`."
        ) from error
    data = Data.from_dict(content) if isinstance(content, dict) else content
    graph = from_data(data, path.stem, where=str(path))
    graph.provenance = {"source": "file", "sha256": {path.name: sha256(path)}}
    return graph


def read_pyg_dataset(name: str) -> GraphArrays:
    """``pyg:KarateClub``, or ``pyg:Planetoid:Cora`` for a family: the first graph of a PyG dataset."""
    import torch_geometric
    from torch_geometric import datasets

    family, _, member = name.removeprefix("pyg:").partition(":")
    known = [known for known in datasets.__all__ if inspect.isclass(getattr(datasets, known))]
    if family not in known:
        raise _unknown_dataset(family, known)
    dataset = getattr(datasets, family)
    parameters = inspect.signature(dataset.__init__).parameters
    arguments: dict[str, Any] = {}
    if "root" in parameters:
        arguments["root"] = str(cache_dir() / "pyg" / family)
    if "name" in parameters:
        if not member:
            raise InputError(f"{name}: PyG's {family} holds several graphs; give one as pyg:{family}:NAME.")
        arguments["name"] = member
    try:
        data = dataset(**arguments)[0]
    # A dataset of PyG's may raise anything: no network, an unknown member, an argument that it needs.
    except Exception as error:
        raise InputError(f"{name}: PyG cannot load it ({type(error).__name__}: {error}).") from error
    graph = from_data(data, name, where=name)
    if graph.y is None:
        raise InputError(f"{name}: the dataset has no node labels.")
    graph.provenance = {"source": name, "version": f"torch-geometric {torch_geometric.__version__}"}
    return graph


def _unknown_dataset(family: str, known: list[str]) -> InputError:
    error = unknown_name("PyG dataset", family, known)
    return InputError(str(error).split(" Known:")[0])  # PyG has a hundred of them


def _features(x: Tensor) -> Any:
    x = x.detach().cpu()
    if x.layout == torch.strided:
        return x.to(torch.float32).numpy()
    if x.layout != torch.sparse_csr:
        x = x.to_sparse_csr()
    parts = (x.values().to(torch.float32), x.col_indices(), x.crow_indices())
    return sp.csr_matrix(tuple(np.asarray(part) for part in parts), shape=tuple(x.shape))
