"""`hypergraph explore`: runs or a graph, as a page that is opened in a browser."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from hypergraph.errors import InputError
from hypergraph.files import atomic_write_text
from hypergraph.viz.scene import Say, Scene, quiet


def explore(
    sources: Sequence[str | os.PathLike[str]],
    out: Path | None = None,
    *,
    method: str = "auto",
    data: str | None = None,
    say: Say = quiet,
) -> Path:
    """Write the page of a run, of a graph, or of two of them side by side.

    Args:
        sources: one or two run folders, datasets' names, or files of graphs.
        out: the HTML file; by default ``explore.html`` in the run folder, or the graph's name here.
        method: how points of more than two dimensions come to the disk.
        data: a folder with the raw files of datasets.
        say: told in words what was done.

    Returns:
        The file.
    """
    if not 1 <= len(sources) <= 2:
        raise InputError(f"One run or two side by side can be explored, not {len(sources)}.")
    from hypergraph.viz.page import page

    scenes = [read_source(os.fspath(source), method, data, say) for source in sources]
    target = out or _default(os.fspath(sources[0]), scenes)
    try:
        atomic_write_text(target, page(scenes))
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written ({error.strerror}); choose another with --out."
        ) from error
    return target


def read_source(source: str, method: str = "auto", data: str | None = None, say: Say = quiet) -> Scene:
    """The scene of a run folder, or of a graph."""
    if (Path(source) / "config.toml").exists():
        from hypergraph.viz.scene import run_scene

        return run_scene(Path(source), method, say)
    from hypergraph.viz.layout import graph_scene

    return graph_scene(source, data, say=say)


def _default(source: str, scenes: Sequence[Scene]) -> Path:
    if len(scenes) > 1:
        return Path("explore.html")
    if (Path(source) / "config.toml").exists():
        return Path(source) / "explore.html"
    return Path(re.sub(r"[^\w.-]+", "-", Path(source).stem) + ".html")
