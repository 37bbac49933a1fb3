"""`hypergraph reproduce`: runs what is here, takes what is finished, and shows what was published."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hypergraph.errors import InputError
from hypergraph.nn.registry import FCS, HEADS
from hypergraph.tasks import measured, reproduce_command
from hypergraph.tasks import reproduce as module
from hypergraph.tasks.classes import classes
from hypergraph.tasks.config import NodeConfig, settle
from hypergraph.tasks.reproduce import figures, published, reproduce
from hypergraph.tasks.reproduce_page import Row, page, read_rows, write_rows
from hypergraph.tasks.result import Result
from hypergraph.tasks.tables import MEASURED, TABLES


def test_every_published_figure_is_of_a_registered_method() -> None:
    for task, names, count in (
        ("node-clf", HEADS, 28),
        ("link-pred", FCS, 24),
        ("image", HEADS, 24),
        ("genome", HEADS, 80),
    ):
        cells = [cell for cells in figures(task).values() for cell in cells.items()]
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
    row = r"\| digits \| mlr \(ours\) \| 1 \| N \| N \| – \| – \| N \| \d+ \| \d+ \| published \| no \|"
    assert re.search(row.replace("N", r"[\d.]+"), first)
    assert "Left out: cifar10 (cifar10: no such folder here" in first
    assert first.startswith("# Images\n") and '"Top-1 image classification accuracy' in first

    def no_training(*args: object, **settings: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("hypergraph.tasks.runner.run", no_training)
    assert table() == first
    assert table(finished=True).splitlines()[:11] == first.splitlines()[:11]
    with pytest.raises(InputError, match="image-digits-mlr: a run with epochs = 1, not 2; move it away"):
        table(epochs=2)


def test_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Nothing to show of genome: no finished run below"):
        reproduce("genome", runs=tmp_path, finished=True)


def run(values: list[float], task: str = "genome", metric: str = "mcc", **about: object) -> Result:
    seeds = [
        {
            "seed": seed,
            "test": {metric: value},
            "val": {metric: value + 0.01},
            "best_epoch": 5,
            "epochs": 9,
            "seconds": 2.0,
        }
        for seed, value in enumerate(values)
    ]
    return Result(task, metric, {"split": "dev", **about}, {}, "", 77, seeds, 0, {}, 0.0)


def test_published_figures_stand_beside_ours() -> None:
    rows = [
        Row.of("prom_core_tata", "bmlr-p", run([0.80, 0.81]), {}),
        Row.of("prom_core_tata", "pmlr", run([0.70, 0.72]), {}),
        Row.of("prom_core_tata", "mlr", run([0.5], leaks="some"), {}),
    ]
    text = page("genome", published("genome"), rows)
    assert "| prom_core_tata | bmlr-p | 2 | 80.50 ± 0.71 | 81.50 | 80.29 ± 1.63 | +0.2 | 2.0 | – |" in text
    assert text.count("| 2.0 | – | 77 | dev | no |") == 2
    assert "| prom_core_tata | mlr (ours) | 1 | 50.00 | 51.00 | – | – | 2.0 | – | 77 | dev | yes |" in text
    assert "| prom_core_tata | pmlr against bmlr-p | 2 | -9.50 | -10.00 to -9.00 | bmlr-p is better |" in text
    assert "mlr against bmlr-p | 1" not in text
    assert {line.count("|") for line in text.splitlines() if line.startswith("|")} == {13, 7}  # two tables
    assert "| MCC, ours | validation | MCC, published | difference | seconds | head |" in text


def test_a_row_with_a_recipe_is_compared_with_the_reference_of_that_recipe() -> None:
    methods = ("bfc-p", "mobius", "bfc-p, our recipe", "mobius, our recipe", "mlp")
    rows = [
        Row.of("cora", method, run([0.8 + 0.01 * i, 0.8 + 0.02 * i]), {}) for i, method in enumerate(methods)
    ]
    compared = re.findall(r"\| cora \| (.* against .*?) \|", page("link-pred", published("link-pred"), rows))
    assert compared == [
        "mobius against bfc-p",
        "bfc-p, our recipe against bfc-p",
        "mobius, our recipe against bfc-p, our recipe",
        "mlp against bfc-p",
    ]


def test_more_seeds_are_trained_beside_a_finished_run(tmp_path: Path) -> None:
    def table(seeds: int) -> str:
        return reproduce(
            "node-clf", datasets=["disease"], methods=["bmlr-p"], runs=tmp_path, seeds=seeds, epochs=1, jobs=1
        )

    assert "| disease | bmlr-p | 1 |" in table(1)
    assert "| disease | bmlr-p | 3 |" in table(3)
    assert "| disease | bmlr-p | 3 |" in table(2)  # what is there is shown
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"node-clf-disease-bmlr-p", "node-clf-disease-bmlr-p-from-1"}


def test_rows_of_earlier_calls_stay_if_their_settings_do(tmp_path: Path) -> None:
    said: list[str] = []

    def table(method: str, **settings: Any) -> str:
        return reproduce(
            "node-clf",
            datasets=["disease"],
            methods=[method],
            runs=tmp_path / "runs",
            keep=tmp_path / "page.jsonl",
            say=said.append,
            seeds=1,
            jobs=1,
            **settings,
        )

    table("mlp", min_epochs=0, patience=1)
    text = table("bmlr-p", epochs=1)
    assert "disease, mlp is left out: it was made with min_epochs = 0, not 300." in said
    assert text.count("| disease |") == 1
    rows = read_rows(tmp_path / "page.jsonl")
    assert [row.method for row in rows] == ["bmlr-p"] and rows[0].settings["epochs"] == 1
    write_rows(tmp_path / "page.jsonl", [replace(rows[0], settings=rows[0].settings | {"epochs": 5000})])
    text = table("tangent-p", epochs=1)
    assert [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| disease")] == [
        "tangent-p",  # the order of the paper
        "bmlr-p",
    ]
    write_rows(tmp_path / "page.jsonl", [replace(rows[0], method="bmlr-p, of old")])
    table("tangent-p", epochs=1)  # a name that is no more stops nothing
    assert any("disease, bmlr-p, of old is left out" in line for line in said)
    (tmp_path / "page.jsonl").write_text("{")
    with pytest.raises(InputError, match=r"page\.jsonl: damaged, or not rows written by"):
        table("bmlr-p", epochs=1)


def test_kept_rows_are_of_the_presets_of_today() -> None:
    """A figure in docs/results is what the command would make again; README and pages come from it."""
    folder = Path(__file__).parents[2] / "docs" / "results"
    for path in folder.glob("*.jsonl"):
        rows = read_rows(path)
        for row in rows:
            config = module._config(path.stem, row.dataset, row.method, {})
            assert module.difference(row.settings, config) is None, (path.stem, row.dataset, row.method)
        said = path.with_suffix(".md").read_text(encoding="utf-8")
        assert said == page(path.stem, published(path.stem), rows), f"{path.stem}: reproduce it"


def test_rows_with_settings_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Baselines stand beside every dataset, and a method may be more than the name of a layer."""
    asked: list[tuple[str, str, str]] = []

    def noted(folder: Path, config: Any, jobs: object, backend: str, say: object) -> Result:
        asked.append((folder.name, config.encoder, getattr(config, "phi", "")))
        return run([0.9, 0.91], config.task, "auc")

    monkeypatch.setattr(module, "_run", noted)
    monkeypatch.setattr(module, "_absent", lambda config: None)
    reproduce("activation", datasets=["cora"], runs=tmp_path, jobs=1)
    assert asked[1] == ("activation-cora-bfc-p-tanh", "hnn", "tanh") and asked[2][2] == "none"
    asked.clear()
    text = reproduce("link-pred", runs=tmp_path, jobs=1, datasets=["airport"])
    assert ("link-pred-airport-hgcn-with-bfc-p", "hgcn", "tanh") in asked and len(asked) == 11
    assert "| airport | gcn (ours) |" in text and "| airport | mobius | 2 |" in text
    asked.clear()
    reproduce("node-clf", runs=tmp_path, jobs=1, datasets=["airport", "cora", "citeseer"])
    more = [name for name, _, _ in asked if name.endswith(("patience-500", "bmlr-p-default-recipe"))]
    assert more == [
        "node-clf-airport-bmlr-p-patience-500",
        "node-clf-airport-bmlr-l-patience-500",
        "node-clf-cora-bmlr-p-default-recipe",
    ]


