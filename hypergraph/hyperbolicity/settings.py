"""The settings of ``hypergraph delta``; its options are made from them. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass

from hypergraph.option import MOST_SEED, check_fields, option


@dataclass(frozen=True, kw_only=True)
class DeltaSettings:
    """What is measured, how, and with how much time and memory."""

    dataset: str = option(..., "A dataset's name (see `hypergraph data list`), or a file or folder.")
    data: str | None = option(None, "A folder with the raw files of datasets.")
    method: str = option(
        "exact", "sampled is the published estimate, a lower bound.", choices=("exact", "sampled")
    )
    time_limit: float | None = option(None, "Seconds, once loaded; then the bracket is reported.", above=0)
    memory_limit: str | None = option(
        None, "The most that the distance matrix may take, like 500MB; by default what is available."
    )
    samples: int = option(50_000, "How many quadruples `sampled` draws.", least=1, most=10**8)
    seed: int = option(0, "Of the samples and of the local search.", least=0, most=MOST_SEED)

    def __post_init__(self) -> None:
        check_fields(self)
