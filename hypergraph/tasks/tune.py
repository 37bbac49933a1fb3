"""A search over a task's settings by validation scores alone, with Optuna; test scores are not computed."""

from __future__ import annotations

import functools
import itertools
import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from hypergraph.errors import InputError
from hypergraph.files import atomic_write_text, is_part, reading, sweep
from hypergraph.progress import progress
from hypergraph.tasks import lock
from hypergraph.tasks.config import Config, read_toml, renamed
from hypergraph.tasks.executors import check_backend, executor
from hypergraph.tasks.keeper import Forgetful
from hypergraph.tasks.kinds import KINDS, METRICS
from hypergraph.tasks.search_space import Choice, Range, describe

if TYPE_CHECKING:
    from optuna import Study, Trial

Say = Callable[[str], None]


@dataclass(frozen=True)
class Tuned:
    """What a search found: the settings with the best mean validation score, over all seeds of a trial."""

    folder: Path
    config: Config
    found: dict[str, Any]
    metric: str
    value: float
    trials: int
    pruned: int

    def to_dict(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return asdict(self) | {"folder": str(self.folder), "config": self.config.to_dict()}

    def headline(self) -> str:
        """What was found, in a line."""
        settings = ", ".join(f"{name} = {value}" for name, value in self.found.items())
        return (
            f"validation {METRICS[self.metric]} {100 * self.value:.2f} (mean of {self.config.seeds} seeds; "
            f"{self.trials} trials, {self.pruned} of them pruned): {settings}"
        )


def tune(
    config: Config,
    space: Mapping[str, Choice | Range],
    *,
    folder: Path,
    trials: int = 50,
    jobs: int = 1,
    backend: str = "local",
    say: Say = lambda text: None,
) -> Tuned:
    """Search, or go on with the search in ``folder``, until it has ``trials`` finished trials.

    Args:
        config: The settings that stay, among them how many seeds a trial has.
        space: What is chosen from, by setting.
        folder: Where the study is kept (``study.db``, ``config.toml``, ``best.toml``, ``trials.png``).
        trials: How many trials there are to be, those of earlier calls included.
        jobs: How many trials run side by side.
        backend: ``"local"``, or ``"ray"`` for a Ray cluster.
        say: Told in words what is being done.
    """
    optuna = _optuna()
    check_backend(backend)
    if config.task == "image":
        raise InputError(
            "Image datasets have no validation part (what publications call so is the test set), so a search "
            "would see test scores; tune another task."
        )
    if not space:
        raise InputError("Nothing to search; name a setting, such as --search lr=1e-3:1e-1:log.")
    task = KINDS[config.task].load_task()
    data = task.fingerprint(task.load(config))  # mistakes are found here, before a folder is made
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(lock.hold(folder, patience=0))
            study = _open(optuna, folder, config, space, data)
        except OSError as error:
            raise InputError(
                f"{folder}: the study cannot be written ({error.strerror}); use --out."
            ) from error
        say(f"Study: {folder}")
        return _search(study, config, space, folder, trials, jobs, backend)


def _search(
    study: Study,
    config: Config,
    space: Mapping[str, Choice | Range],
    folder: Path,
    trials: int,
    jobs: int,
    backend: str,
) -> Tuned:
    """Run the trials that are left of a study that is held, and write what was found."""
    _enqueue_all(study, space, trials)
    with progress("tune", trials) as bar:
        search = _Search(study, config, space, trials, bar)
        try:
            with _workers(jobs, backend, config.threads) as submit:
                search.run(submit, jobs)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{search.done} of {trials} trials are finished and kept; the same command goes on."
            ) from None
    found = summary(study, config, space, folder)
    atomic_write_text(folder / "best.toml", tomli_w.dumps(found.config.to_dict()))
    from hypergraph.viz.trials import plot_trials

    plot_trials(_ended(study), folder / "trials.png", METRICS[found.metric])
    return found


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("Tuning needs Optuna; install it with: pip install 'hypergraph[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _open(optuna: Any, folder: Path, config: Config, space: Mapping[str, Choice | Range], data: str) -> Study:
    """The study of a folder; a new one where there is none, the same one where it was interrupted."""
    from sqlalchemy.pool import NullPool

    document = {"task": config.task, "search": describe(space), "config": config.to_dict()}
    path = folder / "config.toml"
    if not path.exists():
        if any(entry.name != lock.NAME and not is_part(entry) for entry in folder.iterdir()):
            raise InputError(f"{folder}: not empty, and not a study; choose another folder with --out.")
        sweep(folder)
        atomic_write_text(path, tomli_w.dumps({**document, "data": {"sha256": data}}))
    known = read_toml(path)
    if isinstance(known.get("config"), dict):
        known["config"] = renamed(known["config"], type(config))
    if known.pop("data", {"sha256": data}) != {"sha256": data}:  # earlier versions did not keep it
        raise InputError(
            f"{folder}: the dataset {config.dataset} is not the one this study was made with; restore it, or "
            "choose another folder with --out."
        )
    if known != json.loads(json.dumps(document)):
        raise InputError(
            f"{folder}: a study with other settings or another search; choose another folder with --out."
        )
    # SQLite would take a broken link for a file to be made where it points.
    for name in ("study.db", "study.db-journal"):
        if (folder / name).is_symlink():
            raise InputError(
                f"{folder / name}: a symbolic link, and a study writes into its own folder alone."
            )
    with reading(
        folder / "study.db", "a study", "restore it from a copy, or choose another folder with --out"
    ):
        # Without a pool: a connection that is kept is never closed, and holds the file.
        storage = optuna.storages.RDBStorage(
            f"sqlite:///{folder / 'study.db'}", engine_kwargs={"poolclass": NullPool}
        )
        study = optuna.create_study(
            study_name="tune",
            storage=storage,
            load_if_exists=True,
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
        )
        for trial in study.get_trials(deepcopy=False):
            _check_trial(trial, space)
    # Another seed after each call: the same one would suggest again what it suggested first.
    study.sampler = optuna.samplers.TPESampler(
        seed=len(study.get_trials(deepcopy=False)), multivariate=True, constant_liar=True
    )
    # Trials that were running when the last call ended are tried again.
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(trial.params)
    return study


def _check_trial(trial: Any, space: Mapping[str, Choice | Range]) -> None:
    """Raise where a trial is not what we write: its score and its settings are in the study twice."""
    from optuna.trial import FixedTrial, TrialState

    known = trial.user_attrs
    if "scores" in known and trial.intermediate_values.get(len(known["scores"])) != statistics.fmean(
        known["scores"]
    ):
        raise ValueError(f"the score of trial {trial.number} is not the mean over its seeds")
    if trial.state == TrialState.COMPLETE and trial.value != statistics.fmean(known["scores"]):
        raise ValueError(f"the score of trial {trial.number} is not the mean over its seeds")
    if "settings" in known:
        fixed = FixedTrial(trial.params, trial.number)
        if known["settings"] != {name: part.suggest(fixed, name) for name, part in space.items()}:
            raise ValueError(f"the settings of trial {trial.number} are not those that were suggested")


def _enqueue_all(study: Study, space: Mapping[str, Choice | Range], trials: int) -> None:
    """Try all that may be chosen once each, where there are trials enough; a sampler would repeat some."""
    choices = {name: part.values for name, part in space.items() if isinstance(part, Choice)}
    if len(choices) < len(space) or math.prod(map(len, choices.values())) > trials:
        return
    for values in itertools.product(*choices.values()):
        study.enqueue_trial(dict(zip(choices, values)), skip_if_exists=True)


class _Search:
    """Asks the study for trials, runs their seeds one after the other, and prunes between seeds."""

    def __init__(
        self, study: Study, config: Config, space: Mapping[str, Choice | Range], trials: int, bar: Any
    ) -> None:
        from optuna.trial import TrialState

        self.study, self.config, self.space, self.bar = study, config, space, bar
        ended = (TrialState.COMPLETE, TrialState.PRUNED)
        self.done = len(study.get_trials(deepcopy=False, states=ended))
        self.left = max(0, trials - self.done)
        self.running: dict[Future[float], tuple[Trial, Config, list[float]]] = {}

    def run(self, submit: Callable[..., Future[float]], jobs: int) -> None:
        self._show()
        while self.left or self.running:
            while self.left and len(self.running) < jobs:
                self.left -= 1
                trial = self.study.ask()
                settings = {name: part.suggest(trial, name) for name, part in self.space.items()}
                trial.set_user_attr("settings", settings)
                try:
                    config = replace(self.config, **settings)
                except InputError as error:  # settings that do not go together
                    self._failed(trial, error)
                else:
                    self._next_seed(submit, trial, config, [])
            if not self.running:
                continue
            for future in wait(self.running, return_when=FIRST_COMPLETED).done:
                self._took(submit, future)

    def _next_seed(
        self, submit: Callable[..., Future[float]], trial: Trial, config: Config, scores: list[float]
    ) -> None:
        seed = config.all_seeds[len(scores)]
        self.running[submit(validate, config, seed)] = (trial, config, scores)

    def _took(self, submit: Callable[..., Future[float]], future: Future[float]) -> None:
        from optuna.trial import TrialState

        trial, config, scores = self.running.pop(future)
        try:
            scores = [*scores, future.result()]
        except InputError as error:
            # numbers that are not finite: these settings do not train
            self._failed(trial, error)
            return
        trial.set_user_attr("scores", scores)
        trial.report(statistics.fmean(scores), len(scores))
        if len(scores) < config.seeds and not trial.should_prune():
            self._next_seed(submit, trial, config, scores)
            return
        pruned = len(scores) < config.seeds
        if pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        else:
            self.study.tell(trial, statistics.fmean(scores))
        self.done += 1
        self._show()

    def _failed(self, trial: Trial, error: InputError) -> None:
        from optuna.trial import TrialState

        trial.set_user_attr("error", str(error))
        self.study.tell(trial, state=TrialState.FAIL)
        self.done += 1

    def _show(self) -> None:
        best = _best(self.study)
        self.bar(self.done, f"best {100 * best.value:.2f} of trial {best.number}" if best else "")


def _ended(study: Study) -> list[dict[str, Any]]:
    """The trials that have scores: ``number``, ``pruned``, ``scores``, ``settings``."""
    from optuna.trial import TrialState

    return [
        {"number": trial.number, "pruned": trial.state == TrialState.PRUNED, **trial.user_attrs}
        for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
    ]


def _best(study: Study) -> Any:
    from optuna.trial import TrialState

    ended = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return max(ended, key=lambda trial: trial.value or 0.0, default=None)


def validate(config: Config, seed: int) -> float:
    """The validation score of one seed, of the weights that its schedule keeps. Nothing is tested."""
    from hypergraph.tasks import loop
    from hypergraph.tasks.runner import alone

    kind = KINDS[config.task]
    data = _data(config)
    with alone(config, seed):
        task = kind.load_task()(config, seed, data)
        _, metrics = loop.train(task, task.schedule, Forgetful(Path(), {}))
    return metrics[f"val_{kind.metric}"]


@functools.lru_cache(maxsize=2)
def _data(config: Config) -> Any:
    """The data of a trial: loaded once for its seeds."""
    return KINDS[config.task].load_task().load(config)


@contextmanager
def _workers(jobs: int, backend: str, threads: int) -> Iterator[Callable[..., Future[float]]]:
    """How a seed is started: in this process, or in one of ``jobs`` others."""
    if jobs == 1 and backend == "local":
        yield _at_once
        return
    with executor(backend, jobs, threads=threads) as running:
        yield running.submit


def _at_once(function: Callable[..., float], *args: Any) -> Future[float]:
    future: Future[float] = Future()
    try:
        future.set_result(function(*args))
    except InputError as error:
        future.set_exception(error)
    return future


def summary(study: Study, config: Config, space: Mapping[str, Choice | Range], folder: Path) -> Tuned:
    """The best trial of a study."""
    from optuna.trial import TrialState

    best = _best(study)
    if best is None:
        errors = [trial.user_attrs.get("error", "") for trial in study.get_trials(deepcopy=False)]
        raise InputError(f"{folder}: no trial was finished. {' '.join(filter(None, errors[-1:]))}")
    found = {name: best.user_attrs["settings"][name] for name in space}
    states = [trial.state for trial in study.get_trials(deepcopy=False)]
    return Tuned(
        folder,
        replace(config, **found),
        found,
        KINDS[config.task].metric,
        best.value,
        states.count(TrialState.COMPLETE) + states.count(TrialState.PRUNED),
        states.count(TrialState.PRUNED),
    )
