"""The commands that train: one for each task, and the tables of the paper."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import BACKEND, DATA_FOLDER, JOBS, command, one_dataset, task_options
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.tables import TABLES


def _run(task: str, typed: dict[str, Any]) -> None:
    typed["dataset"] = one_dataset(typed.pop("named"), typed["dataset"])
    from hypergraph.tasks.command import run_task

    run_task(task, typed)


for _name, _kind in KINDS.items():
    _options = task_options(_kind.load_config())
    app.command(_name)(command(partial(_run, _name), _kind.help, _options))


TABLE_NAMES = typer.Argument(help=f"{', '.join(TABLES)}, or all; several are written to a folder.")
TABLE_DATASETS = typer.Option(None, "--dataset", help="Again for more; by default all of the table.")
TABLE_METHODS = typer.Option(None, "--method", help="A head or fc; again for more; by default all.")
TABLE_RUNS = typer.Option(Path("runs"), "--runs", help="Where run folders are: finished ones are used again.")
TABLE_OUT = typer.Option(
    None, "--out", help="The Markdown page to write, its rows beside it; of several tables, their folder."
)


@app.command()
def reproduce(
    table: list[str] = TABLE_NAMES,
    dataset: list[str] | None = TABLE_DATASETS,
    method: list[str] | None = TABLE_METHODS,
    seeds: int | None = typer.Option(None, help="How many seeds."),
    epochs: int | None = typer.Option(None, help="The most epochs."),
    data: str | None = DATA_FOLDER,
    runs: Path = TABLE_RUNS,
    finished: bool = typer.Option(
        False, "--finished", help="Train nothing and measure nothing; show what is finished."
    ),
    jobs: int | None = JOBS,
    backend: str = BACKEND,
    out: Path | None = TABLE_OUT,
) -> None:
    """Run tables of the paper over the datasets at hand, with the published figures beside ours."""
    from hypergraph.tasks.reproduce_command import run_tables

    try:
        run_tables(
            table,
            out,
            datasets=dataset or (),
            methods=method or (),
            runs=runs,
            finished=finished,
            jobs=jobs,
            backend=backend,
            seeds=seeds,
            epochs=epochs,
            data=data,
        )
    except KeyboardInterrupt:
        typer.echo("What is finished is kept; the same command goes on from there.", err=True)
        raise
