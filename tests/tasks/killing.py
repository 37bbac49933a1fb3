"""Commands that are killed with signal 9 and resumed; started by test_kills.py as a process of its own.

It imports torch once and forks every command, which is then a process like any other, in a group of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import sklearn.datasets  # noqa: F401  imported here for all
import torch
import torch_geometric  # noqa: F401

from hypergraph import cli, files
from hypergraph.tasks import api, checkpoint, genome, image, keeper, link_pred, node_clf  # noqa: F401
from hypergraph.viz import training

SILENT = -9


def command(words: list[str], rank: int, processes: int, die_at: int | None) -> None:
    """Run a command in a forked process, and leave it."""
    if processes > 1:
        os.environ |= {"WORLD_SIZE": str(processes), "RANK": str(rank), "LOCAL_RANK": str(rank)}
    save, count = checkpoint.save, [-1]

    def counted(path: Path, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
        count[0] += path.name.startswith("checkpoint")
        if count[0] == die_at:  # while the file is written, so that half of it is left
            files.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[attr-defined]
        save(path, tensors, state)

    checkpoint.save = counted
    sys.argv = ["hypergraph", *words]
    try:
        cli.main()
    except SystemExit as leaving:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(leaving.code or 0))
    os._exit(1)


def start(words: list[str], processes: int, die_at: int | None = None) -> list[int]:
    """Fork the processes of a command; the first leads their group."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    children: list[int] = []
    for rank in range(processes):
        child = os.fork()
        if not child:
            os.setpgid(0, children[0] if children else 0)
            command(words, rank, processes, die_at)
        with contextlib.suppress(ProcessLookupError):
            os.setpgid(child, children[0] if children else child)
        children.append(child)
    return children


def finish(children: list[int]) -> int:
    """The exit code of the first process; when that was killed, so are the others, as under torchrun."""
    code = os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1])
    for child in children[1:]:
        if code < 0:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return code


def contents(folder: Path) -> dict[str, Any]:
    """What must be equal after any kill: weights, history and points as bytes, all numbers but the times."""
    result = json.loads((folder / "result.json").read_text())
    numbers = [{k: v for k, v in seed.items() if k != "seconds"} for seed in result["seeds"]]
    names = ("metrics.jsonl", "model.safetensors", "embedding.npz")
    return {"numbers": numbers, **{name: (folder / name).read_bytes() for name in names}}


def leftovers(folder: Path) -> list[str]:
    """Hidden files, and checkpoints of finished seeds."""
    hidden = [path for path in folder.rglob(".*") if path.name != ".lock"]
    return [str(path) for path in (*hidden, *folder.rglob("checkpoint*"))]


def compare(out: Path, whole: Path) -> None:
    here, there = contents(out), contents(whole)
    for name, value in there.items():
        assert here[name] == value, f"{out}: {name} differs"
    assert not leftovers(out), leftovers(out)


def once(words: list[str], processes: int, out: Path, epoch: int) -> None:
    """Kill a run while it writes the checkpoint of an epoch."""
    whole = out.with_name(f"{out.name}-whole")
    assert finish(start([*words, "--out", str(whole)], processes)) == 0
    assert finish(start([*words, "--out", str(out)], processes, epoch)) == SILENT
    assert finish(start([words[0], "--resume", str(out)], processes)) == 0
    compare(out, whole)


def wait(leader: int, out: Path, moments: random.Random, length: float, side_by_side: bool) -> bool:
    """Until a random moment of the command, or of its training where others import torch first.

    Returns whether the command still runs then.
    """
    began, training = time.time(), side_by_side and moments.random() < 0.8
    end = began + moments.uniform(0, length)
    while training or time.time() < end:
        if os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return False
        if training and any(log.stat().st_mtime > began for log in out.glob("seeds/*/metrics.jsonl")):
            training, end = False, time.time() + moments.uniform(0, 1)
        time.sleep(0.01)
    return True


def many(words: list[str], processes: int, out: Path, wanted: int) -> tuple[int, int]:
    """Kill a command at random moments; returns the kills and the runs that went through them."""
    side_by_side = "--jobs" in words
    whole = out.with_name(f"{out.name}-whole")
    began = time.time()
    assert finish(start([*words, "--out", str(whole)], processes)) == 0
    length = time.time() - began
    moments = random.Random(str(words))
    kills = runs = 0
    while kills < wanted or out.exists():
        begun = (out / "config.toml").exists()
        typed = [words[0], "--resume", str(out)] if begun else [*words, "--out", str(out)]
        children = start(typed, processes)
        if kills < wanted and wait(children[0], out, moments, length, side_by_side):
            # the parent of workers may also die alone: they find out
            send = os.kill if side_by_side and moments.random() < 0.3 else os.killpg
            send(children[0], signal.SIGKILL)
        code = finish(children)
        if code == SILENT:
            kills += 1
            continue
        # it was left alone, or had ended a moment before the signal came
        assert code == 0, f"{typed} after {kills} kills"
        compare(out, whole)
        shutil.rmtree(out)
        runs += 1
    return kills, runs


if __name__ == "__main__":
    keeper.EVERY = 0.0
    training.plot_curves = lambda metrics, out: None
    for how, words, processes, out, number in json.loads(sys.argv[1]):
        if how == "once":
            once(words, processes, Path(out), number)
        else:
            kills, runs = many(words, processes, Path(out), number)
            print(f"killed {words[0]} {kills} times over {runs} runs", file=sys.stderr, flush=True)
    print("all equal", file=sys.stderr)
