"""What README and docs tell a reader to type: Python blocks and shell lines, as they are written.

A line whose comment says what it ``needs`` (a dataset that is not here, a GPU, hours) is parsed and not run.
A block under ``<!-- slow -->`` runs with the slow tests. On a page with ``<!-- in order -->`` later blocks
need what earlier ones made, shell or Python: it runs as a whole with the slow tests.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer.main

from hypergraph.cli.app import app
from hypergraph.tasks.config import settle
from hypergraph.tasks.kinds import KINDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(r"(<!-- slow -->\n+)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?((?:hypergraph|torchrun|python -m hypergraph) .*)$", re.MULTILINE)


def blocks(page: Path) -> Iterator[tuple[bool, str, str]]:
    """Whether a block is slow, its language, and its text."""
    for slow, language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        yield bool(slow), language, text


def python(page: Path, slow: bool) -> list[str]:
    return [text for is_slow, language, text in blocks(page) if language == "python" and slow >= is_slow]


def lines(page: Path) -> list[str]:
    return [
        line
        for _, language, text in blocks(page)
        if language != "python"
        for line in COMMAND.findall(text.replace("\\\n", " "))
    ]


def ids(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


IN_ORDER = [page for page in PAGES if "<!-- in order -->" in page.read_text(encoding="utf-8")]
WITH_PYTHON = [page for page in PAGES if page not in IN_ORDER and python(page, slow=False)]
WITH_SLOW_PYTHON = [page for page in PAGES if len(python(page, slow=True)) > len(python(page, slow=False))]
WITH_LINES = [page for page in PAGES if lines(page)]


def test_there_is_something_to_test() -> None:
    assert len(WITH_PYTHON) > 4 and sum(len(lines(page)) for page in WITH_LINES) > 20


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


@pytest.mark.parametrize("page", WITH_PYTHON, ids=ids(WITH_PYTHON))
def test_python_blocks_run(page: Path, place: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for text in python(page, slow=False):
        exec(compile(text, str(page), "exec"), names)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", WITH_SLOW_PYTHON, ids=ids(WITH_SLOW_PYTHON))
def test_slow_python_blocks_run(page: Path, place: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for text in python(page, slow=True):
        exec(compile(text, str(page), "exec"), names)


@pytest.mark.parametrize("page", WITH_LINES, ids=ids(WITH_LINES))
def test_shell_lines_name_what_there_is(page: Path) -> None:
    for line in lines(page):
        words = shlex.split(line, comments=True)
        if words[0] == "torchrun":
            words = words[words.index("-m") + 1 :]
        elif words[0] == "python":
            words = words[2:]
        command: Any = typer.main.get_command(app)
        names = words[1:]
        while hasattr(command, "commands") and names and not names[0].startswith("-"):
            assert names[0] in command.commands, line
            command = command.commands[names.pop(0)]
        if "--help" in names or "-h" in names or hasattr(command, "commands"):
            continue
        given = command.make_context(command.name, list(names)).params
        if command.name in KINDS and not given["resume"]:
            cls = KINDS[command.name].load_config()
            typed = {entry.name: given[entry.name] for entry in fields(cls)}
            for chosen in typed.pop(cls.chosen) or [None]:
                settle(cls, {**typed, cls.chosen: chosen})


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", WITH_LINES, ids=ids(WITH_LINES))
def test_shell_lines_run(page: Path, place: Path, data_dir: Path) -> None:
    prepare(place)
    for line in lines(page) if page not in IN_ORDER else []:
        type_in(line, place, data_dir)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", IN_ORDER, ids=ids(IN_ORDER))
def test_page_runs_in_order(page: Path, place: Path, data_dir: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for _, language, text in blocks(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        for line in COMMAND.findall(text) if language == "bash" else []:
            type_in(line, place, data_dir)


def type_in(line: str, place: Path, data_dir: Path) -> None:
    typed, _, comment = line.partition(" #")
    if "needs " in comment:
        return
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    typed = re.sub(
        r"^hypergraph ", "python -m hypergraph ", typed.replace("FOLDER", shlex.quote(str(data_dir)))
    )
    done = subprocess.run(["bash", "-c", typed], cwd=place, env=env, capture_output=True, text=True)
    assert done.returncode == 0, (line, done.stderr)


def prepare(place: Path) -> None:
    """The files of the reader's own that the pages speak of."""
    from PIL import Image

    (place / "mygraph.csv").write_text("source,target\nann,bob\nbob,cem\ncem,ann\ncem,dee\n")
    letters = ["ACGT" * 8, "TTGA" * 8]
    records = [f">{i} {'ab'[i % 2]}\n{letters[i % 2]}" for i in range(40)]
    (place / "my.fasta").write_text("\n".join(records) + "\n")
    for name in ("cats", "dogs"):
        folder = place / "my-photos" / name
        folder.mkdir(parents=True)
        for i in range(12):
            Image.new("RGB", (16, 16), (20 * i, 60 if name == "cats" else 200, 90)).save(folder / f"{i}.png")
