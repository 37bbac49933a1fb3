from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

from hypergraph.datasets.planetoid import _ALIASES, _MATRIX
from hypergraph.datasets.unpickle import restricted_load
from hypergraph.errors import InputError


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
        restricted_load(path, _MATRIX, aliases=_ALIASES)
    assert not (tmp_path / "made").exists()
    pickle.loads(path.read_bytes())
    assert (tmp_path / "made").exists()  # so it would have run


@pytest.mark.parametrize("name", ["builtins.eval", "builtins.getattr", "numpy.f2py.compile", "os.system"])
def test_no_way_around_the_list(tmp_path: Path, name: str) -> None:
    module, _, attribute = name.rpartition(".")
    path = tmp_path / "bad.p"
    path.write_bytes(f"c{module}\n{attribute}\n(S'1'\ntR.".encode())
    with pytest.raises(InputError, match=f"refused to load '{name}'"):
        restricted_load(path, _MATRIX, aliases=_ALIASES)


def test_what_is_allowed_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "good.p"
    path.write_bytes(pickle.dumps(OrderedDict(a=[1, 2.5, "x"])))
    assert restricted_load(path, {("collections", "OrderedDict")}) == {"a": [1, 2.5, "x"]}
    alias = {("collections", "OrderedDict"): dict}
    assert type(restricted_load(path, set(alias), aliases=alias)) is dict


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04\x95", pickle.dumps([1] * 50)[:-5]])
def test_a_broken_pickle_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.p"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.p: not a readable pickle"):
        restricted_load(path, set())
