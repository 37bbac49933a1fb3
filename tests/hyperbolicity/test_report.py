from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import pytest
from typer.testing import CliRunner

from hypergraph.cli import app
from hypergraph.errors import InputError
from hypergraph.hyperbolicity.report import describe, measure, parse_bytes
from hypergraph.hyperbolicity.settings import DeltaSettings

ROOT = Path(__file__).resolve().parents[2]


def write_edges(path, graph):
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in graph.edges()))
    return str(path)


@pytest.fixture
def octagon(tmp_path):
    """A cycle of eight named nodes with a tail."""
    graph = nx.relabel_nodes(nx.cycle_graph(8), dict(enumerate("abcdefgh")))
    graph.add_edge("a", "tail")
    return write_edges(tmp_path / "octagon.csv", graph)


def run(*arguments):
    done = CliRunner().invoke(app, ["delta", *arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_the_value_its_witness_and_the_three_sums(octagon):
    printed = run("--dataset", octagon)
    assert "delta = 2 (exact)" in printed
    assert "(8 - 4) / 2 = 2" in printed
    assert sorted(line.split(" = ")[1] for line in printed.splitlines() if line.startswith("  d(")) == [
        "4",
        "4",
        "8",
    ]
    assert "largest component: 9 nodes, 9 edges, diameter 5, 2 delta / diameter 0.800" in printed
    assert "published" not in printed


def test_json_has_the_names_of_the_file(octagon):
    record = json.loads(run("--dataset", octagon, "--json"))
    assert (record["delta"], record["exact"], record["published"]) == (2, True, None)
    assert set(record["witness"]) <= set("abcdefgh")


def test_sampled_says_that_it_is_a_lower_bound(octagon):
    printed = run("--dataset", octagon, "--method", "sampled", "--samples", "100", "--seed", "3")
    assert "a lower bound: the largest of 100 random quadruples, seed 3" in printed
    assert "mean delta of a quadruple" in printed and "95 %" in printed


def test_limits_report_a_bracket(tmp_path):
    thick = nx.cartesian_product(nx.random_labeled_tree(600, seed=0), nx.path_graph(2))
    path = write_edges(tmp_path / "thick.csv", nx.convert_node_labels_to_integers(thick))
    printed = run("--dataset", path, "--time-limit", "0.2")
    assert "1 <= delta <=" in printed or "0 <= delta <=" in printed
    assert "stopped: time limit" in printed and "(exact)" not in printed
    printed = run("--dataset", path, "--memory-limit", "1MB")
    assert (
        "stopped: memory limit: the distances of a block of 1200 nodes need 1 MB, 1 MB are allowed" in printed
    )


@pytest.mark.parametrize(
    ("published", "record", "said"),
    [
        (11.0, {"lower": 4.0, "diameter": 19}, "impossible: delta is at most half the diameter, 9.5"),
        (1.0, {"lower": 2.0, "diameter": 12}, "too low: the witness shows 2"),
        (0.0, {"lower": 0.0, "diameter": 10}, "published (Chami et al., 2019): 0"),
    ],
)
def test_beside_the_published_value(octagon, published, record, said):
    _, whole = measure(DeltaSettings(dataset=octagon))
    assert said in "\n".join(describe({**whole, **record, "published": published}))


def test_cora_beside_its_published_value():
    printed = run("--dataset", "cora")
    assert "cora: delta = 4 (exact)" in printed
    assert "published (Chami et al., 2019): 11, which is impossible" in printed


@pytest.mark.parametrize(
    ("text", "count"), [("100", 100), ("500MB", 5 * 10**8), ("1.5 gb", 15 * 10**8), ("2k", 2000)]
)
def test_parse_bytes(text, count):
    assert parse_bytes(text) == count


def test_mistakes(octagon):
    with pytest.raises(InputError, match="'much' is no amount of memory"):
        run("--dataset", octagon, "--memory-limit", "much")
    with pytest.raises(InputError, match="time_limit must be above 0, got -1"):
        run("--dataset", octagon, "--time-limit", "-1")
    with pytest.raises(InputError, match="did you mean 'sampled'"):
        run("--dataset", octagon, "--method", "sample")


@pytest.mark.posix
def test_interrupt_prints_the_bracket(tmp_path):
    thick = nx.cartesian_product(nx.random_labeled_tree(1500, seed=0), nx.path_graph(2))
    path = write_edges(tmp_path / "thick.csv", nx.convert_node_labels_to_integers(thick))
    ready = tmp_path / "ready"
    code = (
        "import sys, pathlib\n"
        "from hypergraph.hyperbolicity import delta\n"
        "work = delta.supervise\n"
        f"delta.supervise = lambda *a: (pathlib.Path({str(ready)!r}).touch(), work(*a))[1]\n"
        "from hypergraph.cli import main\n"
        f"sys.argv = ['hypergraph', 'delta', '--dataset', {path!r}, '--json']\n"
        "main()\n"
    )
    started = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    while not ready.exists() and started.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(started.pid, signal.SIGINT)
    printed, _ = started.communicate(timeout=60)
    record = json.loads(printed)
    assert started.returncode == 130
    assert record["stopped"] == "interrupted" and not record["exact"]
    assert record["lower"] <= 1 <= record["upper"]
