"""Random flags at every command: it works, or it says in one sentence what is wrong and ends with code 2."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hypergraph import cli
from hypergraph.cli.app import app
from hypergraph.option import option_of
from hypergraph.tasks.kinds import KINDS
from tests.memory import peak

pytestmark = pytest.mark.posix

# Left out: what goes to the network.
AWAY = {("data", "fetch")}
NUMBERS = [
    *("nan", "inf", "-inf", "-1", "0", "1", "2", "0.5", "1e300", "1e-300", "1e9", "-0.0"),
    *("9" * 25, "9" * 5000),
]
TEXTS = [
    *("", " ", "a\0b", "a\nb", "\udcff", "ä", "-", "--", "x" * 5000),
    *("pipe", "/dev/zero", "/dev/null/x", ".", "/"),
]
FILES = ["three.npz", "deep.toml", "null.toml", "wrong.toml", "large.toml", "nowhere", "run", "cora.txt"]
# What makes a run short, typed last so that it wins.
SHORT = {"--epochs": "1", "--seeds": "1", "--jobs": "1", "--trials": "1", "--set": "epochs=1"}


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        elif (*path, name) not in AWAY:
            yield (*path, name), command


def bounds(path: tuple[str, ...]) -> dict[str, list[str]]:
    """Values at the bounds of a task's settings, a little beyond, and small ones within."""
    if path[0] not in KINDS:
        return {}
    found = {}
    for entry in fields(KINDS[path[0]].load_config()):
        name, known = entry.name, option_of(entry)
        values = [str(default) for default in (entry.default,) if isinstance(default, (str, int, float))]
        values += list(known.choices)
        values += [
            str(b + d) for b in (known.least, known.above, known.below) if b is not None for d in (-1, 0)
        ]
        values += [str(known.most + 1)] if known.most is not None else []
        found[name] = values
    return found


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    path, command = draw(st.sampled_from(list(commands())))
    near = bounds(path)
    typed = list(path)
    parameters = [p for p in command.params if p.name not in ("help",)]
    for argument in (p for p in parameters if not p.opts[0].startswith("-")):
        typed += draw(st.lists(st.sampled_from(TEXTS + FILES), max_size=2 if argument.nargs < 0 else 1))
    options = [p for p in parameters if p.opts[0].startswith("-")]
    for option in draw(st.lists(st.sampled_from(options), max_size=4, unique_by=id)):
        typed.append(draw(st.sampled_from([*option.opts, *option.secondary_opts])))
        if not option.is_flag:
            pools = [near.get(option.name, []), NUMBERS, TEXTS + FILES]
            typed.append(draw(st.sampled_from(draw(st.sampled_from([p for p in pools if p])))))
    known = {name for p in parameters for name in p.opts}
    if "--dataset" in known and "--dataset" not in typed:
        typed += ["--dataset", "three.npz"]
    for name, value in SHORT.items():
        # A setting that was typed is left to be wrong, but not to be long.
        if name in known and (name not in typed or typed[typed.index(name) + 1].isdigit()):
            typed += [name, value]
    return typed


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small graph, files of settings that are wrong, and a pipe that nobody writes to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hypergraph.viz.training.plot_curves", lambda metrics, out: out.touch())
    ring = np.stack([np.arange(40), (np.arange(40) + 1) % 40])
    np.savez("three.npz", edge_index=ring, x=np.eye(4, dtype=np.float32).repeat(10, 0), y=np.arange(40) % 3)
    Path("deep.toml").write_text("lr = " + "[" * 5000 + "]" * 5000)
    Path("null.toml").write_text('dataset = "a\\u0000b"')
    Path("wrong.toml").write_text('seeds = 1979-05-27\nlr = ["x"]')
    Path("large.toml").write_bytes(bytes(2**21))
    Path("cora.txt").write_text("1 2\n2 3\n")
    Path("run").mkdir()
    os.mkfifo("pipe")
    return tmp_path


def run(typed: list[str]) -> tuple[int, str, str]:
    """Run a command in this process; its exit code, and what it printed."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["hypergraph", *typed]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as leaving:
        return int(leaving.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = argv
    raise AssertionError("it returned")


def holds(typed: list[str]) -> None:
    before, start = peak(), time.process_time()
    code, _, err = run(typed)
    assert time.process_time() - start < 20, typed
    assert code in (0, 2), (typed, code, err)
    if code == 2 and err:  # a group without a command prints its help
        *_, last = err.splitlines()
        assert last.startswith("hypergraph: ") and last.endswith((".", "?")), (typed, err)
        assert len(last) < 1500, typed
    assert peak() <= max(before, 2 << 20), (typed, "KiB at the peak", peak())


MODEST = settings(
    deadline=None,
    max_examples=200,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@MODEST
@given(typed=command_lines())
def test_random_flags(place: Path, typed: list[str]) -> None:
    holds(typed)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(MODEST, max_examples=2000, derandomize=False)
@given(typed=command_lines())
def test_many_random_flags(place: Path, typed: list[str]) -> None:
    holds(typed)
