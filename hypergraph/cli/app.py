"""The command that all commands hang on."""

from __future__ import annotations

import typer

from hypergraph import __version__

app = typer.Typer(
    name="hypergraph",
    help="Hyperbolic graph learning: trained heads, layers and encoders, and exact delta-hyperbolicity.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
