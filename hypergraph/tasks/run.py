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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from hypergraph import __version__
from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_path, atomic_write_text, is_part, reading, sha256, sweep
from hypergraph.option import fit
from hypergraph.tasks import lock
from hypergraph.tasks.config import Config, check_names, read_settings, read_toml
from hypergraph.tasks.distributed import processes
from hypergraph.tasks.kinds import KINDS, Kind
from hypergraph.tasks.result import Result
from hypergraph.tasks.sealed import check_seal, read_json, read_text, seal

PROBE_BYTES = 16 * 2**20


# What a seed leaves beside its ``result.json``.
SEED_FILES = ("metrics.jsonl", "model.safetensors", "embedding.npz")
CHECKPOINT = "checkpoint.safetensors"  # of a seed that is not finished
CURVE = 10  # epochs: a picture of fewer takes longer to draw than they take to train


@dataclass(frozen=True)
class Run:
    """A run on disk.

    ``config.toml`` is written first and never again. Each seed works in ``seeds/<seed>/`` and is finished
    when its ``result.json`` is there; the files at the top are made of the finished seeds. Either
    ``result.json`` has the SHA-256 of the files beside it, and the one at the top those of the seeds'.
    """

    path: Path
    config: Config
    data_sha256: str
    lock: int | None = None  # the descriptor, while the folder is held
    processes: int | None = None  # that share its batches; unknown of runs of earlier versions
    source: str | None = None  # the folder of raw files, where that is elsewhere than the configuration says

    @property
    def kind(self) -> Kind:
        return KINDS[self.config.task]

    @property
    def loading(self) -> Config:
        """The configuration to load the data with."""
        return self.config if self.source is None else replace(self.config, data=self.source)

    @classmethod
    @contextmanager
    def create(cls, config: Config, data_sha256: str, out: Path | None = None) -> Iterator[Run]:
        """Make the folder (``out``, or the next free one under ``runs/``), and hold it.

        Of several that want the same folder one gets it, and the others are told so.
        """
        with ExitStack() as held:
            try:
                path = _make(out) if out else _next_free(config)
                descriptor = held.enter_context(lock.hold(path, patience=0))
                _check_empty(path)
                sweep(path)
                _probe(path)
                document = {
                    "task": config.task,
                    "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                    "config": config.to_dict(),
                    "processes": processes(),
                    "data": {"sha256": data_sha256},
                    "versions": versions(),
                }
                atomic_write_text(path / "config.toml", tomli_w.dumps(seal(document)))
            except OSError as error:
                raise _unwritable(out or Path("runs").absolute(), error) from error
            yield cls(path, config, data_sha256, descriptor, processes())

    @classmethod
    def open(cls, path: Path, data: str | None = None) -> Run:
        """A run that was made before; ``data`` is the folder of raw files, where that is elsewhere now."""
        file = path / "config.toml"
        if not file.is_file():
            raise InputError(f"{path}: not a run folder, there is no config.toml in it.")
        remedy = "restore it from a copy, or start a new run"
        with reading(file, "written by hypergraph", remedy):
            document = check_seal(read_toml(file), file, remedy)
            if document.get("task") not in KINDS:
                raise InputError(f"{file}: {unknown_name('task', str(document.get('task')), KINDS)}")
            config = KINDS[document["task"]].load_config()
            settings = config(**fit(config, read_settings(config, file)))
            known = fit(cls, {"processes": document["processes"]} if "processes" in document else {})
            return cls(path, settings, str(document["data"]["sha256"]), source=data, **known)

    @contextmanager
    def hold(self, patience: float = 10.0) -> Iterator[Run]:
        """The run, to be written by nobody else; what killed processes left half-written is removed."""
        _check_links(self.path)
        with ExitStack() as held:
            try:
                descriptor = held.enter_context(lock.hold(self.path, patience))
            except OSError as error:
                raise _unwritable(self.path, error) from error
            for folder in (self.path, *self.path.glob("seeds/*")):
                sweep(folder)
            yield replace(self, lock=descriptor)

    def check_data(self, sha256: str) -> None:
        """Refuse data other than the run's."""
        if sha256 != self.data_sha256:
            raise InputError(
                f"{self.path}: the dataset {self.config.dataset} is not the one this run was made with "
                f"(hash {sha256[:12]}, was {self.data_sha256[:12]}); restore it, or start a new run."
            )

    def check_given(self, given: dict[str, Any]) -> None:
        """Refuse settings other than the run's."""
        check_names(type(self.config), given)
        for name, value in given.items():
            here = getattr(self.config, name)
            if value is not None and value != here:
                raise InputError(
                    f"{self.path}: this run has {name} = {here}, not {value}; a run is resumed with its own "
                    "settings, so leave that out or start a new run."
                )

    def seed_folder(self, seed: int) -> Path:
        return self.path / "seeds" / str(seed)

    def owner(self, seed: int) -> dict[str, Any]:
        """What the numbers of a seed depend on; kept with all that is written of it."""
        settings = {"task": self.config.task, **self.config.to_dict()}
        # Neither of these two changes the results of a seed.
        del settings["seeds"]
        settings.pop("data", None)
        return settings | {"seed": seed, "data_sha256": self.data_sha256}

    def check_owner(self, seed: int, found: Any, source: Path) -> None:
        """Refuse what was written of a seed with other settings or other data."""
        if not isinstance(found, dict):
            raise InputError(f"{source}: does not say with which settings it was made; {self.remedy(seed)}.")
        for name, here, there in self.differences(self.owner(seed), found):
            raise InputError(
                f"{source}: of a run with {name} = {there}, this run has {name} = {here}; "
                f"{self.remedy(seed)}."
            )

    def differences(self, ours: dict[str, Any], found: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        """Settings that differ from those that were written: the name, our value, theirs."""
        # A setting that did not exist when it was written had the value that is now the default.
        defaults = {entry.name: entry.default for entry in fields(self.config)}
        for name in sorted((ours.keys() | found.keys()) - {*self.config.retired}):
            here, there = ours.get(name), found.get(name, defaults.get(name))
            if here != there:
                yield name, here, there

    def remedy(self, seed: int) -> str:
        """What to do where files of a seed cannot be used."""
        return f"delete the folder {self.seed_folder(seed)} to train this seed again"

    def seed_result(self, seed: int) -> dict[str, Any] | None:
        """What a finished seed found; ``None`` of an unfinished one."""
        path = self.seed_folder(seed) / "result.json"
        if not path.exists():
            return None
        found = read_json(path, self.remedy(seed))
        self.check_owner(seed, found.pop("owner", None), path)
        return found

    def pending(self) -> list[int]:
        """The seeds that are not finished."""
        return [seed for seed in self.config.all_seeds if self.seed_result(seed) is None]

    def write_seed(self, seed: int, found: dict[str, Any]) -> None:
        """Write what a seed found, last of its files: then it is finished."""
        folder = self.seed_folder(seed)
        files = {name: sha256(folder / name) for name in SEED_FILES}
        whole = seal({**found, "owner": self.owner(seed), "files": files})
        atomic_write_text(folder / "result.json", json.dumps(whole, indent=2) + "\n")

    def damaged(self, seed: int | None = None, *names: str) -> list[str]:
        """A sentence for each file, at the top or of a finished seed, that is not as it was written.

        Args:
            seed: Whose files; by default those at the top.
            names: Which files; by default all.
        """
        if seed is None:
            folder, known = self.path, Result.read(self.path).files
            remedy = f"'hypergraph {self.config.task} --resume {self.path}' makes it anew from the seeds"
        else:
            folder, known = self.seed_folder(seed), (self.seed_result(seed) or {}).get("files", {})
            remedy = self.remedy(seed)
        with reading(folder / "result.json", "written by hypergraph", remedy):
            wanted = {name: known[name] for name in names or known if name in known}
            return [
                f"{folder / name}: missing or damaged (its SHA-256 is not the one in result.json); {remedy}."
                for name, digest in wanted.items()
                if not (folder / name).is_file() or sha256(folder / name) != digest
            ]

    def whole(self, name: str, seed: int | None = None) -> Path:
        """A file of the run, or of a finished seed, once it has been compared with its SHA-256."""
        for said in self.damaged(seed, name):
            raise InputError(said)
        return (self.path if seed is None else self.seed_folder(seed)) / name

    def finish(self, seconds: float) -> Result:
        """Make the files at the top of the finished seeds', ``result.json`` last."""
        for seed in self.config.all_seeds:
            for said in self.damaged(seed):
                raise InputError(said)
        found = {seed: self.seed_result(seed) or {} for seed in self.config.all_seeds}
        with reading(self.path / "seeds", "written by hypergraph", "start a new run"):
            result = self._summary(list(found.values()), seconds)
            lines = [
                json.dumps({"seed": seed, **json.loads(line)}) + "\n"
                for seed in found
                for line in read_text(self.seed_folder(seed) / "metrics.jsonl").splitlines()
            ]
        for seed in found:  # a kill may have left the checkpoint of a seed that is finished
            (self.seed_folder(seed) / CHECKPOINT).unlink(missing_ok=True)
        atomic_write_text(self.path / "metrics.jsonl", "".join(lines))
        for name in ("model.safetensors", "embedding.npz"):
            with atomic_path(self.path / name) as part:
                shutil.copyfile(self.seed_folder(result.model_seed) / name, part)
        if len(lines) >= CURVE * len(found):
            from hypergraph.viz.training import plot_curves

            plot_curves(self.path / "metrics.jsonl", self.path / "curves.png")
        made = (*SEED_FILES, "curves.png", *(f"seeds/{seed}/result.json" for seed in found))
        result.files = {name: sha256(self.path / name) for name in made if (self.path / name).exists()}
        text = json.dumps(seal(result.to_dict()), indent=2) + "\n"
        atomic_write_text(self.path / "result.json", text)
        return result

    def _summary(self, found: list[dict[str, Any]], seconds: float) -> Result:
        metric, apart = self.kind.metric, ("about", "parameters", "files")
        seeds = [{name: value for name, value in seed.items() if name not in apart} for seed in found]
        return Result(
            task=self.config.task,
            metric=metric,
            about=found[0]["about"],
            config=self.config.to_dict(),
            data_sha256=self.data_sha256,
            parameters=found[0]["parameters"],
            seeds=seeds,
            model_seed=max(seeds, key=lambda seed: seed["val"][metric])["seed"],
            versions=versions(),
            seconds=round(seconds, 3),
            folder=self.path,
        )


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


def _make(path: Path) -> Path:
    check_free(path)  # before anything is written into a folder of somebody else
    path.mkdir(parents=True, exist_ok=True)
    return path


def check_free(path: Path) -> None:
    """Refuse a folder for a new run in which there is something."""
    if path.is_dir():
        _check_empty(path)


def _check_empty(path: Path) -> None:
    # A run that is killed while it makes its folder leaves the lock and parts of files.
    if any(entry.name != lock.NAME and not is_part(entry) for entry in path.iterdir()):
        raise InputError(
            f"{path}: the folder is not empty; name a new one with --out, or continue its run with --resume."
        )


# The folders that a run writes into, those of logs included.
_FOLDERS = ("seeds", "tensorboard", "wandb")


def _check_links(path: Path) -> None:
    """Refuse links in the folders of a run: one from elsewhere must not say where we write."""
    folders = [path / name for name in _FOLDERS]
    for entry in (*folders, *(inside for folder in folders for inside in folder.rglob("*"))):
        if entry.is_symlink():
            raise InputError(
                f"{entry}: a symbolic link, and a run writes into its own folder alone; delete the link, "
                "or put there what it points to."
            )


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path}: the run folder cannot be written ({error.strerror}); choose another with --out."
    )


def _probe(path: Path) -> None:
    """Write and remove a file, so that a full disk says so before training and not after."""
    with tempfile.TemporaryFile(dir=path) as file:
        file.write(bytes(PROBE_BYTES))
        file.flush()
        os.fsync(file.fileno())
