"""One graph in one ``.npz``: the cache's format, and one that people may write themselves. Never a pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.reading import load_numpy
from hypergraph.datasets.tables import sparse_parts
from hypergraph.errors import InputError
from hypergraph.files import atomic_path

# Raise it when the arrays of a dataset change, so that copies in caches are made anew.
VERSION = 2


def save_npz(graph: GraphArrays, path: Path) -> None:
    """Write ``graph`` to ``path``, atomically."""
    with atomic_path(path) as part:
        np.savez(part, **arrays_of(graph))


def arrays_of(graph: GraphArrays) -> dict[str, Any]:
    """The arrays that hold a graph."""
    arrays: dict[str, Any] = {"edge_index": graph.edges, "num_nodes": np.array(graph.num_nodes)}
    if sp.issparse(graph.x):
        arrays |= {f"x_{key}": getattr(graph.x, key) for key in ("data", "indices", "indptr")}
        arrays["x_shape"] = np.array(graph.x.shape)
    else:
        arrays["x"] = graph.x
    for name, value in (("y", graph.y), ("edge_weight", graph.weights)):
        if value is not None:
            arrays[name] = value
    for name, words in (("classes", graph.classes), ("node_ids", graph.ids), ("columns", graph.columns)):
        if words:
            arrays[name] = np.array(words)
    arrays |= {f"{part}_mask": mask for part, mask in graph.masks.items()}
    about = {
        "version": VERSION,
        "name": graph.name,
        "provenance": graph.provenance,
        "changes": graph.changes,
    }
    return arrays | {"about": np.array(json.dumps(about))}


def load_npz(path: Path) -> GraphArrays | None:
    """Read what :func:`save_npz` wrote; ``None`` where it is absent, damaged or of another version."""
    try:
        arrays = load_numpy(path)
        about = json.loads(arrays["about"].item())
        if about["version"] != VERSION:
            return None
        x = arrays["x"] if "x" in arrays else sparse_parts(arrays, "x_", path)
        if x is None:
            return None
        return GraphArrays(
            name=about["name"],
            num_nodes=int(arrays["num_nodes"]),
            edges=arrays["edge_index"].astype(np.int64, copy=False),
            x=x,
            y=arrays.get("y"),
            masks={p: arrays[f"{p}_mask"] for p in ("train", "val", "test") if f"{p}_mask" in arrays},
            provenance=about["provenance"],
            classes=tuple(arrays["classes"].tolist()) if "classes" in arrays else (),
            ids=arrays["node_ids"].tolist() if "node_ids" in arrays else None,
            columns=tuple(arrays["columns"].tolist()) if "columns" in arrays else (),
            weights=arrays.get("edge_weight"),
            changes=about["changes"],
        )
    except (InputError, ValueError, KeyError, TypeError, IndexError):
        return None
