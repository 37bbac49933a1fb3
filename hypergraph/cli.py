"""The command line: a thin layer over tasks. Nothing heavy is imported at the top."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from hypergraph import __version__
from hypergraph.errors import InputError

app = typer.Typer(
    name="hypergraph",
    help="Hyperbolic graph learning: trained heads, layers and encoders, and exact delta-hyperbolicity.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hypergraph {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None: ...


DATASET = typer.Option(None, help="A dataset's name (see `hypergraph data list`), or a file or folder.")
ENCODER = typer.Option(None, help="hgcn, hnn, or the Euclidean gcn and mlp.")
SPLIT = typer.Option(None, help="hgcn, strict, planetoid or random; by default the published one.")
DIM = typer.Option(None, help="Dimension of the embedding.")
LAYERS = typer.Option(None, help="Number of the encoder's layers.")
CURVATURE = typer.Option(None, "--K", help="Curvature, below 0.")
LEARN_CURVATURE = typer.Option(None, "--learn-curvature/--fix-curvature", help="Train the curvature too.")
CLIP = typer.Option(None, help="Clip features to this norm before they are lifted.")
LR = typer.Option(None, help="Learning rate.")
WEIGHT_DECAY = typer.Option(None, help="L2 weight decay.")
DROPOUT = typer.Option(None, help="Dropout of weights (DropConnect).")
EPOCHS = typer.Option(None, help="The most epochs.")
PATIENCE = typer.Option(None, help="Stop after so many epochs without a better validation metric; 0: never.")
EVAL_EVERY = typer.Option(None, help="Evaluate after every so many epochs.")
SEEDS = typer.Option(None, help="How many seeds.")
SEED = typer.Option(None, help="The first seed.")
DTYPE = typer.Option(None, help="float32 or float64.")
DEVICE = typer.Option(None, help="cpu, cuda, cuda:1 ...")
DATA = typer.Option(None, help="A folder with the raw files of datasets.")
CONFIG = typer.Option(None, help="A TOML file of settings, or a run's config.toml; flags override it.")
PRINT_CONFIG = typer.Option(False, "--print-config", help="Print the effective settings and stop.")
OUT = typer.Option(None, help="The run folder; by default the next free one under runs/.")
RESUME = typer.Option(None, metavar="RUN", help="Continue this interrupted run.")
JOBS = typer.Option(None, help="Seeds that run side by side; the numbers do not depend on it.")
JSON = typer.Option(False, "--json", help="Print one JSON object; everything else goes to standard error.")
FOLDER = typer.Argument(metavar="FOLDER", help="A folder of raw files, or of a graph of your own.")
RUN = typer.Argument(metavar="RUN", help="A run folder.")
RUNS = typer.Argument(metavar="RUN RUN...", help="Run folders of the same task.")
PREDICTIONS = typer.Option(Path("predictions.csv"), "--out", help="The CSV file to write.")


@app.command("node-clf")
def node_clf(
    ctx: typer.Context,
    dataset: str | None = DATASET,
    head: str | None = typer.Option(None, help="The head: see `hypergraph heads`."),
    encoder: str | None = ENCODER,
    linear: str | None = typer.Option(None, help="The encoder's linear layers: see `hypergraph layers`."),
    split: str | None = SPLIT,
    dim: int | None = DIM,
    layers: int | None = LAYERS,
    K: float | None = CURVATURE,
    learn_curvature: bool | None = LEARN_CURVATURE,
    clip: float | None = CLIP,
    lr: float | None = LR,
    weight_decay: float | None = WEIGHT_DECAY,
    dropout: float | None = DROPOUT,
    epochs: int | None = EPOCHS,
    patience: int | None = PATIENCE,
    eval_every: int | None = EVAL_EVERY,
    seeds: int | None = SEEDS,
    seed: int | None = SEED,
    dtype: str | None = DTYPE,
    device: str | None = DEVICE,
    data: str | None = DATA,
    config: str | None = CONFIG,
    print_config: bool = PRINT_CONFIG,
    out: str | None = OUT,
    resume: str | None = RESUME,
    jobs: int | None = JOBS,
    json: bool = JSON,
) -> None:
    """Train and test node classification: mean ± std over seeds, and a run folder."""
    _run_task("node-clf", ctx.params)


@app.command("link-pred")
def link_pred(
    ctx: typer.Context,
    dataset: str | None = DATASET,
    fc: str | None = typer.Option(None, help="The linear layers: see `hypergraph layers`."),
    encoder: str | None = ENCODER,
    phi: str | None = typer.Option(None, help="The activation inside BFC; none is the identity."),
    split: str | None = SPLIT,
    dim: int | None = DIM,
    layers: int | None = LAYERS,
    K: float | None = CURVATURE,
    learn_curvature: bool | None = LEARN_CURVATURE,
    clip: float | None = CLIP,
    lr: float | None = LR,
    weight_decay: float | None = WEIGHT_DECAY,
    dropout: float | None = DROPOUT,
    epochs: int | None = EPOCHS,
    patience: int | None = PATIENCE,
    eval_every: int | None = EVAL_EVERY,
    seeds: int | None = SEEDS,
    seed: int | None = SEED,
    dtype: str | None = DTYPE,
    device: str | None = DEVICE,
    data: str | None = DATA,
    config: str | None = CONFIG,
    print_config: bool = PRINT_CONFIG,
    out: str | None = OUT,
    resume: str | None = RESUME,
    jobs: int | None = JOBS,
    json: bool = JSON,
) -> None:
    """Train and test link prediction: mean ± std over seeds, and a run folder."""
    _run_task("link-pred", ctx.params)


HEAD = typer.Option(None, help="The head: see `hypergraph heads`.")
BATCH = typer.Option(None, help="Examples in a batch, over all processes.")
MILESTONES = typer.Option(None, help="Epochs after which the learning rate falls, such as 60,85.")
THREADS = typer.Option(None, help="Torch's threads for each seed.")
SPLIT_SEED = typer.Option(None, help="The seed of the split of data that comes in one piece.")


@app.command("image")
def image(
    ctx: typer.Context,
    dataset: str | None = typer.Option(
        None, help="digits (default), cifar10, cifar100, tiny-imagenet, imagenet, or a folder of images."
    ),
    head: str | None = HEAD,
    width: int | None = typer.Option(None, help="Channels of the first stage; 64 is ResNet-18."),
    stem: str | None = typer.Option(None, help="small, or imagenet."),
    size: int | None = typer.Option(None, help="The side to which image files are scaled."),
    crop: int | None = typer.Option(None, help="The side of the random crop; 0 is the whole image."),
    pad: int | None = typer.Option(None, help="Pixels of zeros around an image before it is cropped."),
    flip: bool | None = typer.Option(None, "--flip/--no-flip", help="Mirror half of the images."),
    precision: str | None = typer.Option(None, help="float32, or bfloat16 (autocast)."),
    batch: int | None = BATCH,
    milestones: str | None = MILESTONES,
    K: float | None = CURVATURE,
    learn_curvature: bool | None = LEARN_CURVATURE,
    clip: float | None = CLIP,
    lr: float | None = LR,
    weight_decay: float | None = WEIGHT_DECAY,
    epochs: int | None = EPOCHS,
    eval_every: int | None = EVAL_EVERY,
    seeds: int | None = SEEDS,
    seed: int | None = SEED,
    split_seed: int | None = SPLIT_SEED,
    device: str | None = DEVICE,
    threads: int | None = THREADS,
    data: str | None = DATA,
    config: str | None = CONFIG,
    print_config: bool = PRINT_CONFIG,
    out: str | None = OUT,
    resume: str | None = RESUME,
    jobs: int | None = JOBS,
    json: bool = JSON,
) -> None:
    """Train and test image classification: a ResNet-18 and any head. Runs under torchrun too."""
    _run_task("image", ctx.params)


@app.command("genome")
def genome(
    ctx: typer.Context,
    dataset: str | None = typer.Option(
        None, help="simulated (default), a folder with train/dev/test.csv, a CSV or FASTA file, or a name."
    ),
    head: str | None = HEAD,
    length: int | None = typer.Option(None, help="Letters of a sequence: others are cut, or filled with N."),
    batch: int | None = BATCH,
    milestones: str | None = MILESTONES,
    K: float | None = CURVATURE,
    learn_curvature: bool | None = LEARN_CURVATURE,
    clip: float | None = CLIP,
    lr: float | None = LR,
    weight_decay: float | None = WEIGHT_DECAY,
    epochs: int | None = EPOCHS,
    eval_every: int | None = EVAL_EVERY,
    seeds: int | None = SEEDS,
    seed: int | None = SEED,
    split_seed: int | None = SPLIT_SEED,
    device: str | None = DEVICE,
    threads: int | None = THREADS,
    data: str | None = DATA,
    config: str | None = CONFIG,
    print_config: bool = PRINT_CONFIG,
    out: str | None = OUT,
    resume: str | None = RESUME,
    jobs: int | None = JOBS,
    json: bool = JSON,
) -> None:
    """Train and test the classification of DNA: a CNN and any head."""
    _run_task("genome", ctx.params)


TABLE_DATASETS = typer.Option(None, "--dataset", help="Again for more; by default all of the table.")
TABLE_METHODS = typer.Option(None, "--method", help="A head or layer; again for more; by default all.")
TABLE_RUNS = typer.Option(Path("runs"), "--runs", help="Where run folders are: finished ones are used again.")
TABLE_OUT = typer.Option(None, "--out", help="The Markdown file to write.")


@app.command()
def reproduce(
    task: str = typer.Argument(help="image, genome, node-clf or link-pred."),
    dataset: list[str] | None = TABLE_DATASETS,
    method: list[str] | None = TABLE_METHODS,
    seeds: int | None = SEEDS,
    epochs: int | None = EPOCHS,
    data: str | None = DATA,
    runs: Path = TABLE_RUNS,
    finished: bool = typer.Option(False, "--finished", help="Train nothing; show what is finished."),
    jobs: int | None = JOBS,
    out: Path | None = TABLE_OUT,
) -> None:
    """Run a table of the paper over the datasets at hand, with the published figures beside."""
    from hypergraph.files import atomic_write_text
    from hypergraph.tasks.reproduce import reproduce as run_table

    table = run_table(
        task,
        datasets=dataset or (),
        methods=method or (),
        runs=runs,
        finished=finished,
        jobs=jobs,
        say=lambda text: typer.echo(text, err=True),
        seeds=seeds,
        epochs=epochs,
        data=data,
    )
    if out is not None:
        atomic_write_text(out, table)
    typer.echo(table, nl=False)


def _run_task(task: str, params: dict[str, Any]) -> None:
    """Run a task with what was typed: words and progress on standard error, the result on standard output."""
    from hypergraph.tasks import command

    command.run_task(task, dict(params))


@app.command()
def show(run: Path = RUN, json: bool = JSON) -> None:
    """Print a run: its numbers, settings and files, or how far it is."""
    from hypergraph.tasks.show import describe
    from hypergraph.tasks.show import show as print_run

    if json:
        _print_json(describe(run))
    else:
        print_run(run)


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
        _print_json({"metric": metric, "runs": [asdict(row) for row in rows]})
    else:
        from rich.console import Console

        Console().print(table(metric, rows))
        for row in rows:
            if row.note:
                typer.echo(f"{row.run}: {row.note}.")


data_app = typer.Typer(no_args_is_help=True, help="List, describe, fetch and check datasets.")
app.add_typer(data_app, name="data")


@data_app.command("list")
def data_list(data: str | None = DATA, json: bool = JSON) -> None:
    """List the datasets, and where their files are."""
    from hypergraph.datasets import report

    rows = report.list_datasets(data)
    if json:
        _print_json(rows)
    else:
        _print_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])


@data_app.command("info")
def data_info(
    name: str = typer.Argument(metavar="NAME", help="A dataset's name, or a file or folder of your own."),
    data: str | None = DATA,
    json: bool = JSON,
) -> None:
    """Describe a dataset, or a graph of your own."""
    from hypergraph.datasets import report

    _print_record(report.describe(name, data), json)


@data_app.command("fetch")
def data_fetch(name: str = typer.Argument(metavar="NAME"), json: bool = JSON) -> None:
    """Fetch the files of a dataset to the cache, and verify them."""
    from hypergraph.datasets import report

    _print_record(report.fetch(name), json)


@data_app.command("check")
def data_check(folder: Path = FOLDER, json: bool = JSON) -> None:
    """Verify the files in a folder by their checksums, or read it as a graph of your own."""
    from hypergraph.datasets import report

    checked = report.check(folder)
    _print_record(checked, json)
    if not checked["ok"]:
        raise InputError(f"{folder}: damaged: {', '.join(checked['damaged'])}; fetch them again.")


@app.command("delta")
def delta(
    dataset: str = typer.Option(
        ..., help="A dataset's name (see `hypergraph data list`), or a file or folder."
    ),
    method: str = typer.Option("exact", help="exact, or sampled: the published estimate, a lower bound."),
    time_limit: float | None = typer.Option(None, help="Seconds, once loaded; then the bracket is reported."),
    memory_limit: str | None = typer.Option(
        None, help="The most that the distance matrix may take, like 500MB; by default what is available."
    ),
    samples: int = typer.Option(50_000, help="How many quadruples `sampled` draws."),
    seed: int = typer.Option(0, help="Of the samples and of the local search."),
    data: str | None = DATA,
    json: bool = JSON,
) -> None:
    """Gromov's delta-hyperbolicity of a graph: exact, with four nodes that show it."""
    from hypergraph.hyperbolicity.report import describe, measure

    result, record = measure(
        dataset,
        data=data,
        method=method,
        time_limit=time_limit,
        memory_limit=memory_limit,
        samples=samples,
        seed=seed,
    )
    if json:
        _print_json(record)
    else:
        typer.echo("\n".join(describe(record)))
    if result.stopped == "interrupted":
        raise typer.Exit(130)


