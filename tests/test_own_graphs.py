"""A graph with words as ids and labels, in ten formats: every command, and ids and class names intact."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hypergraph.cli import app

from .own_graphs import EDGES, LABELS, NAMED, NAMES, NODES


@pytest.fixture(autouse=True)
def no_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hypergraph.viz.training.plot_curves", lambda metrics, out: out.touch())


def run(*typed: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in typed])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", NAMED)
def test_from_file_to_predictions(name: str, tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    path = NAMED[name](tmp_path / "graph")
    info = json.loads(run("data", "info", path, "--json"))
    assert (info["nodes"], info["unlabelled"], info["classes"]) == (NODES, 20, {"ham": 20, "spam": 20})
    assert any("20 nodes without a label" in change for change in info["changes"])

    short = ("--epochs", 2, "--seeds", 1, "--jobs", 1)
    run("node-clf", "--dataset", path, *short, "--out", tmp_path / "node")
    result = json.loads((tmp_path / "node" / "result.json").read_text())
    assert result["about"]["classes"] == ["ham", "spam"]
    assert sum(result["about"]["sizes"].values()) == 40  # none of the unlabelled
    run("predict", tmp_path / "node", "--out", tmp_path / "nodes.csv")
    found = rows(tmp_path / "nodes.csv")
    assert {row["node"]: row["label"] for row in found} == dict(zip(NAMES, LABELS))
    assert {row["predicted"] for row in found} <= {"ham", "spam"}
    assert [row["part"] for row in found if not row["label"]] == ["none"] * 20
    assert list(found[0]) == ["node", "part", "label", "predicted", "p_ham", "p_spam"]

    run("link-pred", "--dataset", path, *short, "--out", tmp_path / "link")
    (tmp_path / "pairs.csv").write_text("one,other\nn3,n4\nn59,n0\n")
    pairs = json.loads(run("predict", tmp_path / "link", "--pairs", tmp_path / "pairs.csv", "--json"))
    assert [(row["source"], row["target"]) for row in pairs] == [("n3", "n4"), ("n59", "n0")]
    top = run("predict", tmp_path / "link", "--top-links", 2, "--out", "-").splitlines()[1:]
    edges = {frozenset((f"n{u}", f"n{v}")) for u, v in EDGES.T}
    assert len(top) == 2 * NODES
    assert not edges & {frozenset(line.split(",")[:2]) for line in top}

    assert set(json.loads(run("delta", "--dataset", path, "--json"))["witness"]) <= set(NAMES)
    from hypergraph import load_run

    loaded = load_run(tmp_path / "node")
    assert list(loaded.classes_) == ["ham", "spam"] and set(loaded.predict()) <= {"ham", "spam"}
    assert loaded.table()["node"].tolist() == [row["node"] for row in found]
    assert set(np.load(tmp_path / "node" / "embedding.npz")["node"].tolist()) == set(NAMES)
    assert "ham" in run("show", tmp_path / "node") and loaded.results.confusion is not None


def test_predictions_of_a_graph_with_new_nodes(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    NAMED["csv"](tmp_path / "graph")
    run("node-clf", "--dataset", tmp_path / "graph", "--epochs", 2, "--seeds", 1, "--out", tmp_path / "run")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "edges.csv").write_text("new,n0\nn0,n1\n")
    # the columns in another order, and one that the model does not take
    (tmp_path / "new" / "nodes.csv").write_text("id,c,extra,b,a\nnew,1,9,2,3\nn0,1,9,1,1\nn1,0,9,2,1\n")
    result = CliRunner().invoke(
        app, ["predict", str(tmp_path / "run"), "--dataset", str(tmp_path / "new"), "--json"]
    )
    assert "1 of its 3 nodes are new" in result.stderr
    first = json.loads(result.stdout)
    assert [row["node"] for row in first] == ["new", "n0", "n1"]
    (tmp_path / "new" / "nodes.csv").write_text("id,a,b,c\nnew,3,2,1\nn0,1,1,1\nn1,1,2,0\n")
    again = CliRunner().invoke(
        app, ["predict", str(tmp_path / "run"), "--dataset", str(tmp_path / "new"), "--json"]
    )
    assert json.loads(again.stdout) == first
    (tmp_path / "new" / "nodes.csv").write_text("id,a,b\nnew,3,2\nn0,1,1\nn1,1,2\n")
    wrong = CliRunner().invoke(app, ["predict", str(tmp_path / "run"), "--dataset", str(tmp_path / "new")])
    assert "no feature 'c', which the model takes" in str(wrong.exception)


def test_link_prediction_without_labels_and_features(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"n{u} n{v}\n" for u, v in EDGES.T))
    run("link-pred", "--dataset", path, "--epochs", 2, "--seeds", 1, "--out", tmp_path / "run")
    found = run("predict", tmp_path / "run", "--embedding", "--out", "-").splitlines()
    assert found[0].startswith("node,z0,z1") and found[1].startswith("n0,")
    (tmp_path / "other.txt").write_text("n1 stranger\nn1 n2\n")
    wrong = CliRunner().invoke(
        app, ["predict", str(tmp_path / "run"), "--dataset", str(tmp_path / "other.txt"), "--top-links", "1"]
    )
    assert "node 'stranger' is new, and the model was trained without features" in str(wrong.exception)
