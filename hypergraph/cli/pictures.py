"""The commands that draw: one for each picture, and the page."""

from __future__ import annotations

from pathlib import Path

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import DATA_FOLDER, DATASET, NAMED, need_dataset
from hypergraph.cli.runs import RUN

plot_app = typer.Typer(no_args_is_help=True, help="Draw a picture: PNG, SVG or PDF.")
app.add_typer(plot_app, name="plot")

CURVATURE = typer.Option(-1.0, "--K", help="Curvature, below 0.")
METHOD = typer.Option(
    "auto", help="From more than 2 dimensions: horopca, tangent-pca, or auto: the one that distorts less."
)


def _out(name: str) -> Path:
    option: Path = typer.Option(Path(name), "--out", help="The picture: a .png, .svg or .pdf file.")
    return option


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _written(out: Path) -> None:
    _say(f"Written to {out}.")


HOROSPHERES, HYPERPLANES, EMBEDDING = (_out(f"{n}.png") for n in ("horospheres", "hyperplanes", "embedding"))
REGIONS, TREE, CURVES, DELTA = (_out(f"{n}.png") for n in ("regions", "tree", "curves", "delta"))


@plot_app.command("horospheres")
def horospheres(out: Path = HOROSPHERES, K: float = CURVATURE) -> None:
    """Horospheres of several levels on the disk and on the hyperboloid: the paper's first figure."""
    from hypergraph.viz.command import plot_horospheres

    _check(K)
    plot_horospheres(out, K)
    _written(out)


@plot_app.command("hyperplanes")
def hyperplanes(out: Path = HYPERPLANES, K: float = CURVATURE) -> None:
    """Hyperplanes beside horospheres: what the heads measure the distance to."""
    from hypergraph.viz.command import plot_hyperplanes

    _check(K)
    plot_hyperplanes(out, K)
    _written(out)


@plot_app.command("embedding")
def embedding(
    run: Path = RUN,
    out: Path = EMBEDDING,
    colour: str | None = typer.Option(
        None, help="class, prediction, error, confidence, degree, part or another column; by default class."
    ),
    method: str = METHOD,
    edges: bool = typer.Option(True, "--edges/--no-edges", help="Draw the edges, up to 20000 of them."),
) -> None:
    """The points of a run in the disk, with the distortion of the picture."""
    from hypergraph.viz.command import plot_embedding

    plot_embedding(run, out, colour, method, edges, _say)
    _written(out)


@plot_app.command("regions")
def regions(run: Path = RUN, out: Path = REGIONS, method: str = METHOD) -> None:
    """Decision regions and class horospheres of a run, for any head; above --dim 2 a section of them."""
    from hypergraph.viz.command import plot_regions

    plot_regions(run, out, method, _say)
    _written(out)


@plot_app.command("tree")
def tree(
    named: str | None = NAMED,
    dataset: str | None = DATASET,
    out: Path = TREE,
    length: float | None = typer.Option(None, help="The hyperbolic length of an edge."),
    data: str | None = DATA_FOLDER,
) -> None:
    """A tree by Sarkar's construction; of another graph, a breadth-first tree."""
    from hypergraph.viz.command import plot_tree

    plot_tree(need_dataset(named, dataset), out, data, length)
    _written(out)


@plot_app.command("curves")
def curves(
    runs: list[Path] = typer.Argument(metavar="RUN...", help="Run folders."),  # noqa: B008
    out: Path = CURVES,
    metric: str | None = typer.Option(None, help="A column of metrics.jsonl; by default the validation one."),
    name: list[str] | None = typer.Option(None, help="What to call a run; once for each."),  # noqa: B008
) -> None:
    """One metric of several runs in one plot: the paper's second figure."""
    from hypergraph.viz.command import plot_training

    plot_training(runs, out, metric, name or ())
    _written(out)


@plot_app.command("delta")
def delta(
    named: str | None = NAMED,
    dataset: str | None = DATASET,
    out: Path = DELTA,
    time_limit: float | None = typer.Option(None, help="Seconds; then the bracket is drawn as far as it is."),
    data: str | None = DATA_FOLDER,
) -> None:
    """The bracket around delta as the exact search closes it."""
    from hypergraph.viz.command import plot_delta

    plot_delta(need_dataset(named, dataset), out, data, time_limit)
    _written(out)


def _check(K: float) -> None:
    from hypergraph.geometry.space import Curvature

    Curvature(K)


@app.command()
def explore(
    sources: list[str] | None = typer.Argument(  # noqa: B008
        None, metavar="RUN|DATASET...", help="A run folder, or a graph; two are shown side by side."
    ),
    dataset: str | None = DATASET,
    out: Path | None = typer.Option(None, help="The HTML file; by default RUN/explore.html."),  # noqa: B008
    open_: bool = typer.Option(False, "--open", help="Open it in the browser."),
    method: str = METHOD,
    data: str | None = DATA_FOLDER,
) -> None:
    """Write a page to explore a run in the disk: one HTML file that needs no network."""
    from hypergraph.viz.explore import explore as write_page

    shown = [*(sources or ()), *([dataset] if dataset else ())] or [need_dataset(None, None)]
    page = write_page(shown, out, method=method, data=data, say=_say)
    _say(
        f"Written to {page} ({page.stat().st_size / 1e6:.1f} MB)."
        + ("" if open_ else " Open it in a browser.")
    )
    if open_:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
