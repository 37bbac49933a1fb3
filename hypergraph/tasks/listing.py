"""The runs below a folder, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypergraph.errors import InputError
from hypergraph.tasks.kinds import METRICS
from hypergraph.tasks.result import Result, spread
from hypergraph.tasks.run import Run


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """A row for each run below ``folder``, the newest last; one that cannot be read says why."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; runs are made by node-clf, link-pred, image and genome.")
    found = [path.parent for path in folder.glob("**/config.toml") if "seeds" not in path.parts[:-2]]
    return [_row(path) for path in sorted(found, key=lambda path: path.stat().st_mtime)]


def _row(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(("run", "task", "dataset", "method", "seeds", "result"), "")
    row["run"] = str(path)
    try:
        run = Run.open(path)
        config = run.config
        row |= {"task": config.task, "dataset": Path(config.dataset).name}
        row["method"] = getattr(config, config.chosen)
        done = sum((run.seed_folder(seed) / "result.json").exists() for seed in config.all_seeds)
        row["seeds"] = str(done) if done == config.seeds else f"{done} of {config.seeds}"
        if (path / "result.json").exists():
            result = Result.read(path)
            row["result"] = f"{METRICS[result.metric]} {spread(result.mean, result.std)}"
        else:
            row["result"] = "unfinished"
    except InputError as error:
        row["result"] = str(error)
    return row
