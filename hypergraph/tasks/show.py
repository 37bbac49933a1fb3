"""What is in a run folder, finished or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypergraph.tasks.result import Result
from hypergraph.tasks.run import Run

FILES = ("config.toml", "metrics.jsonl", "result.json", "model.safetensors", "embedding.npz", "curves.png")


def describe(path: Path) -> dict[str, Any]:
    """The run as plain values: its result, or how far it is."""
    run = Run.open(path)
    if (path / "result.json").exists():
        return {"folder": str(path), "finished": True, **Result.read(path).to_dict()}
    return {
        "folder": str(path),
        "finished": False,
        "task": run.config.task,
        "config": run.config.to_dict(),
        "seeds": {str(seed): _last_epoch(run, seed) for seed in run.config.all_seeds},
    }


def _last_epoch(run: Run, seed: int) -> dict[str, Any]:
    """The last metrics that an unfinished seed wrote."""
    if result := run.seed_result(seed):
        return {"finished": True, "epochs": result["epochs"]}
    try:
        lines = (run.seed_folder(seed) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return {"finished": False, "last": json.loads(lines[-1])}
    except (OSError, IndexError, ValueError):
        return {"finished": False}


def show(path: Path) -> None:
    """Print a run on standard output."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    run = Run.open(path)
    config = run.config
    if not (path / "result.json").exists():
        left = run.pending()
        console.print(f"{path}: {config.task}, {config.seeds - len(left)} of {config.seeds} seeds finished.")
        console.print(f"Continue with: hypergraph {config.task} --resume {path}")
        return
    result = Result.read(path)
    console.print(result.table())
    console.print(f"split {result.about['split']}, {result.parameters} parameters, " + result.headline())
    if result.about.get("leaks"):
        console.print(f"Note: {result.about['leaks']}")
    console.print("settings: " + ", ".join(f"{name} = {value}" for name, value in result.config.items()))
    console.print("versions: " + ", ".join(f"{name} {value}" for name, value in result.versions.items()))
    console.print(
        "last epoch: " + ", ".join(f"{k} {v:.4g}" for k, v in _telemetry(path, result.model_seed).items())
    )
    console.print("files: " + ", ".join(name for name in FILES if (path / name).exists()))


def _telemetry(path: Path, seed: int) -> dict[str, float]:
    lines = (path / "seeds" / str(seed) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    return {name: last[name] for name in ("boundary_share", "max_radius", "K") if last.get(name) is not None}
