"""What the task commands do: settings from what was typed, then the run, then its table or its JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError
from hypergraph.progress import be_quiet
from hypergraph.tasks import api, distributed
from hypergraph.tasks.config import idle_settings, settle
from hypergraph.tasks.follow import log_to
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import check_free

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "node-clf": api.node_classification,
    "link-pred": api.link_prediction,
    "image": api.image_classification,
    "genome": api.genome_classification,
}


def run_task(task: str, typed: dict[str, Any]) -> None:
    """Run a task; the result goes to standard output, everything else to standard error.

    Args:
        task: Its name.
        typed: What was typed, by the names of options; of the layer that is chosen a list.
    """
    how = {name: typed.pop(name) for name in ("config", "out", "resume", "jobs", "backend")}
    as_json, print_config, quiet, verbose, logs = (
        typed.pop(name) for name in ("json", "print_config", "quiet", "verbose", "log")
    )
    name = KINDS[task].load_config().chosen
    several = list(dict.fromkeys(typed.pop(name) or [None]))
    if len(several) > 1 and how["resume"]:
        raise InputError(f"One run is resumed at a time, with its own {name}: leave out --{name}.")
    out = how.pop("out")
    runs = [(out, {**typed, name: several[0]})]
    if len(several) > 1:
        with _one_speaker():
            runs = _several(task, [{**typed, name: chosen} for chosen in several], out, how["config"])
    if print_config:
        for _, given in runs:
            _print_config(task, given, how["config"], how["resume"])
        return
    be_quiet(quiet)
    say = _ignore if quiet else _say
    results = []
    for place, given in runs:
        with log_to(*(logs or ())):
            results.append(_run_one(task, {**how, **given, "out": place, "say": say}))
    found = [result for result in results if result is not None]
    if found:  # else this is one of several processes, and not the first
        _print(found, as_json, verbose)


def _several(
    task: str, typed: list[dict[str, Any]], out: str | None, config: str | None
) -> list[tuple[str | None, dict[str, Any]]]:
    """The folder and the settings of several runs, all of them checked before the first one is trained.

    An option that only some heads or layers take is left out of the runs of the others.
    """
    cls = KINDS[task].load_config()
    idle = [idle_settings(settle(cls, given, config, refuse_idle=False), given) for given in typed]
    for name, said in idle[0].items():
        if all(name in others for others in idle):
            raise InputError(said)
    runs = []
    for given, unused in zip(typed, idle):
        place = str(Path(out, given[cls.chosen])) if out else None
        if place and not distributed.launched():
            check_free(Path(place))
        runs.append((place, {name: value for name, value in given.items() if name not in unused}))
    return runs


@contextmanager
def _one_speaker() -> Iterator[None]:
    """Of what is wrong in every process of ``torchrun``, the first one alone tells."""
    try:
        yield
    except InputError as error:
        if distributed.speaks_for_all(error):
            sys.exit(2)
        raise


def _run_one(task: str, given: dict[str, Any]) -> Result | None:
    try:
        with _one_speaker():
            result: Result | None = FUNCTIONS[task](**given)
        return result
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            _say(str(interrupt))
        raise


def _print(results: list[Result], as_json: bool, verbose: bool) -> None:
    if as_json:
        found = [{"folder": str(result.folder), **result.to_dict()} for result in results]
        print(json.dumps(found[0] if len(found) == 1 else found, indent=2))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for result in results:
        console.print(result.table())
        split = f"split {result.about['split']}"
        console.print(
            f"{result.headline()}, {result.parameters} parameters, {split}, {result.seconds:.1f} s in all"
        )
        confused = result.confusion_table() if verbose else None
        if confused is not None:
            console.print(confused)
        for what, values in (("settings", result.config), ("versions", result.versions)):
            if verbose:
                console.print(f"{what}: {', '.join(f'{k} = {v}' for k, v in values.items())}", soft_wrap=True)
    if len(results) > 1:
        from hypergraph.tasks.compare import print_comparison

        print_comparison([result.folder for result in results])


def _print_config(task: str, typed: dict[str, Any], config: str | None, resume: str | None) -> None:
    import tomli_w

    from hypergraph.tasks.run import Run

    if resume:
        settings = Run.open(Path(resume), typed.get("data")).loading
    else:
        settings = settle(KINDS[task].load_config(), typed, config)
        if getattr(settings, "split", "") is None:  # it depends on what is in the graph
            from hypergraph.tasks.runner import with_split

            settings = with_split(settings, KINDS[task].load_task().load(settings))
    sys.stdout.write(tomli_w.dumps(settings.to_dict()))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ignore(text: str) -> None: ...