def test_a_setting_that_a_run_does_not_know_is_at_its_default(tmp_path: Path) -> None:
    config = settle(NodeConfig, {"dataset": "cora"})
    old = {name: value for name, value in config.to_dict().items() if name != "eval_every"}
    module._check(tmp_path, old, config)
    with pytest.raises(InputError, match="a run with eval_every = 1, not 2"):
        module._check(tmp_path, old, replace(config, eval_every=2))


def test_measured_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    text = reproduce("hyperbolicity", datasets=["disease"])
    assert "| disease | 0 | 0 |" in text
    monkeypatch.setattr(measured.efficiency, "__defaults__", ((), 1))
    text = reproduce("efficiency", datasets=["disease"])
    found = re.findall(r"\| disease \| ([a-z-]+) \| \d\.\d+ \| \d\.\d+ \| (\d+) \| (\d+) \|", text)
    assert len(found) == 6 and all(ours == theirs for _, ours, theirs in found)
    text = reproduce("efficiency", datasets=["disease"], methods=["bfc-p"])
    assert text.count("| disease |") == text.count("| disease | bfc-p |") == 1


@pytest.mark.parametrize(
    ("table", "given", "text"),
    [
        ("efficiency", {"datasets": ["diseas"]}, "Unknown dataset 'diseas'; did you mean 'disease'"),
        ("efficiency", {"methods": ["bfcp"]}, "Unknown method 'bfcp'; did you mean 'bfc-p'"),
        ("hyperbolicity", {"datasets": ["diseas"]}, "Nothing to show of hyperbolicity. Left out: diseas"),
        ("hyperbolicity", {"methods": ["bfc-p"]}, "has no choice of a method; leave out --method"),
        ("heads", {"datasets": ["disease"]}, "has no choice of a dataset; leave out --dataset"),
        *((table, {"finished": True}, "leave out --finished") for table in MEASURED),
    ],
)
def test_what_a_measured_table_cannot_show_is_refused(table: str, given: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        reproduce(table, **given)


@pytest.mark.slow
def test_slow_measured_tables(tmp_path: Path) -> None:
    text = reproduce("heads")
    assert text.count("| mlr |") == 5 and "| 4096 | 100 | pbmlr-p |" in text
    text = classes(tmp_path, lambda said: None, numbers=(2,), epochs=1)
    assert re.search(r"\| bmlr-l \| -?\d+\.\d\d, \d+\.\d\d s \|", text)


def test_rows_side_by_side_are_those_of_one_after_another(tmp_path: Path) -> None:
    said: list[str] = []
    rows = []
    for jobs in (1, 2):
        keep = tmp_path / f"{jobs}.jsonl"
        reproduce(
            "node-clf",
            datasets=["disease"],
            methods=["bmlr-p", "mlp"],
            runs=tmp_path / str(jobs),
            keep=keep,
            jobs=jobs,
            seeds=2,
            epochs=2,
            say=said.append,
        )
        rows.append([replace(row, seconds=[]) for row in read_rows(keep)])
    assert rows[0] == rows[1]
    assert any(re.match(r"disease, mlp: seed 1: val F1 ", text) for text in said)  # told by another process
    assert sum(text.endswith(": finished, 2 of 2 rows") for text in said) == 1


def test_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(table: str, **settings: object) -> str:
        if table == "image":
            raise InputError("Nothing to show of image.")
        return f"# {table}\n"

    monkeypatch.setattr(reproduce_command, "reproduce", made)
    reproduce_command.run_tables(["all"], tmp_path / "out", finished=False)
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {*TABLES} - {"image"}
    assert "image is left out: Nothing to show of image." in capsys.readouterr().err
    with pytest.raises(InputError, match="Several tables have datasets and methods of their own"):
        reproduce_command.run_tables(["all"], None, finished=False, datasets=["cora"])
    with pytest.raises(InputError, match="Unknown table 'link'; did you mean 'link-pred'"):
        reproduce_command.run_tables(["node-clf", "link"], tmp_path / "none", finished=False)
    assert not (tmp_path / "none").exists()
    reproduce_command.run_tables(["link-pred", "node-clf"], tmp_path / "two", finished=False)
    assert {path.stem for path in (tmp_path / "two").iterdir()} == {"node-clf", "link-pred"}
    with pytest.raises(InputError, match="Unknown table 'node'; did you mean 'node-clf'"):
        reproduce("node")
