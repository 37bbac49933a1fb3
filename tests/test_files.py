import os
import stat
from pathlib import Path

import pytest

from hypergraph import limits
from hypergraph.files import atomic_path, atomic_write_text


def test_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "result.json"
    atomic_write_text(target, "old")
    atomic_write_text(target, "new δ")
    assert target.read_text(encoding="utf-8") == "new δ"
    assert os.listdir(target.parent) == ["result.json"]


def test_what_is_flushed_to_disk_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to flush a file that is open for reading alone."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: os.write(descriptor, b""))
    atomic_write_text(tmp_path / "result.json", "new")
    assert (tmp_path / "result.json").read_text() == "new"


def test_failure_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    atomic_write_text(target, "old")

    def fail() -> None:
        with atomic_path(target) as part:
            part.write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.posix
def test_suffix_is_kept_and_mode_follows_the_umask(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a.npz") as part:
        assert part.suffix == ".npz"
        part.write_bytes(b"x")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o666 & ~mask


def test_files_that_a_container_keeps_in_memory_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 200\nactive_file 300\ninactive_file 400\n")
    assert limits.available() == 800
    (tmp_path / "memory.max").write_text("max\n")
    assert limits.available() > 800


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_path_without_a_name_is_a_folder(name):
    with pytest.raises(IsADirectoryError), atomic_path(name):
        pass
