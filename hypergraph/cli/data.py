"""The commands on datasets and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import (
    DATA_FOLDER,
    DATASET,
    JSON,
    NAMED,
    command,
    from_fields,
    given,
    need_dataset,
)
from hypergraph.cli.output import print_json, print_record, print_table
from hypergraph.errors import InputError, short
from hypergraph.hyperbolicity.settings import DeltaSettings

FOLDER = typer.Argument(metavar="FOLDER", help="A folder of raw files, or of a graph of your own.")
NEW_FOLDER = typer.Argument(
    None, metavar="FOLDER", help="The folder to write: new, or empty.", show_default=False
)

data_app = typer.Typer(no_args_is_help=True, help="List, describe, fetch, check and convert datasets.")
app.add_typer(data_app, name="data")


@data_app.command("list")
def data_list(data: str | None = DATA_FOLDER, json: bool = JSON) -> None:
    """List the datasets, and where their files are."""
    from hypergraph.datasets import report

    rows = report.list_datasets(data)
    if json:
        print_json(rows)
    else:
        print_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])


@data_app.command("info")
def data_info(
    named: str | None = NAMED,
    dataset: str | None = DATASET,
    data: str | None = DATA_FOLDER,
    json: bool = JSON,
) -> None:
    """Describe a dataset, or a graph of your own."""
    name = need_dataset(named, dataset)
    from hypergraph.datasets import report

    print_record(report.describe(name, data), json)


@data_app.command("fetch")
def data_fetch(named: str | None = NAMED, dataset: str | None = DATASET, json: bool = JSON) -> None:
    """Fetch the files of a dataset to the cache, and verify them."""
    name = need_dataset(named, dataset)
    from hypergraph.datasets import report

    print_record(report.fetch(name), json)


@data_app.command("check")
def data_check(folder: Path = FOLDER, json: bool = JSON) -> None:
    """Verify the files in a folder by their checksums, or read it as a graph of your own."""
    from hypergraph.datasets import report

    checked = report.check(folder)
    print_record(checked, json)
    wrong = [
        f"{state}: {', '.join(checked[state])}" for state in ("damaged", "missing") if checked.get(state)
    ]
    if wrong:
        raise InputError(f"{folder}: {'; '.join(wrong)}; fetch them again.")


@data_app.command("convert")
def data_convert(
    named: str | None = NAMED,
    folder: Path | None = NEW_FOLDER,
    dataset: str | None = DATASET,
    task: str = typer.Option("node", help="node or link: some datasets have other features for links."),
    data: str | None = DATA_FOLDER,
    json: bool = JSON,
) -> None:
    """Write a graph as a folder of arrays that are mapped into memory, for graphs larger than it."""
    if folder is None and dataset is not None and named is not None:  # the one argument is the folder
        folder, named = Path(named), None
    name = need_dataset(named, dataset)
    if folder is None:
        raise InputError(f"Name the folder to write: hypergraph data convert {short(name)} FOLDER.")
    from hypergraph.datasets.disk import convert

    about = convert(name, folder, data=data, task=task)
    arrays = {f"{name}.npy": f"{a['dtype']} {tuple(a['shape'])}" for name, a in about["arrays"].items()}
    print_record({"folder": str(folder), "arrays": arrays}, json)


def _delta(typed: dict[str, Any]) -> None:
    from hypergraph.hyperbolicity.report import describe, measure

    as_json = typed.pop("json")
    typed["dataset"] = need_dataset(typed.pop("named"), typed["dataset"])
    result, record = measure(DeltaSettings(**given(typed)))
    if as_json:
        print_json(record)
    else:
        typer.echo("\n".join(describe(record)))
    if result.stopped == "interrupted":
        raise typer.Exit(130)


app.command("delta")(
    command(
        _delta,
        "Gromov's delta-hyperbolicity of a graph: exact, with four nodes that show it.",
        {"named": (str | None, NAMED)}
        | from_fields(DeltaSettings)
        | {"dataset": (str | None, DATASET), "json": (bool, JSON)},
    )
)
