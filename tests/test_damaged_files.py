"""Damaged files of every format at the commands that read them: the answer, or one sentence and code 2."""

from __future__ import annotations

import contextlib
import gzip
import io
import pickle
import re
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from hypergraph import cli, limits
from hypergraph.datasets.disk import convert

NODES = 60
RANDOM = np.random.default_rng(0)
EDGES = np.stack([np.arange(NODES), (np.arange(NODES) * 7 + 1) % NODES])
X = RANDOM.normal(size=(NODES, 3)).astype(np.float32).round(2)
LABELS = [["ham", "spam", ""][i % 3] for i in range(NODES)]
WEIGHTS = [1 + i % 3 for i in range(NODES)]


def rows(mark: str) -> str:
    return "".join(f"n{u}{mark}n{v}{mark}{w}\n" for (u, v), w in zip(EDGES.T, WEIGHTS))


def node_table(mark: str) -> str:
    lines = [mark.join([f"n{i}", LABELS[i], *map(str, X[i])]) for i in range(NODES)]
    return "\n".join([mark.join(["id", "label", "a", "b", "c"]), *lines]) + "\n"


def networkx() -> nx.Graph:
    graph = nx.Graph()
    for i in range(NODES):
        graph.add_node(f"n{i}", **{f"x{k}": float(value) for k, value in enumerate(X[i])})
        if LABELS[i]:
            graph.nodes[f"n{i}"]["y"] = LABELS[i]
    graph.add_weighted_edges_from((f"n{u}", f"n{v}", w) for (u, v), w in zip(EDGES.T.tolist(), WEIGHTS))
    return graph


def write_csv(folder: Path) -> Path:
    (folder / "edges.csv").write_text("source,target,weight\n" + rows(","))
    (folder / "nodes.csv").write_text(node_table(","))
    return folder


def write_gz(folder: Path) -> Path:
    (folder / "edges.tsv.gz").write_bytes(gzip.compress(rows("\t").encode()))
    (folder / "nodes.tsv.gz").write_bytes(gzip.compress(node_table("\t").encode()))
    return folder


def write_numbers(folder: Path) -> Path:
    np.savetxt(folder / "a.edges.csv", EDGES.T, fmt="%d", delimiter=",")
    sp.save_npz(folder / "a.feats.npz", sp.csr_matrix(X))
    np.save(folder / "a.labels.npy", np.arange(NODES) % 3)
    return folder / "a.edges.csv"


def write_txt(folder: Path) -> Path:
    (folder / "g.txt").write_text("# from elsewhere\n" + rows(" "))
    (folder / "g.labels.csv").write_text("\n".join(f"n{i};{LABELS[i]}" for i in range(NODES)))
    return folder / "g.txt"


def write_parquet(folder: Path) -> Path:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    ends = {name: [f"n{i}" for i in side] for name, side in zip(("source", "target"), EDGES)}
    pandas.DataFrame(ends).to_parquet(folder / "edges.parquet")
    table = {"id": [f"n{i}" for i in range(NODES)], "label": LABELS, "a": X[:, 0]}
    pandas.DataFrame(table).to_parquet(folder / "nodes.parquet")
    return folder


def write_npz(folder: Path) -> Path:
    np.savez(folder / "g.npz", edge_index=EDGES, x=X, y=np.array(LABELS), node_ids=np.arange(NODES) + 10)
    return folder / "g.npz"


def write_scipy(folder: Path) -> Path:
    matrix = sp.coo_matrix((WEIGHTS, tuple(EDGES)), shape=(NODES, NODES))
    sp.save_npz(folder / "g.npz", matrix.tocsr())
    return folder / "g.npz"


def write_pt(folder: Path) -> Path:
    y = torch.arange(NODES) % 3 - 1
    torch.save(Data(torch.from_numpy(X), torch.from_numpy(EDGES), y=y), folder / "g.pt")
    return folder / "g.pt"


def write_markup(suffix: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / f"g.{suffix}"
        {"graphml": nx.write_graphml, "gml": nx.write_gml, "gexf": nx.write_gexf}[suffix](networkx(), path)
        return path

    return write


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
    "csv": (write_csv, GRAPH),
    "tsv.gz": (write_gz, GRAPH),
    "numbers": (write_numbers, GRAPH),
    "txt": (write_txt, GRAPH),
    "parquet": (write_parquet, GRAPH),
    "npz": (write_npz, GRAPH),
    "scipy": (write_scipy, GRAPH),
    "pt": (write_pt, GRAPH),
    "graphml": (write_markup("graphml"), GRAPH),
    "gml": (write_markup("gml"), GRAPH),
    "gexf": (write_markup("gexf"), GRAPH),
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
        start = time.process_time()
        code, said = run(typed)
        assert time.process_time() - start < 20, typed
    assert code in (0, 2), (code, said)
    assert "Traceback" not in said
    if code == 2:
        assert said.strip().splitlines()[-1].startswith("hypergraph: "), said
        assert len([line for line in said.splitlines() if line.startswith("hypergraph: ")]) == 1, said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20, "over 2 GB"  # in KiB


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
