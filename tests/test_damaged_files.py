"""Damaged files of every format at the commands that read them: the answer, or one sentence and code 2."""

from __future__ import annotations

import contextlib
import io
import pickle
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from hypergraph import cli, limits
from hypergraph.datasets.disk import convert
from tests.memory import peak

from .own_graphs import NAMED, RANDOM, write_npz, write_numbers, write_scipy


def write_disk(folder: Path) -> Path:
    convert(write_npz(folder), folder / "disk")
    return folder / "disk"


def write_genome(folder: Path) -> Path:
    letters = ["".join(RANDOM.choice(list("ACGTN"), 20)) for _ in range(40)]
    (folder / "g.csv").write_text(
        "sequence,label\n" + "".join(f"{s},{i % 2}\n" for i, s in enumerate(letters))
    )
    return folder / "g.csv"


def write_fasta(folder: Path) -> Path:
    letters = ["".join(RANDOM.choice(list("ACGTN"), 20)) for _ in range(40)]
    (folder / "g.fasta").write_text("".join(f">s{i}|{i % 2}\n{s}\n" for i, s in enumerate(letters)))
    return folder / "g.fasta"


def write_cifar(folder: Path) -> Path:
    pixels = RANDOM.integers(0, 256, (4, 3072), dtype=np.uint8)
    batch = pickle.dumps({"data": pixels, "labels": [0, 1, 2, 3]}, 3)
    for name in ("data_batch_1", "test_batch"):
        (folder / name).write_bytes(batch.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    return folder


def write_images(folder: Path) -> Path:
    image = pytest.importorskip("PIL.Image")
    for label in ("cat", "dog"):
        (folder / label).mkdir()
        for number, suffix in enumerate(("png", "jpg", "gif", "bmp", "tif", "webp")):
            pixels = RANDOM.integers(0, 256, (9, 8, 3), dtype=np.uint8)
            image.fromarray(pixels).save(folder / label / f"{number}.{suffix}")
    return folder


GRAPH = [
    ["data", "info"],
    ["delta", "--time-limit", "2", "--dataset"],
    ["node-clf", "--dataset"],
    ["link-pred", "--dataset"],
]
FORMATS: dict[str, tuple[Callable[[Path], Path], list[list[str]]]] = {
    **{name: (write, GRAPH) for name, write in NAMED.items()},
    "numbers": (write_numbers, GRAPH),
    "scipy": (write_scipy, GRAPH),
    "disk": (write_disk, GRAPH),
    "genome": (write_genome, [["genome", "--dataset"]]),
    "fasta": (write_fasta, [["genome", "--dataset"]]),
    "cifar": (write_cifar, [["image", "--crop", "0", "--pad", "0", "--width", "8", "--dataset"]]),
    "images": (
        write_images,
        [["image", "--size", "8", "--width", "8", "--crop", "0", "--pad", "0", "--dataset"]],
    ),
}
TRAINING = ["--epochs", "1", "--seeds", "1", "--jobs", "1", "--out"]
HUGE = [
    b"99999999999",
    b"1e999",
    b"-7",
    b"nan",
    b"",
    b"2147483648",
    b"9" * 5000,
    b"0.5",
    b"\xff\xfe",
    b'"',
    b"\0",
]


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A way to damage the bytes of a file."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "repeat", "drop", "number", "empty", "other"]))
    place, length = draw(st.floats(0, 1)), draw(st.integers(1, 64))
    noise = draw(st.binary(min_size=1, max_size=32))
    value = draw(st.sampled_from(HUGE))

    def damage(content: bytes) -> bytes:
        at = int(place * max(len(content) - 1, 0))
        if kind == "flip":
            end = at + len(noise)
            mixed = bytes(a ^ b for a, b in zip(content[at:end], noise))
            return content[:at] + mixed + content[at + len(mixed) :]
        if kind == "number":
            found = list(re.finditer(rb"\d+(\.\d+)?", content))
            if not found:
                return value
            match = found[int(place * (len(found) - 1))]
            return content[: match.start()] + value + content[match.end() :]
        return {
            "cut": content[:at],
            "insert": content[:at] + noise + content[at:],
            "repeat": content[:at] + content[at : at + length] * 50 + content[at:],
            "drop": content[:at] + content[at + length :],
            "empty": b"",
            "other": noise * 20,
        }[kind]

    return damage


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, int, float, list[Callable[[bytes], bytes]]]:
    name = draw(st.sampled_from(sorted(FORMATS)))
    # info most often, since it is quick
    command = draw(st.sampled_from([0, 0, 0, 1, 2, 3])) % len(FORMATS[name][1])
    return name, command, draw(st.floats(0, 1)), draw(st.lists(damages(), min_size=1, max_size=2))


