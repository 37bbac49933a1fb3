"""The explorer in a notebook (extra ``hypergraph[notebook]``)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError
from hypergraph.viz.page import page

if TYPE_CHECKING:
    from hypergraph.viz.scene import Scene

# The page runs in a frame of its own, without access to the notebook; it tells which nodes were selected.
_ESM = """
export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-modals");
    frame.title = "hypergraph explorer";
    frame.style.cssText = "width:100%;border:1px solid #8884;border-radius:6px";
    frame.style.height = `${model.get("height")}px`;
    frame.srcdoc = model.get("html");
    const listen = (event) => {
      if (event.source !== frame.contentWindow || !Array.isArray(event.data?.selected)) return;
      model.set("selected", event.data.selected.map(String));
      model.save_changes();
    };
    addEventListener("message", listen);
    el.append(frame);
    return () => removeEventListener("message", listen);
  },
};
"""


def show(*sources: str | os.PathLike[str], height: int = 640, method: str = "auto") -> Any:
    """The page of a run or graph, or of two side by side, as a widget of a notebook.

    Args:
        *sources: run folders, datasets' names or files of graphs.
        height: of the frame, in pixels.
        method: how points of more than two dimensions come to the disk.

    Returns:
        A widget; its ``selected`` holds the ids of the nodes that the lasso took.

    Example:
        >>> page = show("runs/cora", "runs/pubmed")  # doctest: +SKIP
        >>> page.selected  # doctest: +SKIP
    """
    if not 1 <= len(sources) <= 2:
        raise InputError(f"One run or two side by side can be explored, not {len(sources)}.")
    from hypergraph.viz.explore import read_source

    return widget([read_source(os.fspath(source), method) for source in sources], height)


def widget(scenes: Sequence[Scene], height: int) -> Any:
    """The page of scenes as a widget."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise InputError(
            "A notebook shows the page through anywidget; install it with: pip install 'hypergraph[notebook]'"
        ) from error

    class Explorer(anywidget.AnyWidget):
        _esm = _ESM
        html = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(640).tag(sync=True)
        selected = traitlets.List(traitlets.Unicode()).tag(sync=True)

    return Explorer(html=page(scenes), height=height)
