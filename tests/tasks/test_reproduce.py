"""`hypergraph reproduce`: runs what is here, takes what is finished, and shows what was published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hypergraph.errors import InputError
from hypergraph.nn.registry import HEADS, LAYERS
from hypergraph.tasks import reproduce as module
from hypergraph.tasks.reproduce import published, reproduce


def test_every_published_figure_is_of_a_registered_method() -> None:
    for task, names, count in (
        ("node-clf", HEADS, 28),
        ("link-pred", LAYERS, 24),
        ("image", HEADS, 24),
        ("genome", HEADS, 80),
    ):
        cells = [
            cell for cells in published(task).values() if isinstance(cells, dict) for cell in cells.items()
        ]
        assert len(cells) == count and {method for method, _ in cells} <= set(names)
        assert all(re.fullmatch(r"\d\d\.\d\d( ± \d\.\d\d)?", figure) for _, figure in cells)
    assert published("genome")["prom_core_tata"]["bmlr-l"] == "81.76 ± 1.16"
    with pytest.raises(InputError, match="Unknown table 'genomes'; did you mean 'genome'"):
        published("genomes")


def test_runs_are_made_once_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERGRAPH_DATA", raising=False)
    said: list[str] = []

    def table(**more: object) -> str:
        settings = {"epochs": 1, "seeds": 1, "jobs": 1, **more}
        return reproduce(
            "image",
            datasets=["digits", "cifar10"],
            methods=["mlr"],
            runs=tmp_path,
            say=said.append,
            **settings,
        )

    first = table()
    assert re.search(r"\| digits \| mlr \| 1 \| \d+\.\d\d \| – \| 1 \|", first)
    assert "Left out: cifar10 (cifar10: no such folder here" in first
    assert first.startswith("# Images\n") and '"Top-1 image classification accuracy' in first

    def no_training(*args: object, **settings: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("hypergraph.tasks.runner.run", no_training)
    assert table() == first
    assert table(finished=True).splitlines()[:8] == first.splitlines()[:8]
    with pytest.raises(InputError, match="image-digits-mlr: a run with epochs = 1, not 2; move it away"):
        table(epochs=2)


def test_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Nothing to show of genome: no finished run below"):
        reproduce("genome", runs=tmp_path, finished=True)


def test_published_figures_stand_beside_ours() -> None:
    seeds = [
        {"seed": seed, "test": {"mcc": 0.8 + seed / 100}, "val": {}, "best_epoch": 5, "seconds": 2.0}
        for seed in (0, 1)
    ]
    result = module.Result("genome", "mcc", {}, {}, "", 0, seeds, 0, {}, 0.0)
    row = module.Row("prom_core_tata", "bmlr-p", "80.29 ± 1.63", result)
    text = module.markdown(published("genome"), "genome", [row])
    assert "| prom_core_tata | bmlr-p | 2 | 80.50 ± 0.71 | 80.29 ± 1.63 | 5, 5 |" in text
