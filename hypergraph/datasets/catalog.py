"""The published graphs as PyG datasets. Their processed copies are ``.npz``, never pickles."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch_geometric.data import Data, InMemoryDataset

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.cache import VERSION, load_npz, save_npz
from hypergraph.datasets.embedded import read_cora
from hypergraph.datasets.hgcn import read_airport, read_disease
from hypergraph.datasets.names import DATASETS, TASKS
from hypergraph.datasets.planetoid import read_planetoid
from hypergraph.datasets.simulated import DEFAULT_SEED, simulate_disease
from hypergraph.datasets.sources import Folder, cache_dir, given_files, raw_files, source_of
from hypergraph.errors import unknown_name


class PublishedGraph(InMemoryDataset):
    """One published graph, from the first source that has its files.

    Args:
        root: Where raw and processed files are kept, the user's cache folder by default.
        transform: Applied to the graph at every access.
        force_reload: Whether to read the raw files again.
        data: A folder that holds the raw files, looked in first; ``HYPERGRAPH_DATA`` by default.
        task: ``"node"`` or ``"link"``: what the features are for.
    """

    dataset: str

    def __init__(
        self,
        root: Folder | None = None,
        transform: Callable[[Data], Data] | None = None,
        force_reload: bool = False,
        *,
        data: Folder | None = None,
        task: str = "node",
    ) -> None:
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        self.task = task
        self.source = source_of(self.dataset, task)
        self._given = data or os.environ.get("HYPERGRAPH_DATA") or None
        self._graph: GraphArrays | None = None
        super().__init__(str(root or cache_dir() / self.dataset), transform, force_reload=force_reload)
        assert self._graph is not None
        self.data = self._graph.to_data()

    @property
    def raw_file_names(self) -> list[str]:
        return list(self.source.files)

    @property
    def processed_file_names(self) -> list[str]:
        return [f"{self.task}.npz"]

    def read(self, paths: dict[str, Path]) -> GraphArrays:
        """Make the graph of its raw files."""
        raise NotImplementedError

    def process(self) -> None:
        raw = raw_files(self.source, Path(self.raw_dir), self._given)
        graph = self.read(raw.paths)
        graph.classes = DATASETS[self.dataset].class_names
        graph.provenance = {
            "source": raw.origin,
            "url": self.source.url,
            "sha256": raw.sha256,
            "version": VERSION,
        }
        # A cache that cannot be written costs time the next time, and nothing else.
        with suppress(OSError):
            save_npz(graph, Path(self.processed_paths[0]))
        self._graph = graph

    def _process(self) -> None:
        # PyG's own would leave pickles of the transforms beside the graph, and print.
        if not self.force_reload:
            self._graph = load_npz(Path(self.processed_paths[0]))
        if self._graph is None or not self._agrees(self._graph):
            self.process()

    def _agrees(self, graph: GraphArrays) -> bool:
        """Whether a processed copy was made of the right files; of those in the folder given, if any."""
        made_of: dict[str, Any] = graph.provenance["sha256"]
        if any(sha is not None and made_of.get(name) != sha for name, sha in self.source.files.items()):
            return False
        given = given_files(self.source, self._given)
        return given is None or given.sha256 == made_of

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Planetoid(PublishedGraph):
    """A citation network in the Planetoid layout, with its public split: 20 nodes a class, 500 and 1000."""

    @property
    def processed_file_names(self) -> list[str]:
        return ["graph.npz"]  # the same for both tasks

    def read(self, paths: dict[str, Path]) -> GraphArrays:
        return read_planetoid(self.dataset, paths)


class Cora(Planetoid):
    """2708 papers on machine learning, 5278 citations, 1433 words, 7 topics. It is part of the package.

    Example:
        >>> Cora()[0].classes[:2], Cora()[0].num_nodes
        (('Theory', 'Reinforcement Learning'), 2708)
    """

    dataset = "cora"

    def _process(self) -> None:
        if given_files(self.source, self._given) is not None:
            super()._process()
        else:
            self._graph = read_cora()


class PubMed(Planetoid):
    """19717 papers on diabetes, 44324 citations, 500 words weighted by TF-IDF, 3 topics.

    Example:
        >>> PubMed()[0].num_nodes  # doctest: +SKIP
        19717
    """

    dataset = "pubmed"


class CiteSeer(Planetoid):
    """3327 papers on computer science, 4552 citations, 3703 words, 6 topics; 15 test nodes are isolated.

    Example:
        >>> CiteSeer()[0].num_nodes  # doctest: +SKIP
        3327
    """

    dataset = "citeseer"


class Airport(PublishedGraph):
    """HGCN's 3188 airports and 18630 routes; 4 classes, the wealth of the country.

    PyG's ``Airports`` is another dataset. The features are 4 for nodes and 5 for links, where the fifth is
    what the class was made of; :func:`hypergraph.datasets.prepare_features` completes them to 11 and 12.

    Example:
        >>> Airport(task="link")[0].num_nodes  # doctest: +SKIP
        3188
    """

    dataset = "airport"

    def read(self, paths: dict[str, Path]) -> GraphArrays:
        return read_airport(paths, self.task)


class Disease(PublishedGraph):
    """HGCN's epidemic on a tree: ``disease_nc`` (1044 nodes, 1000 features) for nodes, ``disease_lp`` (2665
    nodes, 11 features) for links.

    Example:
        >>> Disease()[0].num_nodes  # doctest: +SKIP
        1044
    """

    dataset = "disease-hgcn"

    def read(self, paths: dict[str, Path]) -> GraphArrays:
        return read_disease(paths, self.task)


class SimulatedDisease(InMemoryDataset):
    """An SIR epidemic on a random tree with the sizes of HGCN's Disease; nothing is downloaded or stored.

    Args:
        task: ``"node"`` (1044 nodes, 1000 features) or ``"link"`` (2665 nodes, 11 features).
        seed: The same seed gives the same graph on every machine and version.
        transform: Applied to the graph at every access.

    Example:
        >>> SimulatedDisease(seed=3)[0].x.shape
        torch.Size([1044, 1000])
    """

    def __init__(
        self,
        task: str = "node",
        seed: int = DEFAULT_SEED,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        if task not in TASKS:
            raise unknown_name("task", task, TASKS)
        super().__init__(None, transform)
        self.task, self.seed = task, seed
        self.data = simulate_disease(task, seed).to_data()

    def __repr__(self) -> str:
        return f"SimulatedDisease(task={self.task!r}, seed={self.seed})"


PUBLISHED: dict[str, type[PublishedGraph]] = {
    dataset.dataset: dataset for dataset in (Cora, PubMed, CiteSeer, Airport, Disease)
}
