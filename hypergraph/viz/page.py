"""The explorer: scenes written into one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.viz.scene import Column, Scene
from hypergraph.viz.style import ACCENT, INK, PALETTE, RIGHT_WRONG, ramp
from hypergraph.viz.training import PANELS

SCRIPTS = ("geometry", "dom", "scene", "draw", "plot", "panel", "export", "app")
CURVE_POINTS = 400  # the most points of one curve
DTYPES = {
    "f8": "<f8",
    "f4": "<f4",
    "i4": "<i4",
    "u4": "<u4",
    "u2": "<u2",
    "i2": "<i2",
    "u1": "u1",
    "i1": "i1",
}


def page(scenes: Sequence[Scene], key: str = "", painter: str = "auto") -> str:
    """The HTML of one scene, or of several side by side.

    Args:
        scenes: what is shown.
        key: under which the page tells the notebook around it what was selected.
        painter: ``"canvas"`` draws without WebGL, ``"webgl"`` with it even in software; by default WebGL is
            used where a graphics card does it.
    """
    here = files("hypergraph.viz") / "explorer"

    def source(name: str) -> str:
        return (here / name).read_text(encoding="utf-8")

    data = {
        "scenes": [pack_scene(scene) for scene in scenes],
        "palette": PALETTE,
        "rightWrong": RIGHT_WRONG,
        "ramp": ramp(),
        "ink": INK,
        "accent": ACCENT,
        "panels": [{"name": name, "title": title} for name, title in PANELS.items()],
        "key": key,
        "painter": painter,
    }
    # inside a script element only "<" could end it; the page itself writes names as text only
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Template(source("page.html")).substitute(
        title=html.escape(" | ".join(scene.title for scene in scenes)),
        css=source("page.css"),
        data=text,
        script="\n".join(source(f"{name}.js") for name in SCRIPTS),
    )


def pack_scene(scene: Scene) -> dict[str, Any]:
    """A scene as JSON, arrays in base64."""
    counted = scene.ids == [str(i) for i in range(len(scene.ids))]
    return {
        "title": scene.title,
        "note": scene.note,
        "section": scene.section,
        "s": scene.s,
        "n": len(scene.sheet),
        # float64: near the rim the last digits are what tells points apart
        "half": pack(scene.half, "f8"),
        "ids": None if counted else scene.ids,
        "columns": [pack_column(name, column) for name, column in scene.columns.items()],
        "classes": scene.classes,
        "edges": pack(scene.edges.T.ravel(), "u2" if len(scene.sheet) <= 65536 else "u4"),
        "horospheres": [
            {"label": ball.label, "x": ball.v[0], "y": ball.v[1], "level": ball.level}
            for ball in scene.horospheres
        ],
        "distances": None if scene.distances is None else pack(scene.distances, "f4"),
        "regions": [
            {"label": region.label, "outlines": [pack(outline, "f8") for outline in region.outlines]}
            for region in scene.regions
        ],
        "curves": {
            name: [thin(curve) for curve in curves] for name, curves in scene.curves.items() if name in PANELS
        },
        "facts": scene.facts,
    }


def pack(array: NDArray[Any], kind: str) -> dict[str, str]:
    """An array as the page decodes it."""
    raw = np.ascontiguousarray(array, dtype=DTYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(raw).decode("ascii")}


def pack_column(name: str, column: Column) -> dict[str, Any]:
    """A column, in the smallest type that holds it."""
    values = column.values
    if column.names is not None:
        kind = "i1" if len(column.names) < 128 else "i2" if len(column.names) < 32768 else "i4"
    elif values.dtype.kind == "f":
        kind = "f4"
    elif values.dtype.kind == "b":
        kind = "u1"
    else:
        kind = "i4" if abs(values).max(initial=0) < 2**31 else "f8"
    return {"name": name, "names": column.names, "values": pack(values, kind)}


def thin(curve: dict[str, Any]) -> dict[str, Any]:
    """A curve of at most so many points, its last one among them."""
    step = max(1, math.ceil(len(curve["epoch"]) / CURVE_POINTS))
    kept = sorted({*range(0, len(curve["epoch"]), step), len(curve["epoch"]) - 1})
    values = [curve["value"][i] for i in kept]
    return {
        "seed": curve["seed"],
        "epoch": [curve["epoch"][i] for i in kept],
        "value": [
            float(f"{v:.5g}") if isinstance(v, (int, float)) and math.isfinite(v) else None for v in values
        ],
    }
