"""The commands on run folders."""

from __future__ import annotations

from pathlib import Path

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import JSON
from hypergraph.cli.output import print_json
from hypergraph.errors import InputError

RUN = typer.Argument(metavar="RUN", help="A run folder.")
RUNS = typer.Argument(metavar="RUN RUN...", help="Run folders of the same task.")
PREDICTIONS = typer.Option(Path("predictions.csv"), "--out", help="The CSV file to write.")


@app.command()
def show(run: Path = RUN, json: bool = JSON) -> None:
    """Print a run: its numbers, settings and files, or how far it is."""
    from hypergraph.tasks.show import describe
    from hypergraph.tasks.show import show as print_run

    if json:
        record = describe(run)
        print_json(record)
        damaged = record["damaged"]
    else:
        damaged = print_run(run)
    if damaged:
        raise InputError(" ".join(damaged))


@app.command()
def predict(
    run: Path = RUN,
    out: Path = PREDICTIONS,
    seed: int | None = typer.Option(None, help="Whose model; by default the best on validation."),
) -> None:
    """Load the model of a run and write its predictions."""
    from hypergraph.tasks.predict import predict as write_predictions

    typer.echo(f"{write_predictions(run, out, seed)} predictions written to {out}.", err=True)


@app.command()
def compare(runs: list[Path] = RUNS, json: bool = JSON) -> None:
    """Compare runs, with a paired test over their seeds against the first."""
    from dataclasses import asdict

    from hypergraph.tasks.compare import compare as compare_runs
    from hypergraph.tasks.compare import table

    metric, rows = compare_runs(runs)
    if json:
        print_json({"metric": metric, "runs": [asdict(row) for row in rows]})
        return
    from rich.console import Console

    Console().print(table(metric, rows))
    for row in rows:
        if row.note:
            typer.echo(f"{row.run}: {row.note}.")
