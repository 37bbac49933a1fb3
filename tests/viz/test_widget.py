from __future__ import annotations

import sys

import pytest

from hypergraph import load_run, viz
from hypergraph.errors import InputError


def test_a_run_shows_itself_in_a_notebook(tmp_path):
    pytest.importorskip(
        "anywidget", reason="anywidget is not installed; it is the extra hypergraph[notebook]"
    )
    from hypergraph.tasks import node_classification

    result = node_classification("disease", "bmlr-p", dim=2, seeds=1, epochs=2, out=tmp_path / "run")
    widget = load_run(result).show(height=500)
    assert "node-clf · disease · bmlr-p" in widget.html and widget.height == 500
    assert widget.selected == []
    # the page has its own frame and cannot reach the notebook
    assert 'sandbox", "allow-scripts allow-downloads allow-modals"' in widget._esm


def test_without_anywidget_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(InputError, match=r"pip install 'hypergraph\[notebook\]'"):
        viz.show("disease")
    with pytest.raises(InputError, match="not 0"):
        viz.show()
