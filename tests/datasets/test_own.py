from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from hypergraph.datasets import load_graph
from hypergraph.datasets.arrays import GraphArrays, simple_edges
from hypergraph.datasets.cache import save_npz
from hypergraph.errors import InputError


@st.composite
def graphs(draw: st.DrawFn) -> GraphArrays:
    nodes = draw(st.integers(2, 8))
    end = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(end, end), min_size=1, max_size=12))
    number = st.floats(-1e6, 1e6, width=32)
    columns = draw(st.integers(1, 4))
    x = draw(st.lists(st.lists(number, min_size=columns, max_size=columns), min_size=nodes, max_size=nodes))
    y = draw(st.lists(st.integers(0, 5), min_size=nodes, max_size=nodes))
    source, target = np.array(pairs).T
    return GraphArrays(
        "graph", nodes, simple_edges(source, target, nodes), np.array(x, dtype=np.float32), np.array(y)
    )


def write_text(graph: GraphArrays, folder: Path, *, suffix: str, ids: bool, header: bool) -> Path:
    mark = {".csv": ",", ".tsv": "\t"}[suffix]
    # Ids in another order than the edges name them, and not numbers.
    names = [f"node {i}" for i in range(graph.num_nodes)] if ids else [str(i) for i in range(graph.num_nodes)]
    start = [mark.join(["source", "target"])] if header else []
    edges = [mark.join([names[u], names[v]]) for u, v in graph.edges.T]
    (folder / f"edges{suffix}").write_text("\n".join(start + edges) + "\n")
    rows = [[names[i]] * ids + [repr(float(value)) for value in row] for i, row in enumerate(graph.x)]
    start = [["id"] * ids + [f"f{i}" for i in range(graph.x.shape[1])]] if header or ids else []
    (folder / f"features{suffix}").write_text("\n".join(mark.join(row) for row in start + rows))
    assert graph.y is not None
    labels = [[names[i]] * ids + [str(label)] for i, label in enumerate(graph.y)]
    start = [["id"] * ids + ["label"]] if header else []
    # Labels by id may come in any order.
    (folder / f"labels{suffix}").write_text(
        "\n".join(mark.join(row) for row in start + labels[:: -1 if ids else 1])
    )
    return folder


def write_mixed(graph: GraphArrays, folder: Path, *, sparse: bool) -> Path:
    np.savetxt(folder / "a.edges.csv", graph.edges.T, fmt="%d", delimiter=",")
    if sparse:
        sp.save_npz(folder / "a.feats.npz", sp.csr_matrix(graph.x))
    else:
        np.save(folder / "a.features.npy", graph.x)
    np.save(folder / "a.labels.npy", graph.y)
    return folder / "a.edges.csv"


def to_networkx(graph: GraphArrays, *, as_list: bool) -> nx.Graph:
    made = nx.Graph()
    assert graph.y is not None
    for i, row in enumerate(graph.x):
        values = [float(value) for value in row]
        features = {"x": values} if as_list else {f"x{k}": value for k, value in enumerate(values)}
        made.add_node(i, y=int(graph.y[i]), **features)
    made.add_edges_from(graph.edges.T.tolist())
    return made


def write_graphml(graph: GraphArrays, folder: Path) -> Path:
    nx.write_graphml(to_networkx(graph, as_list=False), folder / "graph.graphml")
    return folder / "graph.graphml"


def write_gml(graph: GraphArrays, folder: Path) -> Path:
    nx.write_gml(to_networkx(graph, as_list=True), folder / "graph.gml")
    return folder / "graph.gml"


def write_npz(graph: GraphArrays, folder: Path) -> Path:
    np.savez(folder / "graph.npz", edge_index=graph.edges, x=graph.x, y=graph.y)
    return folder / "graph.npz"


def write_cache(graph: GraphArrays, folder: Path) -> Path:
    save_npz(graph, folder / "graph.npz")
    return folder / "graph.npz"


def write_pt(graph: GraphArrays, folder: Path) -> Path:
    torch.save(to_pyg(graph), folder / "graph.pt")
    return folder / "graph.pt"


def to_pyg(graph: GraphArrays) -> Data:
    assert graph.y is not None
    return Data(
        x=torch.from_numpy(graph.x), edge_index=torch.from_numpy(graph.edges), y=torch.from_numpy(graph.y)
    )


