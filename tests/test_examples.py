"""The examples run as they are, and the reference has a page for every public package."""

from __future__ import annotations

import importlib
import json
import pkgutil
import runpy
from pathlib import Path

import pytest

import hypergraph

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example(script: Path) -> None:
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 60
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(notebook: Path) -> None:
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)


def test_every_public_package_has_a_page_of_the_reference() -> None:
    packages = [
        name
        for _, name, is_package in pkgutil.iter_modules(hypergraph.__path__)
        if is_package and getattr(importlib.import_module(f"hypergraph.{name}"), "__all__", None)
    ]
    assert "nn" in packages
    for name in packages:
        assert (ROOT / "docs" / "api" / f"{name}.md").exists(), f"add docs/api/{name}.md"
