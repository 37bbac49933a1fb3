"""The page in a real browser: `make test-browser` installs one; without it these tests are skipped."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from hypergraph import Lorentz
from hypergraph.nn.registry import make_head
from hypergraph.viz.decision import decision_regions
from hypergraph.viz.page import page
from hypergraph.viz.scene import Column, Horosphere, Scene

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed; `make test-browser` installs it"
)
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium; `make test-browser` installs it, or name one in CHROMIUM"
)
K = -0.5
NAMES = ["plain", "<img src=x onerror=alert(1)>", "ünïcode"]
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]


def a_scene(count=60, far=9.0, title="test · <b>title</b>"):
    """A scene with everything: points out to distance 9, classes, edges, horospheres, regions, curves."""
    generator = np.random.default_rng(0)
    r = np.concatenate([generator.random(count - 5) * 4, np.linspace(6, far, 5)])
    angle = generator.random(count) * 2 * np.pi
    sheet = np.stack([np.cosh(r), np.sinh(r) * np.cos(angle), np.sinh(r) * np.sin(angle)], -1)
    label = (angle / (2 * np.pi) * 3).astype(np.int64)
    torch.manual_seed(0)
    head = make_head("bmlr-p", 2, 3)
    return Scene(
        title=title,
        sheet=sheet,
        s=(-K) ** 0.5,
        ids=["</script><script>alert(1)</script>", *(f"node {i}" for i in range(1, count))],
        columns={
            "class": Column(label, NAMES),
            "prediction": Column(np.roll(label, 1), NAMES),
            "error": Column((label != np.roll(label, 1)).astype(int), ["right", "wrong"]),
            "confidence": Column(generator.random(count)),
        },
        edges=np.stack([np.arange(count - 1), np.arange(1, count)]),
        classes=NAMES,
        horospheres=[
            Horosphere(k, (np.cos(2.0 * k), np.sin(2.0 * k)), level)
            for k, level in enumerate((-1.0, 0.0, 0.5))
        ],
        distances=generator.normal(size=(count, 3)).astype(np.float32),
        regions=decision_regions(head),
        curves={"loss": [{"seed": 0, "epoch": [0, 1, 2], "value": [1.0, float("nan"), 0.5]}]},
        facts={"metrics": {"test_f1": "0.9"}, "settings": {"dataset": "<i>mine</i>"}},
        note="2 dimensions, drawn exactly",
    )


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Tab:
    """A page in the browser that remembers every error and every request."""

    def __init__(self, browser, folder: Path, scenes, *, size=(1100, 720), theme="light", painter="auto"):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.errors, self.requests = [], []
        self.page.on("console", self.heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.file = folder / "page.html"
        self.file.write_text(page(scenes, painter=painter), encoding="utf-8")
        self.page.goto(self.file.as_uri())
        self.run = self.page.evaluate

    def heard(self, message):
        # that a test reads WebGL's pixels back is slow, and the driver says so
        if "GPU stall due to ReadPixels" not in message.text:
            self.errors.append(message.text)

    def place(self, node, plot=0):
        """Where a node is in the window."""
        return self.run(
            """([i, k]) => {
              const plot = explorer.plots[k], box = plot.over.getBoundingClientRect();
              return [box.left + plot.places[2 * i], box.top + plot.places[2 * i + 1]];
            }""",
            [node, plot],
        )

    def lonely(self):
        """A node that no other covers, in the middle of the disk."""
        return self.run(
            """() => {
              const { places, scene } = explorer.plots[0], plot = explorer.plots[0];
              const apart = (i, x, y) => Math.hypot(places[2 * i] - x, places[2 * i + 1] - y);
              let best = -1, most = 0;
              for (let i = 1; i < scene.n; i++) {
                let least = Infinity;
                for (let j = 0; j < scene.n; j++)
                  if (j !== i) least = Math.min(least, apart(i, places[2 * j], places[2 * j + 1]));
                const off = apart(i, plot.width / 2, plot.height / 2);
                if (off > 60 && least > most) { most = least; best = i; }
              }
              return best;
            }"""
        )

    def drag(self, start, end):
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        self.page.mouse.move(*end)
        self.page.mouse.up()

    def moved(self):
        """All points after the view, in half-angle coordinates."""
        return np.array(
            self.run(
                """() => {
                  const { half, n } = explorer.plots[0].scene, { view } = explorer.state;
                  return Array.from({ length: n }, (_, i) => moved(view, half[2 * i], half[2 * i + 1]));
                }"""
            )
        )

    def clean(self):
        """No error, and no request but for the page itself."""
        assert self.errors == []
        assert [url for url in self.requests if not url.startswith(("blob:", "data:"))] == [
            self.file.as_uri()
        ]


@pytest.fixture
def tab(browser, tmp_path):
    tab = Tab(browser, tmp_path, [a_scene()])
    yield tab
    tab.clean()
    tab.context.close()


def sheet_of(half):
    a2 = 1 + (half**2).sum(-1, keepdims=True)
    return torch.from_numpy(np.concatenate([2 * a2 - 1, 2 * np.sqrt(a2) * half], -1))


def test_a_drag_keeps_all_distances(tab):
    scene = a_scene()
    unit = Lorentz().double()
    i, j = np.triu_indices(len(scene.sheet), 1)
    before = unit.dist(*(torch.from_numpy(scene.sheet[k]) for k in (i, j)))
    box = tab.page.locator(".over").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for end in ((x + 150, y + 60), (x - 200, y + 10), (x + 40, y - 180)):
        tab.drag((x, y), end)
    assert tab.run("explorer.state.view[2] ** 2 + explorer.state.view[3] ** 2") > 0.05  # it has moved
    half = tab.moved()
    a = np.sqrt(1 + (half**2).sum(-1))
    chord = np.linalg.norm(half[i] * a[j, None] - half[j] * a[i, None], axis=-1)
    np.testing.assert_allclose(2 * np.arcsinh(chord), before, rtol=1e-9, atol=1e-9)
    # the page's own distance is the same, and so is Python's of the moved points
    page = tab.run(
        """([i, j]) => {
          const { half } = explorer.plots[0].scene, { view } = explorer.state;
          const at = (k) => moved(view, half[2 * k], half[2 * k + 1]);
          return i.map((_, k) => distance(at(i[k]), at(j[k])));
        }""",
        [i[:200].tolist(), j[:200].tolist()],
    )
    np.testing.assert_allclose(page, before[:200], rtol=1e-9, atol=1e-9)
    near = a < 40
    x = sheet_of(half[near])
    kept = near[i] & near[j]
    index = np.cumsum(near) - 1
    np.testing.assert_allclose(
        unit.dist(x[index[i[kept]]], x[index[j[kept]]]), before[kept], rtol=1e-9, atol=1e-9
    )


def test_a_drag_follows_the_pointer(tab):
    node = tab.lonely()
    start = tab.place(node)
    tab.drag(start, (start[0] - 30, start[1] + 20))
    end = tab.place(node)
    assert np.hypot(end[0] - start[0] + 30, end[1] - start[1] - 20) < 1.0


def test_hover_and_click_show_the_node(tab):
    node = tab.lonely()
    scene = a_scene()
    tab.page.mouse.move(*tab.place(node))
    tip = tab.page.locator("#tip")
    assert tip.is_visible()
    text = tip.inner_text()
    assert scene.ids[node] in text and NAMES[scene.columns["class"].values[node]] in text
    tab.page.mouse.click(*tab.place(node))
    panel = tab.page.locator("#node").inner_text()
    assert scene.ids[node] in panel and "confidence" in panel
    d = 2 * np.arcsinh(np.linalg.norm(scene.half[node])) / scene.s
    shown = tab.page.locator("#node tr", has_text="distance to the origin").locator("td").inner_text()
    assert abs(float(shown) - d) < 1e-4 * d
    for k, name in enumerate(NAMES):
        row = tab.page.locator("#node tr", has_text=f"to the horosphere of {name}").locator("td").inner_text()
        value = scene.distances[node, k]
        assert float(row.split()[0]) == pytest.approx(abs(value), rel=1e-4)
        assert row.endswith("inside" if value >= 0 else "outside")
    assert "2 neighbours" in panel


def test_names_are_only_text(tab):
    tab.run("explorer.choose(explorer.plots[0], 0)")
    assert tab.page.locator("#node .id").inner_text() == "</script><script>alert(1)</script>"
    assert tab.page.locator("img").count() == 0
    assert tab.page.locator("h1").inner_text() == "test · <b>title</b>"
    assert tab.page.locator("script").count() == 2


def test_double_click_centres_and_home_returns(tab):
    node = tab.lonely()
    tab.page.mouse.dblclick(*tab.place(node))
    tab.page.wait_for_function("Math.hypot(explorer.state.view[2], explorer.state.view[3]) > 0.01")
    assert np.abs(tab.moved()[node]).max() < 1e-9
    # a node near the rim too
    tab.run("explorer.centre(explorer.plots[0], explorer.plots[0].scene.n - 1)")
    assert np.abs(tab.moved()[-1]).max() < 1e-9
    tab.page.keyboard.press("h")
    np.testing.assert_allclose(tab.run("explorer.state.view"), [1, 0, 0, 0], atol=1e-12)


def test_the_wheel_zooms_about_the_pointer(tab):
    node = tab.lonely()
    start = tab.place(node)
    tab.page.mouse.move(*start)
    tab.page.mouse.wheel(0, -200)
    tab.page.wait_for_function("explorer.state.lens.zoom > 1.2")
    tab.run("explorer.paint()")
    assert np.hypot(*(np.array(tab.place(node)) - start)) < 0.5
    assert tab.run("explorer.state.view") == [1, 0, 0, 0]


INK_PIXELS = """() => {
  const { under } = explorer.plots[0];
  const { data } = flatContext(under).getImageData(0, 0, under.width, under.height);
  let sum = 0;
  for (let i = 0; i < data.length; i++) sum += data[i] * (3 + (i % 4));
  return sum;
}"""


@pytest.mark.parametrize(("name", "key"), [("horospheres", "o"), ("regions", "r"), ("edges", "e")])
def test_switches(tab, name, key):
    button = tab.page.locator(f"#do-{name}")
    assert button.get_attribute("aria-pressed") == "true"
    tab.run("explorer.paint()")
    shown = tab.run(INK_PIXELS)
    button.click()
    tab.run("explorer.paint()")
    assert button.get_attribute("aria-pressed") == "false"
    assert tab.run(INK_PIXELS) != shown
    tab.page.locator(".over").focus()
    tab.page.keyboard.press(key)
    tab.run("explorer.paint()")
    assert tab.run(INK_PIXELS) == shown


def test_horospheres_move_with_the_points(tab):
    scene = a_scene()
    unit = Lorentz().double()
    tab.run("explorer.move(transvection(0, 0, 0.6, -0.3)); explorer.move(transvection(0.2, 0.1, -0.5, 0.4))")
    x = sheet_of(tab.moved())
    for k, ball in enumerate(scene.horospheres):
        v = torch.tensor([ball.v], dtype=torch.float64)
        before = unit.busemann(torch.from_numpy(scene.sheet), v)[:, 0] - ball.level
        circle = tab.run(f"horocircle(explorer.state.view, explorer.plots[0].scene.horospheres[{k}])")
        # its centre is v' / (1 + e^level'), its radius e^level' / (1 + e^level')
        level = np.log(circle["r"] / (1 - circle["r"]))
        moved = torch.tensor([[circle["x"], circle["y"]]], dtype=torch.float64) / (1 - circle["r"])
        after = unit.busemann(x, moved)[:, 0] - level
        torch.testing.assert_close(after[:-5], before[:-5], atol=1e-8, rtol=1e-8)


def test_sections_of_horospheres_move_with_the_points(tab):
    """The points of a section, moved one by one, are on the circle that is drawn after the move."""
    tab.run("explorer.move(transvection(0, 0, 0.6, -0.3)); explorer.move(transvection(0.2, 0.1, -0.5, 0.4))")
    ball = Horosphere(0, (0.5, -0.3), 0.4)
    x, y, r = ball.circle
    shown = {"x": ball.v[0], "y": ball.v[1], "level": ball.level}
    circle = tab.run("(ball) => horocircle(explorer.state.view, ball)", shown)
    for angle in range(6):
        at = [x + r * np.cos(angle), y + r * np.sin(angle)]
        there = tab.run("(at) => mobius(explorer.state.view, ...at)", at)
        assert abs(np.hypot(there[0] - circle["x"], there[1] - circle["y"]) - circle["r"]) < 1e-12


def test_a_section_is_named_and_drawn_on_request(browser, tmp_path):
    scene = a_scene()
    scene.section = "horospheres and regions are a section of 16 dimensions"
    tab = Tab(browser, tmp_path, [scene])
    for name in ("horospheres", "regions"):
        assert tab.page.locator(f"#do-{name}").get_attribute("aria-pressed") == "false"
    assert "section" not in tab.page.locator(".legend").inner_text()
    tab.page.locator("#do-regions").click()
    assert (
        "Horospheres and regions are a section of 16 dimensions." in tab.page.locator(".legend").inner_text()
    )
    assert tab.errors == []
    tab.context.close()


def test_search_finds_and_centres(tab):
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("node 17")
    assert tab.page.locator(".hit").all_inner_texts() == ["node 17"]
    tab.page.keyboard.press("Enter")
    assert tab.page.locator("#node .id").inner_text() == "node 17"
    assert np.abs(tab.moved()[17]).max() < 1e-9
    tab.page.locator("#search").fill("ünïcode")
    expected = int((a_scene().columns["class"].values == 2).sum())
    assert tab.page.locator(".found p").inner_text() == f"{expected} nodes"
    tab.page.locator("#search").fill("no such node")
    assert tab.page.locator(".found p").inner_text() == "0 nodes"


def test_lasso_fills_a_table_that_can_be_copied(tab):
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box = tab.page.locator(".over").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.locator("#do-lasso").click()
    corners = [(x - 120, y - 120), (x + 120, y - 120), (x + 120, y + 120), (x - 120, y + 120)]
    tab.page.mouse.move(*corners[0])
    tab.page.mouse.down()
    for corner in corners[1:]:
        tab.page.mouse.move(*corner, steps=4)
    tab.page.mouse.up()
    places = np.array([tab.place(i) for i in range(60)])
    inside = set(np.flatnonzero((np.abs(places - [x, y]) < 120).all(-1)).tolist())
    assert set(tab.run("[...explorer.selection.nodes]")) == inside and len(inside) > 5
    assert tab.page.locator("#selection tbody tr").count() == len(inside)
    tab.page.locator("#copy").click()
    tab.page.get_by_text("copied", exact=False).first.wait_for()
    lines = tab.run("navigator.clipboard.readText()").splitlines()
    assert lines[0].split("\t")[:3] == ["id", "class", "prediction"]
    assert len(lines) == 1 + len(inside)
    tab.page.keyboard.press("Escape")
    assert tab.run("explorer.selection") is None


def test_the_legend_filters(tab):
    scene = a_scene()
    tab.page.locator(".entry").first.click()
    assert tab.page.locator(".entry").first.get_attribute("aria-pressed") == "false"
    hidden = np.array(tab.run("Array.from(explorer.plots[0].scene.hidden)"), dtype=bool)
    np.testing.assert_array_equal(hidden, scene.columns["class"].values == 0)
    node = int(np.flatnonzero(hidden)[0])
    x, y = tab.place(node)
    assert tab.run("([x, y]) => explorer.plots[0].pick(x, y)", [x, y]) != node
    # a quantity is filtered by its range
    tab.page.locator("#colour").select_option("confidence")
    assert not any(tab.run("Array.from(explorer.plots[0].scene.hidden)"))
    tab.page.locator(".slide input").first.fill("0.5")
    hidden = np.array(tab.run("Array.from(explorer.plots[0].scene.hidden)"), dtype=bool)
    np.testing.assert_array_equal(hidden, scene.columns["confidence"].values < 0.5)


def test_colours_are_those_of_the_column(tab):
    from hypergraph.viz.style import PALETTE, RIGHT_WRONG

    def colours():
        tab.run("explorer.paint()")
        rgba = np.array(tab.run("Array.from(explorer.plots[0].rgba)")).reshape(-1, 4)
        return ["#" + "".join(f"{c:02x}" for c in row[:3]) for row in rgba]

    scene = a_scene()
    assert colours() == [PALETTE[k] for k in scene.columns["class"].values]
    tab.page.locator("#colour").select_option("error")
    assert colours() == [RIGHT_WRONG[k] for k in scene.columns["error"].values]


def test_export(tab):
    with tab.page.expect_download() as saved:
        tab.page.locator("#do-png").click()
    png = Path(saved.value.path()).read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and len(png) > 5000
    with tab.page.expect_download() as saved:
        tab.page.keyboard.press("s")
    from xml.etree import ElementTree

    svg = ElementTree.fromstring(Path(saved.value.path()).read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert svg.find(f"{space}title").text == "test · <b>title</b>"
    paths = svg.findall(f"{space}path")
    # the disk twice, three regions, the edges, three horospheres, and a path of points for each class
    assert len(paths) >= 2 + 3 + 1 + 3 + 3
    visible = sum(path.get("d").count("a") for path in paths) / 2
    assert visible == 60


def test_export_of_an_edge_between_points_in_one_place(browser, tmp_path):
    scene = a_scene()
    scene.sheet[8] = scene.sheet[7]
    tab = Tab(browser, tmp_path, [scene])
    with tab.page.expect_download() as saved:
        tab.page.locator("#do-svg").click()
    assert "NaN" not in Path(saved.value.path()).read_text(encoding="utf-8")
    assert tab.errors == []
    tab.context.close()


def test_export_of_names_that_xml_and_half_a_letter_would_break(browser, tmp_path):
    from xml.etree import ElementTree

    scene = a_scene(count=8, far=7.0)
    scene.ids = [f"{i}\x01{'🌳' * 30}" for i in range(8)]
    tab = Tab(browser, tmp_path, [scene])
    with tab.page.expect_download() as saved:
        tab.page.locator("#do-svg").click()
    svg = ElementTree.fromstring(Path(saved.value.path()).read_bytes())
    texts = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts and all(text.endswith("🌳…") for text in texts)
    tab.clean()
    tab.context.close()


def test_the_address_keeps_the_view(tab, browser, tmp_path):
    tab.run("explorer.move(transvection(0, 0, 0.5, 0.2))")
    tab.page.locator("#colour").select_option("error")
    tab.run("explorer.choose(explorer.plots[0], 7); explorer.write()")
    address, view = tab.page.url, tab.run("explorer.state.view")
    other = tab.context.new_page()
    other.goto(address)
    assert other.evaluate("explorer.state.view") == pytest.approx(view, abs=1e-15)
    assert other.evaluate("[explorer.state.colour, explorer.state.node]") == ["error", "node 7"]
    assert other.locator("#node .id").inner_text() == "node 7"
    # nonsense after the # is ignored
    other.goto("about:blank")  # a page that stays open writes its own address
    other.goto(tab.file.as_uri() + "#%7B%22v%22%3A%5B0,0,9,9%5D,%22p%22:7%7D")
    assert other.evaluate("explorer.state.view") == [1, 0, 0, 0]


def test_keyboard(tab):
    tab.page.keyboard.press("Tab")
    tab.page.locator(".over").focus()
    tab.page.keyboard.press("ArrowRight")
    assert tab.run("explorer.state.view[2]") < 0
    tab.page.keyboard.press("+")
    assert tab.run("explorer.state.lens.zoom") > 1
    tab.page.keyboard.press("Enter")
    assert tab.run("explorer.state.node") is not None
    assert "id: " in tab.page.locator("#live").inner_text()
    tab.page.keyboard.press("c")
    node = tab.run("explorer.node(explorer.plots[0])")
    assert np.abs(tab.moved()[node]).max() < 1e-9
    tab.page.keyboard.press("?")
    assert tab.page.locator("#help").is_visible()
    tab.page.keyboard.press("Escape")
    assert not tab.page.locator("#help").is_visible()
    tab.page.keyboard.press("Escape")
    assert tab.run("explorer.state.node") is None


def test_every_control_has_a_name(tab):
    unnamed = tab.run(
        """() => [...document.querySelectorAll("button, select, input, canvas[tabindex]")]
          .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length))
          .map((e) => e.outerHTML)"""
    )
    assert unnamed == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1100, 720), (390, 800)], ids=["wide", "narrow"])
def test_themes_and_narrow_windows(browser, tmp_path, theme, size):
    tab = Tab(browser, tmp_path, [a_scene()], theme=theme, size=size)
    back = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(20, 23, 28)") == (theme == "dark")
    # nothing is wider than the window, and the disk is whole and below the buttons
    assert tab.run("document.documentElement.scrollWidth") <= size[0]
    head, disk, note = (tab.page.locator(name).bounding_box() for name in ("header", ".over", ".note"))
    assert head["y"] + head["height"] <= disk["y"] + 1
    assert disk["y"] + disk["height"] <= note["y"] + 1
    frame = tab.run("explorer.plots[0].frame()")
    assert frame["r"] < min(disk["width"], disk["height"]) / 2
    tab.page.keyboard.press("t")
    assert tab.run("getComputedStyle(document.body).backgroundColor") != back
    tab.clean()
    tab.context.close()


def test_two_runs_are_linked(browser, tmp_path):
    second = a_scene(title="second")
    second.ids, second.sheet = second.ids[::-1], second.sheet[::-1].copy()
    tab = Tab(browser, tmp_path, [a_scene(), second])
    tab.run("explorer.choose(explorer.plots[0], 3); explorer.centre(explorer.plots[0], 3); explorer.paint()")
    assert tab.run("explorer.node(explorer.plots[1])") == 60 - 1 - 3
    first, other = (np.array(tab.place(i, k)) for i, k in ((3, 0), (56, 1)))
    boxes = [tab.page.locator(".over").nth(k).bounding_box() for k in (0, 1)]
    for place, box in zip((first, other), boxes):
        centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        assert np.abs(place - centre).max() < 0.5
    tab.page.mouse.move(*first)
    assert tab.run("explorer.plots[1].hovered") == 56
    tab.clean()
    tab.context.close()


def test_two_runs_share_their_legend(browser, tmp_path):
    """Runs whose classes have other names, another order, and other numbers: one colour, one meaning."""
    first, second = a_scene(), a_scene(title="second")
    other = ["ünïcode", "new", "plain"]
    second.classes = other
    second.columns["class"] = Column(second.columns["class"].values, other)
    second.columns["confidence"] = Column(second.columns["confidence"].values * 3)
    tab = Tab(browser, tmp_path, [first, second])
    names = [*NAMES, "new"]
    assert tab.page.locator(".entry .name").all_inner_texts() == names
    counts = [np.bincount(scene.columns["class"].values, minlength=3) for scene in (first, second)]
    shown = tab.page.locator(".entry .count").all_inner_texts()
    assert shown[1] == f"{counts[0][1]} · 0" and shown[3] == f"0 · {counts[1][1]}"
    colours = tab.run("explorer.plots.map((plot) => plot.scene.colours)")
    assert [dict(zip(NAMES, colours[0]))[name] for name in ("plain", "ünïcode")] == [
        dict(zip(other, colours[1]))[name] for name in ("plain", "ünïcode")
    ]
    # hiding a class hides it in both, and the keyboard stays where it was
    tab.page.locator(".entry").nth(3).press("Enter")
    assert tab.run("document.activeElement.value") == "3"
    hidden = [np.array(tab.run(f"Array.from(explorer.plots[{k}].scene.hidden)"), bool) for k in (0, 1)]
    assert not hidden[0].any()
    np.testing.assert_array_equal(hidden[1], second.columns["class"].values == 1)
    tab.page.locator("#colour").select_option("confidence")
    high = [scene.columns["confidence"].values.max() for scene in (first, second)]
    assert float(tab.page.locator(".ends span").nth(1).inner_text()) == pytest.approx(max(high), rel=1e-4)
    tab.clean()
    tab.context.close()


def test_the_keyboard_stays_in_a_legend_with_gaps(browser, tmp_path):
    scene = a_scene()
    label = np.where(scene.columns["class"].values == 0, -1, scene.columns["class"].values)
    scene.columns["class"] = Column(label, NAMES)
    tab = Tab(browser, tmp_path, [scene])
    for k in ("1", "2", "-1"):
        entry = tab.page.locator(f'.entry[value="{k}"]')
        entry.press("Enter")
        assert tab.run("document.activeElement.value") == k
    tab.clean()
    tab.context.close()


def test_webgl_and_canvas_show_the_same_points(browser, tmp_path):
    """The share of the picture that each class colours, by either painter."""
    shares = {}
    for painter in ("webgl", "canvas"):
        tab = Tab(browser, tmp_path, [a_scene()], painter=painter)
        expected = {"webgl": "WebGL2", "canvas": "canvas"}[painter]
        assert tab.run("explorer.plots[0].painter.name") == expected
        tab.run("explorer.paint()")
        data = tab.run(
            """() => {
              const { middle } = explorer.plots[0], copy = document.createElement("canvas");
              Object.assign(copy, { width: middle.width, height: middle.height });
              const context = copy.getContext("2d");
              context.drawImage(middle, 0, 0);
              const { data } = context.getImageData(0, 0, copy.width, copy.height), out = [];
              for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 127) out.push(i / 4);
              return [copy.width, out];
            }"""
        )
        shares[painter] = set(data[1])
        tab.clean()
        tab.context.close()
    both = shares["webgl"] & shares["canvas"]
    assert len(both) > 0.85 * max(map(len, shares.values()))


def test_no_points_and_one_point(browser, tmp_path):
    for count in (0, 1):
        scene = Scene("few", np.tile([[1.0, 0.0, 0.0]], (count, 1)), 1.0, [str(i) for i in range(count)])
        tab = Tab(browser, tmp_path, [scene])
        tab.run("explorer.paint()")
        tab.page.keyboard.press("Enter")
        assert tab.run("explorer.state.node") == ("0" if count else None)
        tab.clean()
        tab.context.close()


def test_random_walks_keep_the_view_an_isometry(tab):
    for seed, angle in itertools.product(range(3), (0.3, 2.0, 4.4)):
        x, y = 0.7 * np.cos(angle + seed), 0.7 * np.sin(angle + seed)
        tab.run(f"explorer.move(transvection({x}, {y}, {-y}, {0.5 * x}))")
    a, b, c, d = tab.run("explorer.state.view")
    size = a * a + b * b
    assert abs(size - c * c - d * d - 1) < 1e-12 * size


def test_in_a_notebook_the_selection_is_told(browser, tmp_path):
    """The widget's own script, in a page that stands for the notebook."""
    from hypergraph.viz.widget import _ESM

    context = browser.new_context(viewport={"width": 1000, "height": 760})
    notebook = context.new_page()
    errors = []
    notebook.on("pageerror", lambda error: errors.append(str(error)))
    notebook.set_content("<div id='cell'></div>")
    notebook.evaluate(
        """async ([script, html]) => {
          const values = { html, height: 700 };
          window.model = {
            get: (name) => values[name], set: (name, value) => (values[name] = value),
            save_changes: () => (window.saved = values.selected),
          };
          const module = await import("data:text/javascript," + encodeURIComponent(script));
          window.stop = module.default.render({ model: window.model, el: document.getElementById("cell") });
        }""",
        [_ESM, page([a_scene()])],
    )
    frame = notebook.frame_locator("iframe")
    frame.locator(".over").wait_for()
    inner = notebook.frames[1]
    inner.evaluate("explorer.lasso(explorer.plots[0], new Set([3, 4]))")
    notebook.wait_for_function("window.saved?.length === 2")
    assert notebook.evaluate("window.saved") == ["node 3", "node 4"]
    assert errors == []
    context.close()
