"""A run as an object, and its model in a person's own code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from hypergraph import Lorentz, load_run
from hypergraph.datasets import load_graph
from hypergraph.errors import InputError
from hypergraph.nn import BMLR, HGCN
from hypergraph.tasks import link_prediction, node_classification
from hypergraph.tasks.config import NodeConfig


def test_a_run_is_an_object(graph: Path, tmp_path: Path) -> None:
    result = node_classification(graph, "bmlr-l", seeds=2, epochs=5, out=tmp_path / "run", jobs=1)
    run = load_run(tmp_path / "run")
    assert isinstance(run.config, NodeConfig) and run.config.head == "bmlr-l"
    assert run.results.mean == result.mean and run.classes_ == ("0", "1", "2")
    assert repr(run).startswith("LoadedRun(") and "2 seeds" in repr(run)

    share = run.predict_proba()
    assert share.shape == (120, 3) and np.allclose(share.sum(1), 1, atol=1e-5)
    assert (run.predict() == np.array(run.classes_)[share.argmax(1)]).all()
    points = run.embed()
    assert points.shape == (120, 17)
    assert np.array_equal(points, np.load(tmp_path / "run" / "embedding.npz")["points"])

    other = load_graph(graph)
    assert np.allclose(run.embed(other), points, atol=1e-6)
    assert (run.predict(other) == run.predict()).all()
    assert set(load_run(result, seed=1).table()) >= {"node", "predicted", "p_0"}


def test_a_plain_model_takes_its_weights(graph: Path, tmp_path: Path) -> None:
    plainly = {"num_layers": 2, "propagate": 0, "norm": "mean", "K": -1.0}
    node_classification(graph, "bmlr-l", seeds=1, epochs=3, out=tmp_path / "run", **plainly)
    run = load_run(tmp_path / "run")
    space = Lorentz(K=-1.0)
    plain = nn.ModuleDict({"encoder": HGCN(3, 16, 2, space), "head": BMLR(16, 3, space)})
    plain.load_state_dict(run.model.state_dict())
    data = run.task.data
    with torch.no_grad():
        points = plain["encoder"].eval()(data.x, data.edge_index)
        expected = run.model(data.x, data.edge_index)
    torch.testing.assert_close((points, plain["head"](points)), expected)


def test_a_run_from_a_graph_in_python(graph: Path, tmp_path: Path) -> None:
    data = load_graph(graph)
    data.name = "mine"
    result = link_prediction(data, "bfc-p", seeds=1, epochs=3, out=tmp_path / "run")
    assert result.data is not None and "data" not in result.to_dict()
    chance = load_run(result).predict()
    assert ((chance >= 0) & (chance <= 1)).all()
    assert np.array_equal(load_run(tmp_path / "run", data=data).predict(), chance)
    with pytest.raises(InputError, match=r"load_run\(folder, data=graph\)"):
        load_run(tmp_path / "run").predict()
    with pytest.raises(InputError, match="has no classes"):
        load_run(result).predict_proba()


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run folder"):
        load_run(tmp_path)