WRITERS: dict[str, Callable[[GraphArrays, Path], object]] = {
    "csv": lambda graph, folder: write_text(graph, folder, suffix=".csv", ids=False, header=False),
    "csv with header": lambda graph, folder: write_text(graph, folder, suffix=".csv", ids=False, header=True),
    "tsv with ids": lambda graph, folder: write_text(graph, folder, suffix=".tsv", ids=True, header=True),
    "csv and npy": lambda graph, folder: write_mixed(graph, folder, sparse=False),
    "csv and sparse npz": lambda graph, folder: write_mixed(graph, folder, sparse=True),
    "graphml": write_graphml,
    "gml": write_gml,
    "npz": write_npz,
    "npz of the cache": write_cache,
    "pt": write_pt,
    "Data": lambda graph, folder: to_pyg(graph),
    "networkx": lambda graph, folder: to_networkx(graph, as_list=True),
}


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs())
def test_a_graph_written_in_any_format_loads_back_equal(form: str, graph: GraphArrays) -> None:
    if not graph.edges.size and form.startswith(("csv", "tsv")):
        return  # an edge list without edges is an empty file
    with TemporaryDirectory() as folder:
        data = load_graph(WRITERS[form](graph, Path(folder)))
    assert data.num_nodes == graph.num_nodes
    assert torch.equal(data.edge_index, graph.to_data().edge_index)
    assert torch.equal(data.x.to_dense(), torch.from_numpy(graph.x))
    assert [int(data.classes[label]) for label in data.y.tolist()] == graph.y.tolist()  # type: ignore[union-attr]
    assert data.is_undirected()
    assert data.validate()


