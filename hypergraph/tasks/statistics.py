"""Differences between two runs over the seeds that they share."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypergraph.tasks.result import Result


@dataclass(frozen=True)
class Paired:
    """The mean of paired differences.

    Args:
        pairs: How many there are.
        mean: Their mean.
        interval: Its 95 % interval by the bootstrap (BCa); ``None`` for fewer than two pairs. It holds for
            many pairs; of five it is too short.
        p: Of a two-sided paired t-test; 1 where nothing differs, ``None`` for fewer than two pairs.
    """

    pairs: int
    mean: float
    interval: tuple[float, float] | None
    p: float | None

    @property
    def settled(self) -> str:
        """Which is better, as far as it can be told: ``better``, ``worse`` or ``open``."""
        if self.interval is None or self.interval[0] <= 0 <= self.interval[1]:
            return "open"
        return "better" if self.mean > 0 else "worse"


def paired(differences: Sequence[float]) -> Paired:
    """The statistics of differences, one a seed."""
    from scipy import stats

    mean, pairs = statistics.fmean(differences), len(differences)
    if pairs < 2:
        return Paired(pairs, mean, None, None)
    if max(differences) == min(differences):  # neither is defined: nothing varies
        return Paired(pairs, mean, (mean, mean), 1.0 if mean == 0 else 0.0)
    found = stats.bootstrap(
        (list(differences),), statistic=_mean, confidence_level=0.95, method="BCa", rng=0, vectorized=True
    )
    low, high = found.confidence_interval
    p = stats.ttest_1samp(list(differences), 0.0).pvalue
    return Paired(pairs, mean, (float(low), float(high)), float(p))


def _mean(sample: object, axis: int = -1) -> object:
    import numpy as np

    return np.mean(np.asarray(sample), axis=axis)


def by_seed(result: Result) -> Mapping[int, float]:
    """The test metric of each seed."""
    return dict(zip((seed["seed"] for seed in result.seeds), result.values()))


def paired_seeds(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Paired | None:
    """The first minus the second over the seeds that both have; ``None`` where they share none."""
    shared = sorted(ours.keys() & theirs.keys())
    return paired([ours[seed] - theirs[seed] for seed in shared]) if shared else None


def paired_runs(result: Result, other: Result) -> Paired | None:
    """:func:`paired_seeds` of two runs."""
    return paired_seeds(by_seed(result), by_seed(other))
