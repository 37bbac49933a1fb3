"""Every public class has an example in its docstring, outside of the geometry every function too; all run.

An example needs no imports: it finds ``torch``, the names of ``hypergraph`` and those of the package that it
is in.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest
import torch

import hypergraph

PACKAGES = ["geometry", "nn", "datasets", "hyperbolicity", "loader", "tasks", "viz", ""]
FORMULAS = ("geometry", "nn")  # whose functions are told by their equations


def public(package: str) -> dict[str, Any]:
    module = importlib.import_module(f"hypergraph.{package}".rstrip("."))
    return {name: getattr(module, name) for name in module.__all__}


def documented(package: str) -> list[tuple[str, str]]:
    return [
        (package, name)
        for name, found in public(package).items()
        if inspect.isclass(found)
        or (inspect.isfunction(found) and (package not in FORMULAS or ">>>" in (found.__doc__ or "")))
    ]


@pytest.mark.parametrize(("package", "name"), [case for package in PACKAGES for case in documented(package)])
def test_the_example_of_a_docstring_runs(
    package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    given = {name: getattr(hypergraph, name) for name in hypergraph.__all__}
    given = {"torch": torch, "hypergraph": hypergraph, **given, **public(package)}
    text = inspect.getdoc(given[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, given, name, None, None)
    assert example.examples, f"{name} has no example in its docstring"
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.DocTestRunner(optionflags=flags).run(example, out=said.append)
    assert not failed, "".join(said)
