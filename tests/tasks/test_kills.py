"""Killed with signal 9 and resumed, every task ends with the numbers, and the very files, of a whole run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hypergraph.datasets.stable_random import StableRandom

pytestmark = pytest.mark.posix

ROOT = Path(__file__).resolve().parents[2]

# For worker processes: a checkpoint after every epoch.
OFTEN = """
import sys
if any("spawn_main" in word for word in sys.orig_argv):
    import hypergraph.tasks.keeper
    hypergraph.tasks.keeper.EVERY = 0.0
"""


@pytest.fixture
def genome(tmp_path: Path) -> Path:
    """A folder of short sequences, which their first letters tell apart."""
    folder = tmp_path / "genome"
    folder.mkdir(parents=True)
    random = StableRandom(0, "small")
    for part, size in (("train", 60), ("dev", 20), ("test", 20)):
        text = ["".join("ACGT"[code] for code in random.integers(4, 8)) for _ in range(size)]
        table = [f"{'CA'[number % 2] * 4}{line},{number % 2}" for number, line in enumerate(text)]
        (folder / f"{part}.csv").write_text("\n".join(["sequence,label", *table]) + "\n")
    return folder


def typed(task: str, graph: Path, genome: Path, epochs: int, more: str = "--seeds 1") -> list[str]:
    words = {
        "node-clf": f"--dataset {graph} --dropout 0.3 --learn-curvature --patience 0",
        "link-pred": f"--dataset {graph} --fc bfc-l --K -0.5 --patience 0",
        "image": "--dataset digits --width 8 --batch 256 --head bmlr-l --K -1.4",
        "genome": f"--dataset {genome} --batch 20 --lr 0.002 --learn-curvature",
    }
    return [task, *words[task].split(), "--epochs", str(epochs), *more.split()]


def kill(plan: list[Any], tmp_path: Path, timeout: int) -> str:
    """Carry out a plan for ``killing.py``; what it says."""
    often = tmp_path / "often"
    often.mkdir()
    (often / "sitecustomize.py").write_text(OFTEN)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killing.py")), json.dumps(plan)],
        env=os.environ | {"PYTHONPATH": f"{often}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0 and done.stderr.endswith("all equal\n"), done.stderr[-3000:]
    return done.stderr


def test_every_task_killed_and_resumed(graph: Path, genome: Path, tmp_path: Path) -> None:
    """In one process each; in two for images and for the batches of a graph, which are shared out."""
    epochs = {"node-clf": 6, "link-pred": 6, "image": 3, "genome": 4}
    cases = [*((task, 1) for task in epochs), ("image", 2), ("node-clf", 2)]
    plan = []
    for task, n in cases:
        words = typed(task, graph, genome, epochs[task])
        words += ["--batch-size", "64"] if n > 1 and task == "node-clf" else []
        plan.append(("once", words, n, str(tmp_path / f"{task}-{n}"), epochs[task]))
    kill(plan, tmp_path, timeout=280)


# How a run is started: one process; two as under torchrun, which share out the batches; two seeds side by
# side, whose workers import torch every time and so are killed less often.
WAYS = ("one", "torchrun", "side by side")
KILLS = {"node-clf": (18, 6, 2), "link-pred": (18, 6, 2), "image": (18, 10, 0), "genome": (12, 6, 2)}
EPOCHS = {"node-clf": 25, "link-pred": 25, "image": 3, "genome": 8}


def test_there_are_a_hundred() -> None:
    assert sum(map(sum, KILLS.values())) == 100
    assert all(sum(kills[1:]) >= 6 for kills in KILLS.values())


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", WAYS)
def test_a_hundred_kills(graph: Path, genome: Path, tmp_path: Path, way: str) -> None:
    """Commands at random moments of all their time, until so many were killed."""
    plan = []
    for task, kills in KILLS.items():
        wanted = kills[WAYS.index(way)]
        if not wanted:
            continue
        more = "--seeds 2 --jobs 2" if way == "side by side" else "--seeds 1"
        more += " --batch-size 64" if way == "torchrun" and task in ("node-clf", "link-pred") else ""
        words = typed(task, graph, genome, EPOCHS[task], more)
        plan.append(("many", words, 1 + (way == "torchrun"), str(tmp_path / f"{task}-run"), wanted))
    said = kill(plan, tmp_path, timeout=3500)
    counted = [line for line in said.splitlines() if line.startswith("killed ")]
    print(f"\n{way}", *counted, sep="\n")
    assert len(counted) == len(plan)
