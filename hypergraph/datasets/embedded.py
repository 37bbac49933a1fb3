"""Cora as part of the package: the Planetoid files in one small ``.npz``.

``python -m hypergraph.datasets.embedded FOLDER`` makes it of the verified raw files in ``FOLDER/cora``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.cache import VERSION
from hypergraph.datasets.names import DATASETS
from hypergraph.datasets.planetoid import read_planetoid
from hypergraph.datasets.reading import load_numpy
from hypergraph.datasets.sources import given_files, source_of
from hypergraph.errors import InputError
from hypergraph.files import atomic_path

PATH = Path(__file__).with_name("cora.npz")
_PARTS = ("train", "val", "test")


def make_cora(folder: Path, path: Path = PATH) -> None:
    """Write the package's Cora from the raw files; the same files give the same bytes."""
    raw = given_files(source_of("cora", "node"), folder)
    if raw is None:
        raise InputError(f"{folder}: the Planetoid files ind.cora.* are not here, nor in cora/.")
    graph = read_planetoid("cora", raw.paths)
    assert graph.y is not None and (graph.x.data == 1).all()
    arrays: dict[str, Any] = {
        "sources": np.array(json.dumps(raw.sha256)),
        "words": graph.x.indices.astype(np.uint16),
        "word_counts": np.diff(graph.x.indptr).astype(np.uint8),
        "columns": np.uint16(graph.x.shape[1]),
        "edges": graph.edges.astype(np.uint16),
        "y": graph.y.astype(np.uint8),
        **{part: graph.masks[part].nonzero()[0].astype(np.uint16) for part in _PARTS},
    }
    with atomic_path(path) as part:
        np.savez_compressed(part, **arrays)


def read_cora() -> GraphArrays:
    """The package's Cora, equal to what the raw files give."""
    arrays = load_numpy(PATH)
    y = arrays["y"].astype(np.int64)
    words = arrays["words"].astype(np.int32)
    start = np.append(0, np.cumsum(arrays["word_counts"], dtype=np.int32)).astype(np.int32)
    masks = {part: np.zeros(len(y), dtype=bool) for part in _PARTS}
    for part, mask in masks.items():
        mask[arrays[part]] = True
    return GraphArrays(
        name="cora",
        num_nodes=len(y),
        edges=arrays["edges"].astype(np.int64),
        x=sp.csr_matrix(
            (np.ones(len(words), np.float32), words, start), shape=(len(y), int(arrays["columns"]))
        ),
        y=y,
        masks=masks,
        classes=DATASETS["cora"].class_names,
        provenance={
            "source": "package",
            "url": source_of("cora", "node").url,
            "sha256": json.loads(arrays["sources"].item()),
            "version": VERSION,
        },
    )


if __name__ == "__main__":
    make_cora(Path(sys.argv[1]))
