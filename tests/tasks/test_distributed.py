"""Several gloo processes: the numbers of one, killed and resumed with another number of processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.posix

COMMAND = [sys.executable, "-m", "hypergraph"]


def start(processes: int, *words: str) -> list[subprocess.Popen[str]]:
    """The processes of a command, as torchrun starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        "WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
    return [
        subprocess.Popen(
            [*COMMAND, *words],
            env=os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]


def finish(running: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit codes, and what was said on standard error."""
    said = [process.communicate(timeout=250)[1] for process in running]
    return [(process.returncode, text) for process, text in zip(running, said)]


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def agree(one: Path, other: Path, bound: float) -> None:
    assert len(lines(one)) == len(lines(other)) > 2
    for a, b in zip(lines(one), lines(other)):
        assert a == pytest.approx(b, abs=bound)


NODE = ["node-clf", "--head", "bmlr-l", "--encoder", "hgcn", "--fanout=-1,-1"]
LINK = ["link-pred", "--fc", "mobius", "--encoder", "hgcn", "--fanout=-1,-1"]
# without anything random but the batches; a mean over all neighbours is the same in any batch
EXACT = "--norm mean --num-layers 2 --propagate 0 --dropout 0 --feature-dropout 0 --hidden-dropout 0"
COMMON = [*EXACT.split(), "--seeds", "1", "--dtype", "float64", "--patience", "0", "--epochs"]


@pytest.mark.parametrize(
    ("words", "batch"), [(NODE, "32"), pytest.param(LINK, "100", marks=pytest.mark.slow)]
)
def test_the_loss_is_that_of_one_process(graph, tmp_path, words, batch):
    """Also where a batch is the rest of an epoch: 84 nodes in batches of 32."""
    common = [*words, "--dataset", str(graph), "--batch-size", batch, *COMMON, "5", "--out"]
    for processes, name in ((1, "one"), (2, "two")):
        for code, said in finish(start(processes, *common, str(tmp_path / name))):
            assert code == 0, said
    agree(tmp_path / "one", tmp_path / "two", 1e-9)


@pytest.mark.slow
def test_killed_and_resumed_with_another_number_of_processes(graph, tmp_path):
    common = [*NODE, "--dataset", str(graph), "--batch-size", "16", *COMMON, "40", "--out"]
    (whole,) = finish(start(1, *common, str(tmp_path / "whole")))
    assert whole[0] == 0, whole[1]
    running = start(2, *common, str(tmp_path / "part"))
    log = tmp_path / "part" / "seeds" / "0" / "checkpoint.safetensors"
    end = time.monotonic() + 120
    while not log.exists() and time.monotonic() < end:
        time.sleep(0.02)
    running[1].send_signal(signal.SIGKILL)
    (code, said), _ = finish(running)
    assert code in (0, 2), said
    if code == 2:
        assert (
            said.strip().splitlines()[-1].startswith("hypergraph: Process 0 ends, because another has ended")
        )
    for code, said in finish(start(1, "node-clf", "--resume", str(tmp_path / "part"))):
        assert code == 0, said
    agree(tmp_path / "whole", tmp_path / "part", 1e-7)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--batch-size", "15"], "A batch of 15 cannot be divided among 2 processes"),
        pytest.param([], "Several processes share out batches: give a --batch-size", marks=pytest.mark.slow),
        pytest.param(["--batch-size", "5000"], "three: a batch of 5000, and only", marks=pytest.mark.slow),
    ],
)
def test_bad_input_is_said_once(graph, tmp_path, words, text):
    common = ["node-clf", "--dataset", str(graph), "--out", str(tmp_path / "run")]
    (first, said), (second, silence) = finish(start(2, *common, *words))
    assert (first, second) == (2, 2)
    assert said.startswith(f"hypergraph: {text}") and silence == ""
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_torchrun(graph, tmp_path):
    words = ["-m", "hypergraph", *NODE, "--dataset", str(graph), "--batch-size", "16", *COMMON, "3", "--out"]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    found = subprocess.run(
        [sys.executable, *launcher, *words, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 0, found.stderr
    assert len(lines(tmp_path / "run")) == 3


@pytest.mark.slow
def test_genomes_in_two_processes(tmp_path):
    words = ["genome", "--epochs", "2", "--seeds", "1", "--out", str(tmp_path / "run")]
    for code, said in finish(start(2, *words)):
        assert code == 0, said
    assert len(lines(tmp_path / "run")) == 2
