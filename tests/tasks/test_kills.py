"""Killed with signal 9 and resumed, every task ends with the numbers, and the very files, of a whole run."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hypergraph.datasets.stable_random import StableRandom

ROOT = Path(__file__).resolve().parents[2]


def sequences(folder: Path) -> Path:
    """A folder of short sequences, which their first letters tell apart."""
    folder.mkdir(parents=True)
    random = StableRandom(0, "small")
    for part, size in (("train", 60), ("dev", 20), ("test", 20)):
        text = ["".join("ACGT"[code] for code in random.integers(4, 8)) for _ in range(size)]
        table = [f"{'CA'[number % 2] * 4}{line},{number % 2}" for number, line in enumerate(text)]
        (folder / f"{part}.csv").write_text("\n".join(["sequence,label", *table]) + "\n")
    return folder


def commands(graph: Path, genome: Path, epochs: dict[str, int]) -> dict[str, list[str]]:
    """What is typed for each task, but for the folder."""
    words = {
        "node-clf": f"--dataset {graph} --dropout 0.3 --learn-curvature --patience 0",
        "link-pred": f"--dataset {graph} --fc bfc-l --K -0.5 --patience 0",
        "image": "--dataset digits --width 8 --batch 256 --head bmlr-l --K -1.4",
        "genome": f"--dataset {genome} --batch 20 --lr 0.002 --learn-curvature",
    }
    return {
        task: [task, *words[task].split(), "--epochs", str(epochs[task]), "--seeds", "1"] for task in words
    }


def contents(folder: Path) -> dict[str, Any]:
    """What must be equal after any kill: weights, history and points as bytes, all numbers but the times."""
    result = json.loads((folder / "result.json").read_text())
    numbers = [{k: v for k, v in seed.items() if k != "seconds"} for seed in result["seeds"]]
    files = ("metrics.jsonl", "model.safetensors", "embedding.npz")
    return {"numbers": numbers, **{name: (folder / name).read_bytes() for name in files}}


def leftovers(folder: Path) -> list[Path]:
    known = {
        "metrics.jsonl",
        "model.safetensors",
        "embedding.npz",
        "result.json",
        "config.toml",
        "curves.png",
    }
    return [path for path in folder.rglob("*") if path.is_file() and path.name not in {*known, ".lock"}]


# Every command is a child of a process that has imported torch once. A child that is to be killed dies while
# it writes the checkpoint of a given epoch, so that half a file is left.
FORKS = """
import json, os, signal, socket, sys
import numpy, sklearn.datasets, torch, torch_geometric, hypergraph.viz.training
from hypergraph import cli, files
from hypergraph.tasks import api, checkpoint, genome, image, keeper, link_pred, node_clf

hypergraph.viz.training.plot_curves = lambda metrics, out: None
keeper.EVERY = 0.0
free = socket.socket(); free.bind(("127.0.0.1", 0)); port = str(free.getsockname()[1]); free.close()

