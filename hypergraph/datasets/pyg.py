"""PyG's own: a ``Data`` object, one saved with ``torch.save``, and any PyG dataset by name."""

from __future__ import annotations

import inspect
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset, HeteroData
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_csr, checked_graph
from hypergraph.datasets.own import _node_ids, from_matrix
from hypergraph.datasets.sources import cache_dir, sha256
from hypergraph.errors import InputError, unknown_name
from hypergraph.files import reading, regular_file
from hypergraph.limits import require

# The classes of a Data object, all of them containers.
_GLOBALS = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def from_data(data: Any, name: str = "data", *, where: str = "Data") -> GraphArrays:
    """A PyG ``Data`` with ``edge_index``, and where there are ``x``, ``y``, ``edge_weight``, ``node_ids``,
    ``classes`` and masks; of a dataset its first graph."""
    if isinstance(data, Dataset):
        if not len(data):
            raise InputError(f"{where}: the dataset has no graph.")
        data = data[0]
    if isinstance(data, HeteroData):
        raise InputError(
            f"{where}: a HeteroData has several kinds of nodes; pass one kind, or `data.to_homogeneous()`."
        )
    if not isinstance(data, Data):
        raise InputError(f"{where}: a {type(data).__name__}, where one homogeneous PyG Data is needed.")
    if not isinstance(data.edge_index, Tensor):
        raise InputError(f"{where}: the Data has no edge_index.")
    for key, value in data.to_dict().items():
        if isinstance(value, Tensor) and value.layout == torch.strided:
            # an expanded tensor is small in the file, and as large as it says once it is used
            require(value.numel() * value.element_size(), f"{where}: {key} of shape {tuple(value.shape)}")
    weights = data.get("edge_weight")
    return checked_graph(
        name,
        data.edge_index.cpu().numpy(),
        num_nodes=_num_nodes(data, where),
        x=None if data.x is None else _features(data.x, where),
        y=_labels(data.y),
        weights=weights.detach().cpu().numpy() if isinstance(weights, Tensor) else None,
        classes=data.get("classes"),
        ids=_node_ids(data.get("node_ids"), where),
        columns=tuple(map(str, data.get("columns") or ())),
        masks={
            part: data[f"{part}_mask"].cpu().numpy()
            for part in ("train", "val", "test")
            if isinstance(data.get(f"{part}_mask"), Tensor)
        },
        changes=[change for change in data.get("changes") or [] if isinstance(change, str)],
        where=where,
        provenance={"source": where},
    )


def _num_nodes(data: Data, where: str) -> int | None:
    """What the Data says, if anything: PyG would guess from the edges, and warn."""
    given = data._store.get("num_nodes")
    if given is None:
        return None
    if not isinstance(given, int):
        raise InputError(f"{where}: num_nodes is {given!r}, where a whole number is needed.")
    return given


def _labels(y: Any) -> Any:
    if isinstance(y, Tensor):
        return y.detach().cpu().numpy()
    if isinstance(y, (list, tuple)):
        labels = np.empty(len(y), dtype=object)
        labels[:] = y
        return labels
    return None


def from_edge_index(edge_index: Any, name: str = "edges") -> GraphArrays:
    """A graph of an ``edge_index`` alone, a tensor or an array."""
    if isinstance(edge_index, Tensor):
        if edge_index.layout != torch.strided:
            return from_matrix(_features(edge_index, "adjacency"), name, where="adjacency")
        edge_index = edge_index.detach().cpu().numpy()
    return checked_graph(name, edge_index, where="edge_index")


def read_saved_data(path: Path) -> GraphArrays:
    """A ``Data`` (or its ``to_dict()``) saved with ``torch.save``, loaded as weights only: nothing is run."""
    regular_file(path)
    with reading(path, "a PyG Data saved with torch.save"):
        if not zipfile.is_zipfile(path):
            raise InputError(f"{path}: not a file of torch.save, or of torch before 1.6; save it again.")
        with zipfile.ZipFile(path) as archive:
            require(sum(member.file_size for member in archive.infolist()), f"{path}: its tensors")
        try:
            with torch.serialization.safe_globals(_GLOBALS):
                content = torch.load(path, map_location="cpu", weights_only=True)
        except (
            pickle.UnpicklingError,
            RuntimeError,
            EOFError,
            ValueError,
            KeyError,
            AttributeError,
        ) as error:
            named = re.search(r"Unsupported \w+: GLOBAL (\S+)", str(error))
            reason = f"refused '{named[1]}'" if named else (str(error).strip().splitlines() or ["damaged"])[0]
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
    graph.provenance = {"source": name, "version": f"torch-geometric {torch_geometric.__version__}"}
    return graph


def _unknown_dataset(family: str, known: list[str]) -> InputError:
    error = unknown_name("PyG dataset", family, known)
    return InputError(str(error).split(" Known:")[0])  # PyG has a hundred of them


def _features(x: Tensor, where: str) -> Any:
    """Features as an array, or as SciPy's matrix if its indices stay inside: torch does not look."""
    x = x.detach().cpu()
    if x.is_complex():
        raise InputError(f"{where}: complex numbers, where real ones are needed; save both parts.")
    if x.layout == torch.strided:
        return x.to(torch.float32).numpy()
    if x.dim() != 2 or x.layout not in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        raise InputError(f"{where}: a {x.layout} tensor of shape {tuple(x.shape)}; save it as sparse CSR.")
    shape = (int(x.shape[0]), int(x.shape[1]))
    require(8 * max(shape), f"{where}: a sparse matrix of shape {shape}")
    if x.layout == torch.sparse_coo:
        row, column = x._indices().numpy()
        made = sp.coo_matrix((x._values().numpy(), (row, column)), shape=shape)
    elif x.layout == torch.sparse_csr:
        parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
        made = sp.csr_matrix(parts, shape=shape)
    else:
        parts = (x.values().numpy(), x.row_indices().numpy(), x.ccol_indices().numpy())
        made = sp.csc_matrix(parts, shape=shape)
    return made if made.format == "coo" else checked_csr(made, where)
