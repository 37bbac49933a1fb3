from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for every test, and no folder given by the environment."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("HYPERGRAPH_CACHE", str(folder))
    monkeypatch.delenv("HYPERGRAPH_DATA", raising=False)
    return folder
