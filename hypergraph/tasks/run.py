"""The run folder: where it is, what it holds, who may write to it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from hypergraph import __version__
from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_path, atomic_write_text
from hypergraph.tasks.config import Config, read_settings, read_toml
from hypergraph.tasks.kinds import KINDS, Kind
from hypergraph.tasks.result import Result

PROBE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Run:
    """A run on disk.

    ``config.toml`` is written first and never again. Each seed works in ``seeds/<seed>/`` and is finished
    when its ``result.json`` is there; the files at the top are made of the finished seeds.
    """

    path: Path
    config: Config
    data_sha256: str

    @property
    def kind(self) -> Kind:
        return KINDS[self.config.task]

    @classmethod
    def create(cls, config: Config, data_sha256: str, out: Path | None = None) -> Run:
        """Make the folder (``out``, or the next free one under ``runs/``), and see that it can be written."""
        try:
            path = _claim(out) if out else _next_free(config)
            _probe(path)
            document = {
                "task": config.task,
                "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                "config": config.to_dict(),
                "data": {"sha256": data_sha256},
                "versions": versions(),
            }
            atomic_write_text(path / "config.toml", tomli_w.dumps(document))
        except OSError as error:
            where = out or Path("runs").absolute()
            raise InputError(
                f"{where}: the run folder cannot be written ({error.strerror}); choose another with --out."
            ) from error
        return cls(path, config, data_sha256)

    @classmethod
    def open(cls, path: Path) -> Run:
        """A run that was made before."""
        if not (path / "config.toml").is_file():
            raise InputError(f"{path}: not a run folder, there is no config.toml in it.")
        document = read_toml(path / "config.toml")
        if document.get("task") not in KINDS:
            raise unknown_name("task", str(document.get("task")), KINDS)
        config = KINDS[document["task"]].load_config()
        try:
            settings = config(**read_settings(config, path / "config.toml"))
            return cls(path, settings, document["data"]["sha256"])
        except (TypeError, KeyError) as error:
            raise InputError(f"{path / 'config.toml'}: not written by hypergraph ({error}).") from error

    def check_data(self, sha256: str) -> None:
        """Refuse data other than the run's."""
        if sha256 != self.data_sha256:
            raise InputError(
                f"{self.path}: the dataset {self.config.dataset} is not the one this run was made with "
                f"(hash {sha256[:12]}, was {self.data_sha256[:12]}); restore it, or start a new run."
            )

    def check_given(self, given: dict[str, Any]) -> None:
        """Refuse settings other than the run's."""
        for name, value in given.items():
            here = getattr(self.config, name, None)
            if value is not None and value != here:
                raise InputError(
                    f"{self.path}: this run has {name} = {here}, not {value}; a run is resumed with its own "
                    "settings, so leave that out or start a new run."
                )

    def seed_folder(self, seed: int) -> Path:
        return self.path / "seeds" / str(seed)

    def seed_result(self, seed: int) -> dict[str, Any] | None:
        """What a finished seed found; ``None`` of an unfinished one."""
        try:
            result: dict[str, Any] = json.loads((self.seed_folder(seed) / "result.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return result

    def pending(self) -> list[int]:
        """The seeds that are not finished."""
        return [seed for seed in self.config.all_seeds if self.seed_result(seed) is None]

    @contextmanager
    def lock(self, patience: float = 10.0) -> Iterator[int | None]:
        """Keep other processes out of the folder; yields the lock's descriptor, for workers to hold too.

        Whoever dies lets go. A worker outlives a killed parent by a moment, hence the patience.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            yield None
            return
        descriptor = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR, 0o666)
        try:
            end = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise InputError(
                            f"{self.path}: another process is working on this run; wait for it."
                        ) from None
                    time.sleep(0.1)
            yield descriptor
        finally:
            os.close(descriptor)

    def finish(self, seconds: float) -> Result:
        """Make the files at the top of the finished seeds', ``result.json`` last."""
        seeds = [found for seed in self.config.all_seeds if (found := self.seed_result(seed))]
        about = {key: seeds[0].pop(key) for key in ("about", "parameters")}
        for seed in seeds[1:]:
            del seed["about"], seed["parameters"]
        metric = self.kind.metric
        best = max(seeds, key=lambda seed: seed["val"][metric])["seed"]
        lines = [
            json.dumps({"seed": seed, **json.loads(line)}) + "\n"
            for seed in self.config.all_seeds
            for line in (self.seed_folder(seed) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        atomic_write_text(self.path / "metrics.jsonl", "".join(lines))
        for name in ("model.safetensors", "embedding.npz"):
            with atomic_path(self.path / name) as part:
                shutil.copyfile(self.seed_folder(best) / name, part)
        from hypergraph.viz.training import plot_curves

        plot_curves(self.path / "metrics.jsonl", self.path / "curves.png")
        result = Result(
            task=self.config.task,
            metric=metric,
            about=about["about"],
            config=self.config.to_dict(),
            data_sha256=self.data_sha256,
            parameters=about["parameters"],
            seeds=seeds,
            model_seed=best,
            versions=versions(),
            seconds=round(seconds, 3),
            folder=self.path,
        )
        atomic_write_text(self.path / "result.json", json.dumps(result.to_dict(), indent=2) + "\n")
        return result


def versions() -> dict[str, str]:
    """Of everything that the numbers may depend on."""
    names = ("torch", "torch-geometric", "numpy", "scipy")
    return {
        "hypergraph": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in names},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _next_free(config: Config) -> Path:
    dataset = re.sub(r"[^\w.-]+", "-", Path(config.dataset).stem)
    stem = f"{config.task}-{dataset}-{getattr(config, config.chosen)}"
    number = 1
    while True:
        path = Path("runs") / f"{stem}-{number}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not Path("runs").is_dir():
                raise
            number += 1
        else:
            return path


def _claim(path: Path) -> Path:
    if path.is_dir() and any(path.iterdir()):
        raise InputError(
            f"{path}: the folder is not empty; name a new one with --out, or continue its run with --resume."
        )
    path.mkdir(parents=True, exist_ok=True)
    return path


def _probe(path: Path) -> None:
    """Write and remove a file, so that a full disk says so before training and not after."""
    with tempfile.TemporaryFile(dir=path) as file:
        file.write(bytes(PROBE_BYTES))
        file.flush()
        os.fsync(file.fileno())
