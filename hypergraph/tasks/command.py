"""What the task commands do: settings from what was typed, then the run, then its table or its JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from hypergraph.tasks import api, distributed
from hypergraph.tasks.config import settle
from hypergraph.tasks.kinds import KINDS

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "node-clf": api.node_classification,
    "link-pred": api.link_prediction,
    "image": api.image_classification,
    "genome": api.genome_classification,
}


def run_task(task: str, typed: dict[str, Any]) -> None:
    """Run a task; the result goes to standard output, everything else to standard error."""
    as_json, print_config = typed.pop("json"), typed.pop("print_config")
    names = ("config", "out", "resume", "jobs", "backend")
    how = {name: typed.pop(name) for name in names}
    if print_config:
        _print_config(task, typed, how["config"], how["resume"])
        return
    if distributed.launched() and task != "image":
        if os.environ.get("RANK", "0") != "0":
            return
        _say(f"Note: {task} is not spread over processes; the first does all of it.")
    try:
        result = FUNCTIONS[task](**how, **typed, say=_say)
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            _say(str(interrupt))
        raise
    if result is None:  # one of several processes, and not the first
        return
    if as_json:
        print(json.dumps({"folder": str(result.folder), **result.to_dict()}, indent=2))
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(result.table())
    console.print(f"{result.headline()}, {result.parameters} parameters, split {result.about['split']}")
    console.print(f"Run folder: {result.folder}", soft_wrap=True)


def _print_config(task: str, typed: dict[str, Any], config: str | None, resume: str | None) -> None:
    from pathlib import Path

    import tomli_w

    from hypergraph.tasks.run import Run

    if resume:
        settings = Run.open(Path(resume)).config
    else:
        settings = settle(KINDS[task].load_config(), typed, config)
    sys.stdout.write(tomli_w.dumps(settings.to_dict()))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
