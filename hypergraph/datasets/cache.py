"""One graph in one ``.npz``: the cache's format, and one that people may write themselves. Never a pickle."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.files import atomic_path

# Raise it when the arrays of a dataset change, so that copies in caches are made anew.
VERSION = 1


def save_npz(graph: GraphArrays, path: Path) -> None:
    """Write ``graph`` to ``path``, atomically."""
    arrays: dict[str, Any] = {"edge_index": graph.edges, "num_nodes": np.array(graph.num_nodes)}
    if sp.issparse(graph.x):
        arrays |= {f"x_{key}": getattr(graph.x, key) for key in ("data", "indices", "indptr")}
        arrays["x_shape"] = np.array(graph.x.shape)
    else:
        arrays["x"] = graph.x
    if graph.y is not None:
        arrays["y"] = graph.y
    arrays |= {f"{part}_mask": mask for part, mask in graph.masks.items()}
    about = {"version": VERSION, "name": graph.name, "provenance": graph.provenance}
    with atomic_path(path) as part:
        np.savez(part, about=np.array(json.dumps(about)), **arrays)


def load_npz(path: Path) -> GraphArrays | None:
    """Read what :func:`save_npz` wrote; ``None`` where it is absent, damaged or of another version."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            about = json.loads(file["about"].item())
            if about["version"] != VERSION:
                return None
            if "x" in file:
                x = file["x"]
            else:
                csr = tuple(file[f"x_{key}"] for key in ("data", "indices", "indptr"))
                x = sp.csr_matrix(csr, shape=tuple(file["x_shape"]))
            return GraphArrays(
                name=about["name"],
                num_nodes=int(file["num_nodes"]),
                edges=file["edge_index"],
                x=x,
                y=file.get("y"),
                masks={p: file[f"{p}_mask"] for p in ("train", "val", "test") if f"{p}_mask" in file},
                provenance=about["provenance"],
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
