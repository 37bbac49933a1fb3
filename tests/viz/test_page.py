from __future__ import annotations

import json
import re

import networkx as nx
import numpy as np
import pytest
import torch
from matplotlib.path import Path
from typer.testing import CliRunner

from hypergraph import Lorentz, PoincareBall
from hypergraph.cli import app
from hypergraph.errors import InputError
from hypergraph.tasks import link_prediction, node_classification
from hypergraph.tasks.run import Run
from hypergraph.viz.explore import explore
from hypergraph.viz.layout import graph_scene, place
from hypergraph.viz.page import page
from hypergraph.viz.plane import from_sheet
from hypergraph.viz.reduction import reduce
from hypergraph.viz.scene import Column, Scene, load_head, run_scene

QUICK = {"seeds": 1, "epochs": 3}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run in two dimensions, one in five, one in four with a Busemann head, and one of links."""
    folder = tmp_path_factory.mktemp("runs")
    node_classification("disease", "bmlr-p", dim=2, K=-0.5, out=folder / "flat", **QUICK)
    node_classification("disease", "pmlr", dim=5, out=folder / "deep", **QUICK)
    node_classification("disease", "bmlr-l", dim=4, K=-0.5, out=folder / "busemann", **QUICK)
    link_prediction("disease", "bfc-l", dim=3, out=folder / "links", **QUICK)
    return folder


def test_scene_of_a_run_in_two_dimensions(runs):
    scene = run_scene(runs / "flat")
    arrays = np.load(runs / "flat" / "embedding.npz")
    ball = PoincareBall(float(arrays["K"])).double()
    z = scene.sheet[:, 1:] / (1 + scene.sheet[:, :1]) / scene.s
    np.testing.assert_allclose(z, arrays["points"], atol=1e-6)
    assert scene.note == "2 dimensions, drawn exactly"
    assert len(scene.horospheres) == 2 and {region.label for region in scene.regions} <= {0, 1}
    # signed distances: positive inside the horoball, where the Busemann function is below its level
    x = torch.from_numpy(arrays["points"]).double()
    for k, sphere in enumerate(scene.horospheres):
        b = ball.busemann(x, torch.tensor([sphere.v], dtype=torch.float64))[:, 0] - sphere.level / scene.s
        np.testing.assert_allclose(-b.numpy(), scene.distances[:, k], atol=1e-5)
    np.testing.assert_array_equal(scene.columns["prediction"].values, arrays["predicted"])
    assert (scene.columns["confidence"].values >= 0.5).all()
    assert scene.columns["degree"].values.sum() == 2 * scene.edges.shape[1]
    assert "loss" in scene.curves and scene.facts["settings"]["head"] == "bmlr-p"
    np.testing.assert_allclose(
        scene.columns["distance to the origin"].values, ball.dist0(x).numpy(), rtol=1e-6
    )


def test_scenes_of_more_dimensions_and_of_links(runs):
    said = []
    deep = run_scene(runs / "deep", "tangent-pca", said.append)
    assert "5 dimensions to 2 by tangent-pca: average distortion" in said[0]
    assert deep.horospheres == [] and deep.distances is None
    assert deep.section.startswith("regions are a section of 5 dimensions")
    links = run_scene(runs / "links", "tangent-pca")
    assert "confidence" not in links.columns and links.edges.shape[1] > 0
    assert links.regions == [] and links.section == ""


@pytest.mark.parametrize("method", ["tangent-pca", "horopca"])
def test_sections_of_a_head_of_more_dimensions(runs, method):
    """Horospheres and regions in the plane of the picture, against the head at points lifted back."""
    scene = run_scene(runs / "busemann", method)
    arrays = np.load(runs / "busemann" / "embedding.npz")
    space, unit = Lorentz(float(arrays["K"])).double(), Lorentz().double()
    reduced = reduce(arrays["points"], space, method)
    run = Run.open(runs / "busemann")
    head = load_head(run, dict(arrays), space)
    assert len(scene.horospheres) == 2 and scene.section.startswith(
        "horospheres and regions are a section of 4"
    )
    turn = torch.arange(12, dtype=torch.float64)
    for ball in scene.horospheres:
        x, y, r = ball.circle
        z = torch.stack([x + r * turn.cos(), y + r * turn.sin()], -1)
        gap = 1 - z.square().sum(-1, keepdim=True)
        at = from_sheet(reduced.lift(torch.cat([2 / gap - 1, 2 * z / gap], -1)), space)
        # on its horosphere the logit of a class is 0
        logit = head(at)[:, ball.label].detach()
        torch.testing.assert_close(logit, torch.zeros_like(logit), atol=1e-7, rtol=0)
    y = unit.exp0(torch.randn(300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    logits = head(from_sheet(reduced.lift(y), space)).detach()
    sure = ((logits[:, 0] - logits[:, 1]).abs() > 0.02).numpy()  # not at a boundary, which is drawn on a grid
    for region in scene.regions:
        z = (y[:, 1:] / (1 + y[:, :1])).numpy()
        inside = np.logical_xor.reduce([Path(o).contains_points(z) for o in region.outlines])
        assert (inside == (logits.argmax(1) == region.label).numpy())[sure].all()
    assert sure.sum() > 200 and len(scene.regions) == 2


def test_embedded_arrays_are_exact(runs):
    import base64

    scene = run_scene(runs / "flat")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page([scene]), re.S).group(1))
    packed = data["scenes"][0]
    half = np.frombuffer(base64.b64decode(packed["half"]["data"]), "<f8").reshape(-1, 2)
    np.testing.assert_array_equal(half, scene.half)
    edges = np.frombuffer(base64.b64decode(packed["edges"]["data"]), "<u2").reshape(-1, 2).T
    np.testing.assert_array_equal(edges, scene.edges)
    a2 = 1 + (half**2).sum(-1)
    np.testing.assert_allclose(2 * a2 - 1, scene.sheet[:, 0])


def test_the_page_holds_no_link_and_escapes_names():
    names = ["</script><script>alert(1)</script>", "a & b"]
    scene = Scene("<b>&", np.array([[1.0, 0, 0]] * 2), 1.0, names, {"class": Column(np.array([0, 1]), names)})
    html = page([scene])
    assert "<title>&lt;b&gt;&amp;</title>" in html
    assert html.count("</script>") == 2 and "alert(1)</script>" not in html
    assert re.findall(r"(?:src|href)=\"(?!data:)", html) == []
    assert "default-src 'none'" in html


def test_explore_writes_into_the_run_folder(runs, tmp_path, monkeypatch):
    file = explore([runs / "flat"])
    assert file == runs / "flat" / "explore.html"
    assert 20_000 < file.stat().st_size < 2_000_000
    monkeypatch.chdir(tmp_path)
    both = explore([runs / "flat", runs / "deep"], method="tangent-pca")
    assert both.name == "explore.html" and both.stat().st_size > file.stat().st_size
    with pytest.raises(InputError, match="not 3"):
        explore([runs / "flat"] * 3)


def test_a_graph_without_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree = tmp_path / "mine.csv"
    tree.write_text("source,target\n" + "".join(f"a{(i - 1) // 2},a{i}\n" for i in range(1, 30)))
    scene = graph_scene(tree)
    assert scene.note == "a tree, by Sarkar's construction"
    assert scene.ids[0] == "a0" and len(scene.sheet) == 30
    done = CliRunner().invoke(app, ["explore", str(tree)])
    assert done.exit_code == 0 and (tmp_path / "mine.html").exists()
    tree.write_text("source,target\na0,a0\n")
    assert graph_scene(tree).title == "mine · 1 node · 0 edges"


def test_short_training_separates_edges():
    graph = nx.connected_caveman_graph(6, 8)
    edges = np.array(graph.edges).T
    points, note = place(edges, 48)
    assert np.isfinite(points).all() and "trained for 300 steps" in note
    assert float(re.search(r"AUC (0\.\d+|1\.0+)", note).group(1)) > 0.9
    again, _ = place(edges, 48)
    np.testing.assert_array_equal(points, again)


def test_unfinished_and_euclidean_runs(tmp_path, runs):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.toml").write_bytes((runs / "flat" / "config.toml").read_bytes())
    with pytest.raises(InputError, match="--resume"):
        run_scene(broken)
    node_classification("disease", "mlr", encoder="mlp", out=tmp_path / "flat", **QUICK)
    with pytest.raises(InputError, match="such as bmlr-p"):
        run_scene(tmp_path / "flat")


@pytest.mark.parametrize(
    "arguments",
    [
        ["horospheres", "--K", "-0.5"],
        ["hyperplanes"],
        ["embedding", "{runs}/deep", "--method", "tangent-pca", "--colour", "error", "--no-edges"],
        ["embedding", "{runs}/flat", "--colour", "degree", "--no-edges"],
        ["regions", "{runs}/flat"],
        ["regions", "{runs}/busemann", "--method", "tangent-pca"],
        ["tree", "disease"],
        ["curves", "{runs}/flat", "{runs}/deep", "--name", "a", "--name", "b"],
        ["delta", "disease"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_one_command_for_each_picture(runs, tmp_path, arguments):
    out = tmp_path / "picture.png"
    done = CliRunner().invoke(app, ["plot", *(a.format(runs=runs) for a in arguments), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_bytes()[:4] == b"\x89PNG" and out.stat().st_size > 8000


def test_mistakes_name_the_remedy(runs, tmp_path):
    from hypergraph.viz.command import plot_embedding, plot_regions, plot_training

    with pytest.raises(InputError, match="did you mean 'degree'"):
        plot_embedding(runs / "flat", tmp_path / "a.png", "degre")
    with pytest.raises(InputError, match="use plot embedding"):
        plot_regions(runs / "links", tmp_path / "a.png", "tangent-pca")
    with pytest.raises(InputError, match="end the name with one"):
        plot_training([runs / "flat"], tmp_path / "a.gif")
    with pytest.raises(InputError, match="Unknown metric 'val_f2'; did you mean 'val_f1'"):
        plot_training([runs / "flat"], tmp_path / "a.png", "val_f2")
    with pytest.raises(InputError, match="one name for each run"):
        plot_training([runs / "flat"], tmp_path / "a.png", names=["a", "b"])