def child(words, rank, processes, kill):
    if processes > 1:
        os.environ |= {"WORLD_SIZE": str(processes), "RANK": str(rank), "LOCAL_RANK": str(rank),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    save, count = checkpoint.save, [-1]
    def counted(path, tensors, state):
        count[0] += path.name.startswith("checkpoint")
        if count[0] == kill:
            files.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
        save(path, tensors, state)
    checkpoint.save = counted
    sys.argv = ["hypergraph", *words]
    try:
        cli.main()
    except SystemExit as leaving:
        sys.stderr.flush()
        os._exit(leaving.code or 0)

def run(words, processes, kill=None):
    children = []
    for rank in range(processes):
        children.append(os.fork())
        if not children[-1]:
            child(words, rank, processes, kill)
    first = os.waitpid(children[0], 0)[1]
    for other in children[1:]:
        if kill is not None:
            os.kill(other, signal.SIGKILL)  # as torchrun does when one process is gone
        os.waitpid(other, 0)
    return os.waitstatus_to_exitcode(first)

for words, processes, out, kill in json.loads(sys.argv[1]):
    codes = [run([*words, "--out", f"{out}-whole"], processes),
             run([*words, "--out", out], processes, kill),
             run([words[0], "--resume", out], processes)]
    print(json.dumps(codes), flush=True)
"""


def test_every_task_killed_and_resumed(graph: Path, tmp_path: Path) -> None:
    """One process for each task, and two for images, which spread over processes, and for a graph."""
    epochs = {"node-clf": 6, "link-pred": 6, "image": 3, "genome": 4}
    typed = commands(graph, sequences(tmp_path / "genome"), epochs)
    jobs = [(task, 1) for task in typed] + [("image", 2), ("node-clf", 2)]
    plan = [
        (typed[task], processes, str(tmp_path / f"{task}-{processes}"), epochs[task])
        for task, processes in jobs
    ]
    done = subprocess.run(
        [sys.executable, "-c", FORKS, json.dumps(plan)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    codes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert codes == [[0, -9, 0]] * len(plan), done.stderr
    for _, _, out, _ in plan:
        assert contents(Path(out)) == contents(Path(f"{out}-whole")), out
        assert not leftovers(Path(out))


# Imported by every process at its start: checkpoints after every epoch, and no drawing.
OFTEN = """
import sys
if any("hypergraph" in word for word in sys.orig_argv):
    import hypergraph.tasks.keeper as keeper
    import hypergraph.viz.training as training
    keeper.EVERY = 0.0
    training.plot_curves = lambda metrics, out: None
"""


def start(words: list[str], processes: int, often: Path) -> subprocess.Popen[str]:
    """The command; two processes are two seeds side by side, and for images two under torchrun."""
    launcher = [sys.executable, "-m", "hypergraph.cli", *words]
    if words[0] != "image":
        launcher += ["--jobs", str(processes)]
    elif processes > 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        spread = f"-m torch.distributed.run --nproc-per-node {processes} --master-port {port}".split()
        launcher[1:1] = spread
    return subprocess.Popen(
        launcher,
        env=os.environ | {"PYTHONPATH": f"{often}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], out: Path) -> dict[str, Any]:
    """What the run has found in the end."""
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert not leftovers(out), out
    return contents(out)


def wait(process: subprocess.Popen[str], out: Path, moments: random.Random, length: float) -> None:
    """Until a random moment: of the whole command, or more often of its training."""
    began, end = time.time(), time.time() + moments.uniform(0, length)
    training = moments.random() < 0.8
    while process.poll() is None and (training or time.time() < end):
        if training and any(log.stat().st_mtime > began for log in out.glob("seeds/*/metrics.jsonl")):
            training, end = False, time.time() + moments.uniform(0, 1)
        time.sleep(0.005)


def kill(process: subprocess.Popen[str], *, alone: bool) -> None:
    """Signal 9 to a command and its processes; ``alone`` leaves these to find out for themselves."""
    import psutil

    children = [] if alone else psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children)
    process.wait()
    assert process.stderr is not None
    process.stderr.close()


KILLS = 100
LONG = {"node-clf": 150, "link-pred": 150, "image": 6, "genome": 25}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("task", LONG)
def test_a_hundred_kills(graph: Path, tmp_path: Path, task: str, processes: int) -> None:
    """The real command at random moments, 12 or 13 kills in each of the 8 cases."""
    pytest.importorskip("psutil")
    case = list(LONG).index(task) + 4 * (processes - 1)
    wanted = KILLS // 8 + (case < KILLS % 8)
    often, out = tmp_path / "often", tmp_path / "run"
    often.mkdir()
    (often / "sitecustomize.py").write_text(OFTEN)
    words = commands(graph, sequences(tmp_path / "genome"), LONG)[task]
    if processes == 2 and task != "image":
        words[-1] = "2"
    began = time.monotonic()
    whole = finish(start([*words, "--out", str(tmp_path / "whole")], processes, often), tmp_path / "whole")
    length = time.monotonic() - began
    kills = finished = 0
    moments = random.Random(f"{task} {processes}")
    while kills < wanted or out.exists():
        begun = (out / "config.toml").exists()
        typed = [task, "--resume", str(out)] if begun else [*words, "--out", str(out)]
        process = start(typed, processes, often)
        if kills < wanted:
            wait(process, out, moments, length)
            if process.poll() is None:
                kill(process, alone=task != "image" and moments.random() < 0.3)
                kills += 1
                continue
        assert finish(process, out) == whole, f"after {kills} kills"
        shutil.rmtree(out)
        finished += 1
    print(f"{task}, {processes}: {kills} kills over {finished} runs")
