"""The package as a whole: lazy names, light imports, links, and a README that tells the truth."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import hypergraph

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_resolves() -> None:
    for name in hypergraph.__all__:
        assert getattr(hypergraph, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = hypergraph.nothing


def test_the_command_line_starts_without_heavy_imports() -> None:
    code = (
        "import sys, hypergraph.cli;"
        "heavy = {'torch', 'torch_geometric', 'numba', 'scipy', 'sklearn', 'networkx', 'matplotlib'};"
        "heavy &= set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.posix  # git writes links as small files there
def test_links_are_doors_to_the_package() -> None:
    for name in ("datasets", "tasks"):
        assert (ROOT / name).is_symlink() and (ROOT / name).resolve() == ROOT / "hypergraph" / name


def test_readme_example_runs() -> None:
    [example] = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    names: dict[str, object] = {}
    exec(example, names)
    loss = names["loss"]
    assert isinstance(loss, torch.Tensor) and loss.item() < 1.0


def test_pages_are_refreshed() -> None:
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
    assert spec is not None and spec.loader is not None
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    for page in refresh.PAGES:
        text = page.read_text(encoding="utf-8")
        assert text == refresh.refreshed(text), "run `python docs/refresh.py`"
