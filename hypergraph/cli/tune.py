"""The command that searches for settings."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import BACKEND, DATA_FOLDER, DATASET, JSON, NAMED, need_dataset
from hypergraph.cli.output import print_json

SEARCH = typer.Option(
    None, "--search", help="A setting and what to try: lr=1e-3:1e-1:log, or K=-1,-0.1; again for more."
)
FIXED = typer.Option(None, "--set", help="A setting that stays: epochs=300; again for more.")
INTO = typer.Option(None, "--into", help="A file of presets, into which the winner is written.")
OUT = typer.Option(None, "--out", help="The study's folder; by default runs/tune-TASK-DATASET-METHOD.")


@app.command()
def tune(
    task: str = typer.Argument(help="node-clf, link-pred or genome."),
    named: str | None = NAMED,
    dataset: str | None = DATASET,
    method: str | None = typer.Option(None, help="The head or fc that is tuned."),
    search: list[str] | None = SEARCH,
    fixed: list[str] | None = FIXED,
    trials: int = typer.Option(50, help="How many trials there are to be, with those of earlier calls."),
    seeds: int = typer.Option(3, help="Seeds of a trial; a trial that falls behind ends after fewer."),
    jobs: int = typer.Option(1, help="Trials that run side by side."),
    backend: str = BACKEND,
    data: str | None = DATA_FOLDER,
    out: Path | None = OUT,
    into: Path | None = INTO,
    json: bool = JSON,
) -> None:
    """Search for good settings by validation scores alone; the same command goes on where it stopped."""
    name = need_dataset(named, dataset)
    from hypergraph.tasks import tune_command

    def say(text: str) -> None:
        typer.echo(text, err=True)

    given = {"dataset": name, "data": data, "seeds": seeds}
    try:
        found = tune_command.tune_from_words(
            task,
            given,
            method,
            search or (),
            fixed or (),
            folder=out,
            trials=trials,
            jobs=jobs,
            backend=backend,
            say=say,
        )
    except KeyboardInterrupt as interrupt:
        say(" ".join(map(str, interrupt.args)))
        raise
    if into is not None:
        say(
            f"Written as [{tune_command.write_preset(into, found, ['hypergraph', *sys.argv[1:]])}] of {into}."
        )
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(found.headline())
        typer.echo(f"Use it: hypergraph {task} --config {found.folder / 'best.toml'}")
