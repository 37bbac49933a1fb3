"""The answer, and the published values that it is compared with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Table 1 of Chami et al., Hyperbolic Graph Convolutional Neural Networks (2019), and many since.
PUBLISHED = {"disease": 0.0, "disease-hgcn": 0.0, "airport": 1.0, "pubmed": 3.5, "cora": 11.0}


@dataclass(frozen=True)
class DeltaResult:
    r"""Gromov's :math:`\delta` of a graph, or a bracket that certainly holds it.

    Attributes:
        delta: the value if ``exact``, else the lower bound.
        lower: the largest :math:`\delta` of a quadruple that was seen.
        upper: a proven upper bound.
        exact: whether ``lower`` and ``upper`` meet.
        witness: four nodes whose pair sums show ``lower``.
        sums: the three pair sums of the witness, the largest first: ``lower`` is half of first minus second.
        diameter: the largest distance; the largest seen if not ``diameter_exact``.
        nodes: how many nodes the component has.
        edges: how many edges the component has.
        seconds: the time taken.
        relative: :math:`2 \delta / \text{diameter}`, None while the diameter is not known.
        method: ``"exact"``, ``"sampled"`` or ``"base point"``.
        stopped: why the search ended before the bracket closed, "" if it closed.
        samples: how many quadruples were drawn (``"sampled"`` only).
        seed: what they were drawn with.
        mean: their mean :math:`\delta`.
        mean_interval: its 95 % confidence interval.

    Example:
        >>> import networkx as nx
        >>> result = delta_hyperbolicity(nx.cycle_graph(8))
        >>> result.delta, result.exact, result.sums, len(result.witness)
        (2.0, True, (8, 4, 4), 4)
    """

    delta: float
    lower: float
    upper: float
    exact: bool
    witness: tuple[Any, Any, Any, Any]
    sums: tuple[float, float, float]
    diameter: float
    diameter_exact: bool
    nodes: int
    edges: int
    seconds: float
    relative: float | None
    method: str = "exact"
    stopped: str = ""
    samples: int | None = None
    seed: int | None = None
    mean: float | None = None
    mean_interval: tuple[float, float] | None = None

    def __repr__(self) -> str:
        value = f"delta={self.delta:g}" if self.exact else f"{self.lower:g} <= delta <= {self.upper:g}"
        return f"DeltaResult({value}, nodes={self.nodes}, diameter={self.diameter:g}, method={self.method!r})"

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return asdict(self)