def run(typed: list[str]) -> tuple[int, str]:
    """Run a command in this process; its exit code, and what it said."""
    err, argv = io.StringIO(), sys.argv
    sys.argv = ["hypergraph", *typed]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as leaving:
        return int(leaving.code or 0), err.getvalue()
    finally:
        sys.argv = argv
    raise AssertionError("it returned")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """Every format, written once."""
    made: dict[str, tuple[Path, Path]] = {}

    def get(name: str) -> tuple[Path, Path]:
        if name not in made:
            folder = tmp_path_factory.mktemp("whole")
            made[name] = folder, FORMATS[name][0](folder).relative_to(folder)
        return made[name]

    return get


def check(
    case: tuple[str, int, float, list[Callable[[bytes], bytes]]], whole: Callable[[str], tuple[Path, Path]]
) -> None:
    name, command, which, wrong = case
    source, dataset = whole(name)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "files"
        shutil.copytree(source, folder)
        files = sorted(file for file in (folder / dataset, *folder.rglob("*")) if file.is_file())
        victim = files[int(which * (len(files) - 1))]
        for damage in wrong:
            victim.write_bytes(damage(victim.read_bytes()))
        typed = [*FORMATS[name][1][command], str(folder / dataset)]
        if typed[0] not in ("data", "delta"):
            typed += [*TRAINING, str(Path(place) / "run")]
        note(f"{' '.join(typed)}, with {victim.name} = {victim.read_bytes()[:3000]!r}")
        before, start = peak(), time.process_time()
        code, said = run(typed)
        assert time.process_time() - start < 20, typed
    assert code in (0, 2), (code, said)
    assert "Traceback" not in said
    if code == 2:
        assert said.strip().splitlines()[-1].startswith("hypergraph: "), said
        assert len([line for line in said.splitlines() if line.startswith("hypergraph: ")]) == 1, said
    assert peak() <= max(before, 2 << 20), "over 2 GB"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hypergraph.viz.training.plot_curves", lambda metrics, out: out.touch())
    monkeypatch.setattr(limits, "available", lambda: 2 << 30)


def test_whole_files_of_every_format_are_read(
    whole: Callable[[str], tuple[Path, Path]], quiet: None, tmp_path: Path
) -> None:
    for name, (_, commands) in FORMATS.items():
        folder, dataset = whole(name)
        typed = [*commands[0], str(folder / dataset)]
        if typed[0] != "data":
            typed += [*TRAINING, str(tmp_path / name)]
        code, said = run(typed)
        assert code == 0, (name, said)


EXAMPLES = {
    "deadline": None,
    "database": None,
    "phases": (Phase.generate,),  # a case is named by its file and needs no shrinking
    "suppress_health_check": list(HealthCheck),
}


@settings(max_examples=200, derandomize=True, **EXAMPLES)  # type: ignore[arg-type]
@given(case=cases())
def test_damaged_files(
    case: tuple[str, int, float, list[Callable[[bytes], bytes]]],
    whole: Callable[[str], tuple[Path, Path]],
    quiet: None,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(case, whole)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=2000, **EXAMPLES)  # type: ignore[arg-type]
@given(case=cases())
def test_many_damaged_files(
    case: tuple[str, int, float, list[Callable[[bytes], bytes]]],
    whole: Callable[[str], tuple[Path, Path]],
    quiet: None,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(case, whole)
