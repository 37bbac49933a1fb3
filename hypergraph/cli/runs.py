"""The commands on run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import JSON
from hypergraph.cli.output import print_json, print_table
from hypergraph.errors import InputError

RUN = typer.Argument(metavar="RUN", help="A run folder.")
RUNS = typer.Argument(metavar="RUN RUN...", help="Run folders of the same task.")
BELOW = typer.Argument(Path("runs"), metavar="FOLDER", help="Where to look; by default runs/.")
PREDICTIONS = typer.Option(
    Path("predictions.csv"),
    "--out",
    help="The file to write: .csv, .tsv, .json, .parquet or .npz; - is standard output.",
)
OTHER = typer.Option(None, "--dataset", help="Another graph with the same features, also with new nodes.")
MOVED = typer.Option(
    None,
    "--data",
    help="The folder with the raw files of --dataset; of the run itself where they have moved.",
)
PAIRS = typer.Option(
    None, "--pairs", help="Write the probability of an edge for each pair in this file (runs of link-pred)."
)


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
    dataset: str | None = OTHER,
    data: str | None = MOVED,
    pairs: Path | None = PAIRS,
    top_links: int | None = typer.Option(
        None, metavar="N", help="Write the N likeliest new neighbours of each node (runs of link-pred)."
    ),
    embedding: bool = typer.Option(
        False, "--embedding", help="Write the points of the nodes in place of predictions."
    ),
    seed: int | None = typer.Option(
        None, help="The seed whose model predicts; by default the best on validation."
    ),
    json: bool = JSON,
) -> None:
    """Load the model of a run and write what it predicts: of all nodes, of another graph, of pairs."""
    from hypergraph.tasks.predict import predict as write_predictions
    from hypergraph.tasks.predict import predictions, records

    options: dict[str, Any] = {
        "dataset": dataset,
        "data": data,
        "pairs": pairs,
        "top_links": top_links,
        "embedding": embedding,
        "say": lambda text: typer.echo(text, err=True),
    }
    if json:
        print_json(records(predictions(run, seed=seed, **options)))
        return
    count = write_predictions(run, out, seed, **options)
    if str(out) != "-":
        typer.echo(f"{count} rows written to {out}.", err=True)


@app.command()
def compare(runs: list[Path] = RUNS, json: bool = JSON) -> None:
    """Compare runs: what differs in their settings, and a paired test over seeds against the first."""
    from dataclasses import asdict

    from hypergraph.tasks.compare import compare as compare_runs
    from hypergraph.tasks.compare import finished, print_comparison

    if not json:
        print_comparison(runs)
        return
    done, left = finished(runs)
    metric, rows = compare_runs(done)
    unfinished = [str(path) for path in left]
    print_json({"metric": metric, "runs": [asdict(row) for row in rows], "unfinished": unfinished})


@app.command("runs")
def list_runs(folder: Path = BELOW, json: bool = JSON) -> None:
    """List the runs below a folder, the newest last."""
    from hypergraph.tasks.listing import list_runs as find

    rows = find(folder)
    if json:
        print_json(rows)
    elif rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows])
    else:
        typer.echo(f"No runs below {folder}.")