FILES = {
    "edges.csv": "a,b\nb,c\n",
    "features.csv": "id,f\na,1\nb,2\nc,3\n",
    "labels.csv": "id,label\na,0\nb,1\nc,0\n",
}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("edges.csv", "a,b\nb,c,1\n", r"edges.csv:2: 3 columns, where line 1 has 2"),
        ("edges.csv", "a\nb\n", r"edges.csv:1: one column"),
        ("edges.csv", "a,b\n\n# why\nb,d\n", r"edges.csv:4: node 'd' is unknown.*features.csv"),
        ("edges.csv", "a,b\nb,\n", r"edges.csv:2: an edge with an empty end"),
        ("edges.csv", "\n# nothing\n", r"edges.csv:1: the file is empty"),
        ("edges.csv", "source,target\n", r"edges.csv:1: only a header"),
        ("features.csv", "", r"features.csv:1: the file is empty"),
        ("features.csv", "id,f\na,1\nb,nan\nc,3\n", r"features.csv:3: feature 1 is nan"),
        ("features.csv", "id,f\na,1\nb,inf\nc,3\n", r"features.csv:3: feature 1 is inf"),
        ("features.csv", "id,f\na,1\nb,many\nc,3\n", r"features.csv:3: feature 'many' in column 2 is not"),
        ("features.csv", "id,f\na,1\nb\nc,3\n", r"features.csv:3: 1 columns, where line 1 has 2"),
        (
            "features.csv",
            "id,f\na,1\nb,2\na,3\n",
            r"features.csv:4: node 'a' is there twice, first on line 2",
        ),
        ("labels.csv", "", r"labels.csv:1: the file is empty"),
        ("labels.csv", "id,label\na,0\nb,1.5\nc,0\n", r"labels.csv:3: label '1.5' is not a whole number"),
        ("labels.csv", "id,label\na,0\nb,inf\nc,0\n", r"labels.csv:3: label 'inf' is not a whole number"),
        ("labels.csv", "0\n1\n", r"labels.csv: 2 labels, where the graph has 3 nodes"),
        (
            "labels.csv",
            "id,label\na,0\nb,1\nb,0\n",
            r"labels.csv:4: node 'b' is there twice, first on line 3",
        ),
        ("labels.csv", "id,label\na,0\nb,1\nd,0\n", r"labels.csv:4: node 'd' is unknown"),
        ("labels.csv", "id,label,x\na,0,1\n", r"labels.csv:2: 3 columns"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    for file, content in FILES.items():
        (tmp_path / file).write_text(content)
    assert load_graph(tmp_path).y.tolist() == [0, 1, 0]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load_graph(tmp_path)


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="y" attr.type="{kind}"/>
<key id="d1" for="node" attr.name="x0" attr.type="double"/>
<graph edgedefault="undirected">
<node id="a"><data key="d0">{y}</data><data key="d1">{x}</data></node>
<node id="b"><data key="d0">1</data><data key="d1">2</data></node>
{more}
</graph></graphml>
"""
GML = """graph [
  node [ id 0 label "id 1" y {y} x {x} ]
  node [ id 1 label "b" y 1 x 2.0 ]
  {more}
]
"""


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        (".graphml", {"more": '<edge source="a" target="c"/>'}, r":7: node 'c' is unknown"),
        (".graphml", {"more": '<node id="a"/>'}, r":7: node 'a' is there twice, first on line 5"),
        (".graphml", {"more": '<node id="c"/>'}, r":7: this node has no 'x0'"),
        (".graphml", {"more": "<edge"}, r":8: not well-formed XML"),
        (".graphml", {"x": "nan"}, r":5: feature 1 is nan"),
        (".graphml", {"y": "0.5", "kind": "double"}, r":5: label '0.5' is not a whole number"),
        (".gml", {"more": "edge [ source 0 target 7 ]"}, r":4: node '7' is unknown"),
        (".gml", {"more": "node [ id 1 ]"}, r":4: node '1' is there twice, first on line 3"),
        (".gml", {"x": "NAN"}, r":2: feature 1 is nan"),
        (".gml", {"y": "0.5"}, r":2: label '0.5' is not a whole number"),
        (".gml", {"more": "edge [ source"}, r"damaged, or not a GML file"),
    ],
)
def test_a_mistake_in_markup_is_named_with_its_line(
    tmp_path: Path, suffix: str, change: dict[str, str], message: str
) -> None:
    template = {".graphml": GRAPHML, ".gml": GML}[suffix]
    good = {"y": "0", "x": "1.0", "more": "", "kind": "long"}
    path = tmp_path / f"graph{suffix}"
    path.write_text(template.format(**good))
    assert load_graph(path).y.tolist() == [0, 1]
    path.write_text(template.format(**good | change))
    with pytest.raises(InputError, match=message):
        load_graph(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edge_index": np.array([[0, 1], [1, 9]]), "y": np.zeros(3, int)}, r"edge 1: node '9' is unknown"),
        ({"edge_index": np.array([[0.5], [1.0]])}, r"edge_index is float64"),
        ({"edge_index": np.array([[0], [1]]), "x": np.array([[0.0], [np.nan]])}, r"node 1: feature 1 is nan"),
        (
            {"edge_index": np.array([[0], [1]]), "y": np.array([0, 0.5])},
            r"node 1: label '0.5' is not a whole number",
        ),
        ({"edge_index": np.array([[0], [1]]), "y": np.array([[1, 0], [0, 1]])}, r"labels are int64 of shape"),
        (
            {"edge_index": np.array([[0], [1]]), "x": np.eye(2), "y": np.zeros(3)},
            r"y has 3 rows, where the graph has 2",
        ),
        ({"other": np.zeros(2)}, r"no array 'edge_index'"),
        ({"edge_index": np.array([[0], [1]]), "x": np.array([[object()]])}, r"without pickled objects"),
    ],
)
def test_a_mistake_in_an_npz_is_named(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load_graph(tmp_path / "graph.npz")


@pytest.mark.parametrize("name", ["graph.csv", "graph.npz", "graph.graphml", "graph.gml", "graph.pt"])
def test_an_empty_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=rf"{name}:1: the file is empty"):
        load_graph(tmp_path / name)


def test_an_array_named_npz_is_named(tmp_path: Path) -> None:
    with (tmp_path / "graph.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(InputError, match=r"a single array, where an npz with 'edge_index'"):
        load_graph(tmp_path / "graph.npz")


def test_a_saved_object_that_runs_code_is_refused(tmp_path: Path) -> None:
    torch.save({"edge_index": Path}, tmp_path / "graph.pt")
    with pytest.raises(InputError, match=r"without running code \(refused 'pathlib\."):
        load_graph(tmp_path / "graph.pt")


def test_without_features_every_node_gets_a_column(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text("10,30\n30,7\n")
    data = load_graph(tmp_path / "graph.csv")
    assert data.node_ids == ["7", "10", "30"]
    assert torch.equal(data.x.to_dense(), torch.eye(3))
    assert data.edge_index.tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]


def test_a_node_of_gexf_that_is_called_by_its_id_has_no_label(tmp_path: Path) -> None:
    """networkx writes the id where there is none, which became a class of its own."""
    graph = nx.cycle_graph(["ann", "bob", "cem", "dan"])
    graph.nodes["ann"].update(label="red", age=3.0)
    graph.nodes["bob"]["label"] = graph.nodes["cem"]["label"] = "red"
    nx.write_gexf(graph, tmp_path / "graph.gexf")
    data = load_graph(tmp_path / "graph.gexf")
    assert (data.node_ids, data.classes, data.y.tolist()) == (
        ["ann", "bob", "cem", "dan"],
        ("red",),
        [0, 0, 0, -1],
    )
    assert "attributes not read: age" in data.changes


def test_pyg_datasets_by_name() -> None:
    data = load_graph("pyg:KarateClub")
    assert (data.num_nodes, data.edge_index.shape[1], int(data.y.max())) == (34, 156, 3)
    with pytest.raises(InputError, match=r"Unknown PyG dataset 'KarateClubs'; did you mean 'KarateClub'\?"):
        load_graph("pyg:KarateClubs")
    with pytest.raises(InputError, match=r"give one as pyg:Planetoid:NAME"):
        load_graph("pyg:Planetoid")


def test_what_is_no_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file or folder"):
        load_graph(tmp_path / "absent.csv")
    with pytest.raises(InputError, match=r"one edge list named"):
        load_graph(tmp_path)
    (tmp_path / "graph.xlsx").write_text("x")
    with pytest.raises(InputError, match=r"'.xlsx' files is not known; known are"):
        load_graph(tmp_path / "graph.xlsx")
    with pytest.raises(InputError, match=r"Unknown dataset 'coar'; did you mean 'cora'"):
        load_graph("coar")
    with pytest.raises(InputError, match=r"A list is no graph; give a PyG Data"):
        load_graph([1])
