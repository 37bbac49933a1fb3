"""Frames a second of the explorer while the disk is dragged, beside hyper-scatter, in a headless browser.

    python benchmarks/explorer.py [--points 20000] [--hyper-scatter node_modules/hyper-scatter]

Prints a Markdown table. Needs Chromium and `pip install playwright`; hyper-scatter (`npm install
hyper-scatter`) is measured where its folder is given. Both draw the same points on a canvas of the same size,
in software (--disable-gpu), and move by one drag step in each frame that the browser grants. The processor
time, of all processes of the browser, tells what a frame costs on a machine that does other things too.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from hypergraph.viz.page import page as explorer_page
from hypergraph.viz.scene import Column, Scene

SIZE = {"width": 1280, "height": 800}
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]

OURS = """() => {
  const plot = explorer.plots[0], gl = plot.painter.gl, pixel = new Uint8Array(4);
  window.painter = plot.painter.name;
  let angle = 0;
  window.step = () => {
    angle += 0.1;
    plot.drag([400, 300], [400 + 8 * Math.cos(angle), 300 + 8 * Math.sin(angle)]);
    explorer.paint();
  };
  window.wait = gl ? () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel)
    : () => plot.painter.context.getImageData(0, 0, 1, 1);
}"""

THEIRS = """async ({ x, y, labels, colours, width, height, radius }) => {
  const lib = await import("http://hyper-scatter.test/index.js");
  const canvas = document.getElementById("plot");
  const plot = lib.createScatterPlot(canvas, {
    geometry: "poincare", width, height, devicePixelRatio: 1, pointRadius: radius, backgroundColor: "#ffffff",
    colors: colours,
    dataset: lib.createDatasetFromColumns(
      "poincare", new Float32Array(x), new Float32Array(y), new Uint16Array(labels)),
  });
  let angle = 0;
  window.step = () => {
    angle += 0.1;
    plot.startPan(400, 300);
    const keys = { shift: false, ctrl: false, alt: false, meta: false };
    plot.pan(8 * Math.cos(angle), 8 * Math.sin(angle), keys);
    plot.render();
  };
  window.step();
  const gl = canvas.getContext("webgl2"), pixel = new Uint8Array(4);
  window.wait = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
}"""

MEASURE = """(frames) => new Promise((resolve) => {
  let count = 0, begin = null;
  const tick = (now) => {
    begin ??= now;
    if (count === frames) return resolve(1000 * frames / (now - begin));
    window.step();
    count++;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""


def processor_seconds() -> float:
    """The processor time that the browser, all its processes together, has taken."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return total


def measure(tab: Any, frames: int) -> tuple[float, float]:
    """Frames a second, and processor milliseconds a frame."""
    tab.evaluate(MEASURE, 3)
    before = processor_seconds()
    rate = tab.evaluate(MEASURE, frames)
    tab.evaluate("window.wait()")
    return rate, 1000 * (processor_seconds() - before) / frames


def points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points spread evenly over a hyperbolic disk of radius 6, and their classes."""
    generator = np.random.default_rng(0)
    r = np.arccosh(1 + generator.random(count) * (np.cosh(6.0) - 1))
    angle = generator.random(count) * 2 * np.pi
    sheet = np.stack([np.cosh(r), np.sinh(r) * np.cos(angle), np.sinh(r) * np.sin(angle)], -1)
    return sheet, (angle / (2 * np.pi) * 8).astype(np.int64)


def ours(browser: Any, count: int, frames: int) -> tuple[float, float]:
    sheet, label = points(count)
    names = [str(k) for k in range(8)]
    scene = Scene("benchmark", sheet, 1.0, [str(i) for i in range(count)], {"class": Column(label, names)})
    tab = browser.new_page(viewport=SIZE)
    tab.set_default_timeout(300_000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(explorer_page([scene]), encoding="utf-8")
        tab.goto(file.as_uri())
        tab.evaluate(OURS)
        result = measure(tab, frames)
    tab.close()
    return result


def theirs(browser: Any, count: int, frames: int, folder: Path) -> tuple[float, float]:
    from hypergraph.viz.style import PALETTE

    def serve(route: Any) -> None:
        name = route.request.url.removeprefix("http://hyper-scatter.test/")
        if not name:
            html = '<body style="margin:0"><canvas id="plot" style="width:950px;height:726px"></canvas>'
            route.fulfill(body=html, content_type="text/html")
        else:
            route.fulfill(path=folder / "dist-lib" / name, content_type="text/javascript")

    sheet, label = points(count)
    z = sheet[:, 1:] / (1 + sheet[:, :1])
    tab = browser.new_page(viewport=SIZE)
    tab.set_default_timeout(300_000)
    tab.route("**/*", serve)
    tab.goto("http://hyper-scatter.test/")
    given = {"width": 950, "height": 726, "colours": list(PALETTE), "radius": 2 if count <= 30_000 else 1}
    tab.evaluate(THEIRS, {"x": z[:, 0].tolist(), "y": z[:, 1].tolist(), "labels": label.tolist(), **given})
    result = measure(tab, frames)
    tab.close()
    return result


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hyper-scatter", type=Path, help="the folder of the npm package")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--points", type=int, nargs="*", default=[20_000, 200_000, 1_000_000])
    given = parser.parse_args()
    print(
        "| points | page | frames a second | processor milliseconds a frame |\n| ---: | --- | ---: | ---: |"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=ARGUMENTS)
        for count in given.points:
            frames = min(given.frames, max(5, 4_000_000 // count))
            rows = {"explorer": ours(browser, count, frames)}
            if given.hyper_scatter:
                rows["hyper-scatter"] = theirs(browser, count, frames, given.hyper_scatter)
            for name, (rate, time) in rows.items():
                print(f"| {count:,} | {name} | {rate:.1f} | {time:.1f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
