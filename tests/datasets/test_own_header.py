"""A first row of words is a header, whatever its columns are called, or an edge like the others."""

from pathlib import Path

import pytest

from hypergraph.datasets import load_graph

TREE = "Ada,Bob\nAda,Cy\nBob,Di\n"


@pytest.mark.parametrize(
    ("text", "nodes", "edges"),
    [
        ("manager,employee\n" + TREE, 4, 3),
        (TREE, 4, 3),
        ("a,b\nc,d\ne,f\n", 6, 3),  # pairs all over: the first is one of them
        ("Eve,Fay\nEve,Gil\n" + TREE, 7, 5),
    ],
)
def test_a_header_of_any_name(tmp_path: Path, text: str, nodes: int, edges: int) -> None:
    (tmp_path / "staff.csv").write_text(text)
    graph = load_graph(tmp_path / "staff.csv")
    assert (graph.num_nodes, graph.edge_index.shape[1]) == (nodes, 2 * edges)


@pytest.mark.parametrize("header", ["manager,employee\n", ""])
def test_known_nodes_settle_it(tmp_path: Path, header: str) -> None:
    (tmp_path / "edges.csv").write_text(header + "Yan,Zoe\n" + TREE)
    names = ["Ada", "Bob", "Cy", "Di", "Yan", "Zoe"]
    (tmp_path / "nodes.csv").write_text("id,label\n" + "".join(f"{name},x\n" for name in names))
    graph = load_graph(tmp_path)
    assert (graph.num_nodes, graph.edge_index.shape[1]) == (6, 8)


def test_columns_that_are_not_read_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("Von;Nach;Jahr\na;b;1999\nb;c;2001\n")
    assert "columns not read: Jahr" in load_graph(tmp_path / "edges.csv").changes


def test_a_column_of_true_and_false_is_a_feature(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\nb,c\n")
    (tmp_path / "nodes.csv").write_text("id,label,new,town\na,x,True,Ulm\nb,y,false,Bonn\nc,,TRUE,Ulm\n")
    graph = load_graph(tmp_path)
    assert graph.columns == ("new",) and graph.x.flatten().tolist() == [1, 0, 1]
    assert "columns of words left out: town" in graph.changes