def _print_record(record: dict[str, Any], json: bool) -> None:
    """Print nested facts, one a line."""
    if json:
        _print_json(record)
        return

    def lines(value: Any, depth: int) -> None:
        for key, inner in value.items():
            if isinstance(inner, dict):
                typer.echo(f"{'  ' * depth}{key}:")
                lines(inner, depth + 1)
            else:
                shown = ", ".join(map(str, inner)) if isinstance(inner, list) else inner
                typer.echo(f"{'  ' * depth}{key}: {shown}")

    lines(record, 0)


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print columns under their names; the last one may be as long as it likes."""
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    for row in (columns, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, indent=2))


def _sentence(error: Any) -> str:
    """A mistake on the command line in one sentence, with the nearest right name."""
    import difflib
    import re

    ctx, said = getattr(error, "ctx", None), error.format_message()
    if ctx is None:
        return str(said)
    if match := re.match(r"No such (option|command):? '?(-*[^\s']+)", said):
        kind, wrong = match.groups()
        options = [
            name for parameter in ctx.command.params for name in (*parameter.opts, *parameter.secondary_opts)
        ]
        names = [*options, "--help"] if kind == "option" else list(ctx.command.commands)
        near = difflib.get_close_matches(wrong, names, n=1, cutoff=0.4)
        said = f"There is no {kind} '{wrong}'" + (f", did you mean '{near[0]}'?" if near else ".")
    return f"{said.rstrip('.')} (see '{ctx.command_path} --help')."


@app.command("heads")
def list_heads(json: bool = JSON) -> None:
    """List the classification heads: space, formula in words, parameters, FLOPs, reference."""
    _list_entries("HEADS", json)


@app.command("layers")
def list_layers(json: bool = JSON) -> None:
    """List the linear layers: space, formula in words, parameters, FLOPs, reference."""
    _list_entries("LAYERS", json)


def _list_entries(name: str, json: bool) -> None:
    from dataclasses import asdict

    from hypergraph.nn import registry

    entries = getattr(registry, name)
    if json:
        _print_json([asdict(entry) for entry in entries.values()])
    else:
        typer.echo(registry.table(entries))


def main() -> None:
    """Run the command line: a mistake in what was given is one sentence on standard error and exit code 2."""
    try:
        code = app(prog_name="hypergraph", standalone_mode=False)
    except InputError as error:
        typer.echo(f"hypergraph: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        # typer's own errors (its module for them differs between versions); anything else is a bug of ours
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ != "NoArgsIsHelpError":  # then the help has been printed
            typer.echo(f"hypergraph: {_sentence(error)}", err=True)
        sys.exit(2)
    if code == 130:
        typer.echo("hypergraph: interrupted.", err=True)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
