from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

from hypergraph.datasets.hgcn import read_airport
from hypergraph.datasets.planetoid import _MATRIX, PARTS, read_planetoid
from hypergraph.datasets.unpickle import restricted_load
from hypergraph.errors import InputError


@pytest.fixture
def real_cora(data_dir: Path) -> dict[str, Path]:
    return {f"ind.cora.{part}": data_dir / "cora" / f"ind.cora.{part}" for part in PARTS}


class Malicious:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_malicious_pickle_is_refused_by_name_and_not_run(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "ind.cora.x"
    path.write_bytes(pickle.dumps([1, Malicious(tmp_path / "made")], protocol=protocol))
    with pytest.raises(InputError, match=r"ind\.cora\.x: refused to load '(posix|nt)\.mkdir'"):
        restricted_load(path, _MATRIX)
    assert not (tmp_path / "made").exists()
    pickle.loads(path.read_bytes())
    assert (tmp_path / "made").exists()  # so it would have run


@pytest.mark.parametrize("name", ["builtins.eval", "builtins.getattr", "numpy.f2py.compile", "os.system"])
def test_no_way_around_the_list(tmp_path: Path, name: str) -> None:
    module, _, attribute = name.rpartition(".")
    path = tmp_path / "bad.p"
    path.write_bytes(f"c{module}\n{attribute}\n(S'1'\ntR.".encode())
    with pytest.raises(InputError, match=f"refused to load '{name}'"):
        restricted_load(path, _MATRIX)


def test_what_is_allowed_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "good.p"
    path.write_bytes(pickle.dumps(OrderedDict(a=[1, 2.5, "x"])))
    made = restricted_load(path, {("collections", "OrderedDict"): dict})
    assert made == {"a": [1, 2.5, "x"]} and type(made) is dict


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04\x95", pickle.dumps([1] * 50)[:-5]])
def test_a_broken_pickle_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.p"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.p: not a readable pickle"):
        restricted_load(path, {})


# A list that holds a list twice, which holds one twice, and so on.
TWICE = b"K\x01" + b"q\x00]q\x01h\x00ah\x00a" * 40
EMPTY = b"cnumpy\nndarray\n)R(K\x01%scnumpy\ndtype\nX\x02\x00\x00\x00u1\x85R\x89C\x00tb"
LISTS = b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R"
MATRIX = b"cscipy.sparse.csr\ncsr_matrix\n)\x81}X\x06\x00\x00\x00_shape"


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("graph", LISTS + b"K\x00]" + TWICE + b"as."),
        ("graph", LISTS + b"K\x00K\x01s."),
        ("graph", b"K\x01."),
        ("graph", b"c__builtin__\nlist\nX\x02\x00\x00\x00ab\x85R."),
        ("graph", b"ccollections\ndefaultdict\nN}X\x06\x00\x00\x00valuesK\x01s\x86b."),
        (
            "graph",
            LISTS
            + b"K\x00]("
            + b"K\x01" * 3000
            + b"eq\x00s("
            + b"".join(b"M" + node.to_bytes(2, "little") + b"h\x00" for node in range(1, 2000))
            + b"u.",
        ),
        ("graph", LISTS + b"K\x00]J\xff\xff\xff\x7fas."),
        ("allx", MATRIX + TWICE + b"sb."),
        ("allx", MATRIX + b"K\x02K\x02\x86sb."),
        ("allx", b"K\x01."),
        ("ally", EMPTY % b"K\x00\x85" + b"."),
        ("ally", EMPTY % b"K\x00\x8a\x05\x00\x00\x00\x00\x01\x86" + b"."),
        ("test.index", b"1708\n1000000000000\n"),
        ("test.index", b"a b\n"),
    ],
)
def test_forged_planetoid_files_are_refused(
    tmp_path: Path, real_cora: dict[str, Path], part: str, content: bytes
) -> None:
    """Also where they would get past their checksums."""
    bad = tmp_path / "bad"
    bad.write_bytes(content if part == "test.index" else b"\x80\x04" + content)
    with pytest.raises(InputError):
        read_planetoid("cora", {**real_cora, f"ind.cora.{part}": bad})


NODE = b"}X\x04\x00\x00\x00feat](K\x01K\x01K\x01K\x01K\x01es"


def airport(nodes: bytes, neighbors: bytes) -> bytes:
    return (
        b"\x80\x04cnetworkx.classes.graph\nGraph\n)\x81}(X\x05\x00\x00\x00_node%sX\x04\x00\x00\x00_adj%sub."
        % (
            nodes,
            neighbors,
        )
    )


def test_forged_airports_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "airport.p"
    nodes, edge = b"}(K\x00%sK\x01%su" % (NODE, NODE), b"}K\x00}K\x01Nss"
    path.write_bytes(airport(nodes, edge))
    assert read_airport({"airport.p": path}, "node").num_nodes == 2
    feature = b"}K\x00}X\x04\x00\x00\x00feat](K\x01K\x01K\x01K\x01%sess" % TWICE
    shared = b"}(K\x00}(%su" % b"".join(b"M%sN" % at.to_bytes(2, "little") for at in range(3000)) + b"q\x00"
    shared += b"".join(b"M%sh\x00" % at.to_bytes(2, "little") for at in range(1, 2000)) + b"u"
    for content in (
        airport(feature, edge),
        airport(b"]" + TWICE + b"a", edge),
        airport(nodes, b"}K\x00" + TWICE + b"s"),
        airport(nodes, b"}K\x07}K\x01Nss"),
        airport(nodes, shared),
        airport(b"}", b"}"),
        b"\x80\x04}.",
        b"\x80\x04cbuiltins\ndict\n}\x85R.",
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"airport\.p"):
            read_airport({"airport.p": path}, "node")
