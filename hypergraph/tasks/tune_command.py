"""What `hypergraph tune` does: a search from what was typed, and its winner in a preset file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import tomli_w

from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_write_text
from hypergraph.tasks.config import Config, check_names, idle_settings, settle
from hypergraph.tasks.kinds import KINDS, METRICS
from hypergraph.tasks.search_space import Choice, Range, parse, read_value
from hypergraph.tasks.tune import Say, Tuned, tune


def tune_from_words(
    task: str,
    given: Mapping[str, Any],
    method: str | None,
    search: Sequence[str],
    fixed: Sequence[str],
    *,
    folder: Path | None = None,
    trials: int = 50,
    jobs: int = 1,
    backend: str = "local",
    say: Say = lambda text: None,
) -> Tuned:
    """:func:`~hypergraph.tasks.tune.tune` with what was typed.

    Args:
        search: Such as ``lr=1e-3:1e-1:log``; by default the task's own choice.
        fixed: Settings that stay, such as ``epochs=300``.
    """
    if task not in KINDS:
        raise unknown_name("task", task, KINDS)
    for what, number in (("trials", trials), ("jobs", jobs)):
        if number < 1:
            raise InputError(f"{what} must be at least 1, got {number}.")
    cls = KINDS[task].load_config()
    stays: dict[str, Any] = {**given, cls.chosen: method}
    for text in fixed:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise InputError(f"'{text}' sets nothing; write --set epochs=300.")
        check_names(cls, [name])
        stays[name] = read_value(cls, name, value)
    space = parse(cls, search or cls.search)
    both = sorted(space.keys() & {name for name, value in stays.items() if value is not None})
    if both:
        raise InputError(f"{both[0]} is both set and searched; leave out one.")
    config = settle(cls, stays)
    for name, said in _idle(config, space).items():
        if search:
            raise InputError(said)
        del space[name]
    if folder is None:
        folder = Path("runs") / f"tune-{task}-{Path(config.dataset).stem}-{getattr(config, cls.chosen)}"
    return tune(config, space, folder=folder, trials=trials, jobs=jobs, backend=backend, say=say)


def _idle(config: Config, space: Mapping[str, Choice | Range]) -> dict[str, str]:
    """The searched settings that have an effect in no trial, and why."""
    parts = {name: space[name] for name in (config.chosen, "encoder") if name in space}
    choices = [part.values for part in parts.values() if isinstance(part, Choice)]
    trials = [idle_settings(config, space, **dict(zip(parts, values))) for values in product(*choices)]
    return {name: said for name, said in trials[0].items() if all(name in found for found in trials)}


def write_preset(path: Path, tuned: Tuned, command: Sequence[str]) -> str:
    """Write what was found as the table of a preset file, with the command that found it; its name.

    The rest of the file stays as it is, comments included.
    """
    config = tuned.config
    table = f"{Path(config.dataset).stem}.{getattr(config, config.chosen)}"
    lines = [
        f"[{table}]",
        f"# {shlex.join(command)}",
        f"# validation {METRICS[tuned.metric]} {100 * tuned.value:.2f}, mean of {config.seeds} seeds; "
        f"the best of {tuned.trials} trials",
        *tomli_w.dumps(tuned.found).splitlines(),
    ]
    block = "\n".join(lines) + "\n"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    old = re.compile(rf"^\[{re.escape(table)}\]\n(?:(?!\[).*\n?)*", re.MULTILINE)
    if old.search(text):
        after = old.search(text).end() < len(text)  # type: ignore[union-attr]
        text = old.sub(lambda _: block + ("\n" if after else ""), text, count=1)
    else:
        text = text + ("\n" if text else "") + block
    atomic_write_text(path, text)
    return table
