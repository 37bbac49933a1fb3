"""The command line: a thin layer over tasks. Nothing heavy is imported at the top."""

from __future__ import annotations

import sys

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


def main() -> None:
    """Run the command line: a mistake in what was given is one sentence on standard error and exit code 2."""
    try:
        app()
    except InputError as error:
        typer.echo(f"hypergraph: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("hypergraph: interrupted.", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
