"""What the datasets are called and what is known of them, without importing torch."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from hypergraph.errors import InputError, unknown_name

TASKS = ("node", "link")
NODE_SPLITS = ("hgcn", "strict", "planetoid", "random", "masks")
LINK_SPLITS = ("hgcn", "strict")
OGB = ("ogbn-", "ogbl-")  # how the names of the Open Graph Benchmark begin


@dataclass(frozen=True)
class DatasetInfo:
    """One row of ``hypergraph data list``. Edges are undirected, without duplicates and self-loops."""

    title: str
    nodes: int
    edges: int
    features: int
    classes: int
    split: str
    fractions: tuple[float, float, float] = (0.7, 0.15, 0.15)
    link: tuple[int, int, int] | None = None  # nodes, edges, features where links use another graph
    class_names: tuple[str, ...] = ()  # in the order of the files, where it is known


# The files number the classes; which is which follows from the published number of nodes in each.
_CORA = (
    *("Theory", "Reinforcement Learning", "Genetic Algorithms", "Neural Networks"),
    *("Probabilistic Methods", "Case Based", "Rule Learning"),
)
_DISEASE = ("not infected", "infected")
DATASETS: dict[str, DatasetInfo] = {
    "cora": DatasetInfo(
        "Citations of machine-learning papers (Planetoid; part of the package)",
        *(2708, 5278, 1433, 7, "planetoid"),
        class_names=_CORA,
    ),
    "pubmed": DatasetInfo(
        "Citations of papers on diabetes (Planetoid)",
        *(19717, 44324, 500, 3, "planetoid"),
        class_names=("Experimental", "Type 1", "Type 2"),
    ),
    "citeseer": DatasetInfo(
        "Citations of computer-science papers (Planetoid)",
        *(3327, 4552, 3703, 6, "planetoid"),
        class_names=("AI", "ML", "IR", "DB", "Agents", "HCI"),
    ),
    "airport": DatasetInfo(
        "Flight routes between airports (HGCN)", 3188, 18630, 11, 4, "hgcn", link=(3188, 18630, 12)
    ),
    "disease": DatasetInfo(
        "A simulated SIR epidemic on a random tree (part of the package)",
        *(1044, 1043, 1000, 2, "hgcn", (0.3, 0.1, 0.6)),
        link=(2665, 2664, 11),
        class_names=_DISEASE,
    ),
    "disease-hgcn": DatasetInfo(
        "The SIR epidemic that HGCN published",
        *(1044, 1043, 1000, 2, "hgcn", (0.3, 0.1, 0.6)),
        link=(2665, 2664, 11),
        class_names=_DISEASE,
    ),
}


def unknown_dataset(name: str) -> InputError:
    """The error for what is neither a dataset's name nor a file."""
    if Path(name).suffix or len(Path(name).parts) > 1:
        return InputError(f"{name}: no such file or folder.")
    return unknown_name("dataset", name, [*DATASETS, "ogbn-name", "pyg:Name", "a file or folder"])


def may_have_masks(dataset: str) -> bool:
    """Whether a graph may come with a split of its own, without reading it: PyG's and OGB's do, and files of
    arrays can."""
    path = Path(dataset)
    try:
        if path.suffix == ".npz" and path.is_file():
            with zipfile.ZipFile(path) as arrays:
                return "train_mask.npy" in arrays.namelist()
        return path.suffix == ".pt" or not path.exists() or (path / "train_mask.npy").exists()
    except (OSError, ValueError, zipfile.BadZipFile):  # what is wrong with it is said where it is read
        return False
