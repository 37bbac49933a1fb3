"""What is in a run folder, finished or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError
from hypergraph.files import reading
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import CHECKPOINT, Run
from hypergraph.tasks.sealed import read_text

FILES = ("config.toml", "metrics.jsonl", "result.json", "model.safetensors", "embedding.npz", "curves.png")


def describe(path: Path) -> dict[str, Any]:
    """The run as plain values: its result, or how far it is; and which files are damaged."""
    run = Run.open(path)
    if (path / "result.json").exists():
        result = Result.read(path).to_dict()
        return {"folder": str(path), "finished": True, **result, "damaged": damaged(run)}
    return {
        "folder": str(path),
        "finished": False,
        "task": run.config.task,
        "config": run.config.to_dict(),
        "seeds": {str(seed): _last_epoch(run, seed) for seed in run.config.all_seeds},
        "damaged": damaged(run),
    }


def damaged(run: Run) -> list[str]:
    """A sentence for every file of a run that is not as it was written."""
    finished = (run.path / "result.json").exists()
    said = run.damaged() if finished else []
    for seed in run.config.all_seeds:
        try:
            if run.seed_result(seed):
                said += run.damaged(seed)
            else:
                _history(run, seed)
        except InputError as error:
            said.append(str(error))
    return said


def _last_epoch(run: Run, seed: int) -> dict[str, Any]:
    """How far a seed is; of an unfinished one the metrics of its last checkpoint."""
    try:
        if result := run.seed_result(seed):
            return {"finished": True, "epochs": result.get("epochs")}
        return {"finished": False, "last": json.loads(_history(run, seed)[-1])}
    except (IndexError, ValueError):  # none yet, or a damaged file, of which more is said
        return {"finished": False}


def _history(run: Run, seed: int) -> list[bytes]:
    """The lines of metrics that an unfinished seed has up to its checkpoint."""
    folder, remedy = run.seed_folder(seed), run.remedy(seed)
    path = folder / CHECKPOINT
    if not path.exists():
        return []
    from hypergraph.tasks import checkpoint
    from hypergraph.tasks.keeper import metrics_before

    try:
        with reading(path, "a checkpoint written by hypergraph", remedy):
            return metrics_before(folder, checkpoint.load(path, remedy)[1], remedy).splitlines()
    except InputError:
        if not path.exists():  # the seed was finished a moment ago
            return []
        raise


def show(path: Path) -> list[str]:
    """Print a run on standard output; returns a sentence for each damaged file."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    run = Run.open(path)
    config = run.config
    if not (path / "result.json").exists():
        finished = sum((run.seed_folder(seed) / "result.json").exists() for seed in config.all_seeds)
        console.print(f"{path}: {config.task}, {finished} of {config.seeds} seeds finished.")
        console.print(f"Continue with: hypergraph {config.task} --resume {path}")
        return damaged(run)
    result = Result.read(path)
    console.print(result.table())
    console.print(f"split {result.about['split']}, {result.parameters} parameters, " + result.headline())
    confused = result.confusion_table()
    if confused is not None:
        console.print(confused)
    if result.about.get("leaks"):
        console.print(f"Note: {result.about['leaks']}")
    console.print("settings: " + ", ".join(f"{name} = {value}" for name, value in result.config.items()))
    console.print("versions: " + ", ".join(f"{name} {value}" for name, value in result.versions.items()))
    said = damaged(run)
    if not said:
        console.print(f"last epoch: {_telemetry(run, result.model_seed)}")
    console.print("files: " + ", ".join(name for name in FILES if (path / name).exists()))
    return said


def _telemetry(run: Run, seed: int) -> str:
    path = run.seed_folder(seed) / "metrics.jsonl"
    with reading(path, "metrics written by hypergraph"):
        last = json.loads(read_text(path).splitlines()[-1])
        names = [name for name in ("boundary_share", "max_radius", "K") if last.get(name) is not None]
        return ", ".join(f"{name} {last[name]:.4g}" for name in names)
