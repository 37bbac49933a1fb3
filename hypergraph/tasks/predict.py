"""Predictions of a run's model, as a table."""

from __future__ import annotations

import csv
from pathlib import Path

from hypergraph.errors import InputError
from hypergraph.files import atomic_path, reading
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.run import Run


def predict(path: Path, out: Path, seed: int | None = None) -> int:
    """Load the model of a run and write its predictions to a CSV file.

    Args:
        path: The run folder.
        out: The CSV file.
        seed: Whose model; by default the one at the top of the folder, best on validation.

    Returns:
        The number of rows.
    """
    from hypergraph.tasks import checkpoint

    run = Run.open(path)
    if seed is not None and seed not in run.config.all_seeds:
        raise InputError(f"{path}: no seed {seed}; it has {', '.join(map(str, run.config.all_seeds))}.")
    source = (path if seed is None else run.seed_folder(seed)) / "model.safetensors"
    if not source.exists():
        raise InputError(
            f"{source}: no model yet; the run is unfinished. "
            f"Continue it with: hypergraph {run.config.task} --resume {path}"
        )
    run.whole("model.safetensors", seed)
    config, again = run.config, f"'hypergraph {run.config.task} --resume {path}' says more"
    tensors, state = checkpoint.load(source, again)
    with reading(source, "a model written by hypergraph", again):
        run.check_owner(state["owner"]["seed"] if seed is None else seed, state["owner"], source)
    cls = KINDS[config.task].load_task()
    data = cls.load(config)
    run.check_data(cls.fingerprint(data))
    from hypergraph.tasks.runner import alone

    with alone(config, config.seed):
        task = cls(config, config.seed, data)
        checkpoint.load_model(task.model, tensors, source)
        columns = task.predictions()
    try:
        with atomic_path(out) as part, part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*(column.tolist() for column in columns.values())))
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}).") from error
    return len(next(iter(columns.values())))
