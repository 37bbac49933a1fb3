from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hypergraph.datasets.disk import convert
from hypergraph.errors import InputError
from hypergraph.tasks import api, loop
from hypergraph.tasks.config import LinkConfig, NodeConfig
from hypergraph.tasks.link_pred import LinkPred
from hypergraph.tasks.node_clf import NodeClf

SHORT = {"seeds": 1, "epochs": 3, "patience": 0, "jobs": 1}


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def same(a: Path, b: Path) -> bool:
    """The same bits in every epoch and in the model."""
    left, right = (load_file(run / "model.safetensors") for run in (a, b))
    return lines(a) == lines(b) and all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize(
    ("encoder", "head"),
    [("hgcn", "bmlr-p"), ("hgcn", "bmlr-l"), ("hnn", "pmlr"), ("gcn", "mlr"), ("mlp", "bmlr-p")],
)
def test_node_classification_learns_in_batches(graph, tmp_path, encoder, head):
    settings = {"encoder": encoder, "batch_size": 16, "seeds": 1, "epochs": 15, "patience": 0, "lr": 0.05}
    result = api.node_classification(graph, head, out=tmp_path / "run", **settings)
    assert result.mean > (70 if encoder in ("hgcn", "gcn") else 60) / 100
    assert lines(tmp_path / "run")[-1]["loss"] < lines(tmp_path / "run")[0]["loss"]


@pytest.mark.parametrize(("encoder", "fc"), [("hgcn", "bfc-p"), ("hnn", "ltfc"), ("gcn", "linear")])
def test_link_prediction_learns_in_batches(graph, tmp_path, encoder, fc):
    settings = {"encoder": encoder, "batch_size": 64, "seeds": 1, "epochs": 15, "patience": 0, "lr": 0.02}
    result = api.link_prediction(graph, fc, out=tmp_path / "run", **settings)
    assert result.mean > 0.6
    assert lines(tmp_path / "run")[-1]["loss"] < lines(tmp_path / "run")[0]["loss"]


@pytest.mark.parametrize(
    ("encoder", "head", "more"),
    [
        ("hgcn", "bmlr-l", {}),
        ("hgcn", "bmlr-p", {"norm": "symmetric", "residual": True}),
        ("hgcn", "bmlr-p", {"norm": "symmetric", "num_layers": 1, "propagate": 1, "K": -0.1}),
        ("gcn", "mlr", {"num_layers": 1, "propagate": 1}),
        ("hnn", "bmlr-p", {}),
        ("mlp", "mlr", {}),
    ],
)
def test_one_batch_of_everything_is_the_full_batch(graph, encoder, head, more):
    """The same steps on nodes, whatever their order, when every neighbour is there."""
    given = {"dataset": str(graph), "encoder": encoder, "head": head, "dtype": "float64", "device": "cpu"}
    given |= more
    fanout = {"fanout": "-1,-1"} if encoder in ("hgcn", "gcn") else {}
    torch.set_default_dtype(torch.float64)
    try:
        whole = NodeConfig(**given)
        data = NodeClf.load(whole)
        batched = NodeConfig(**given, batch_size=len(data.split.train), **fanout)
        tasks = []
        for config in (whole, batched):
            torch.manual_seed(0)
            tasks.append(NodeClf(config, 0, data))
        for epoch in range(1, 6):
            losses = [task.train_epoch(epoch) for task in tasks]
            assert abs(losses[0] - losses[1]) < 1e-9
            assert tasks[0].evaluate() == pytest.approx(tasks[1].evaluate(), abs=1e-8)
    finally:
        torch.set_default_dtype(torch.float32)


def test_one_batch_of_all_edges_is_the_full_batch(graph):
    given = {"dataset": str(graph), "encoder": "hgcn", "fc": "mobius", "dtype": "float64", "device": "cpu"}
    torch.set_default_dtype(torch.float64)
    try:
        whole = LinkConfig(**given)
        data = LinkPred.load(whole)
        batched = LinkConfig(**given, batch_size=data.split.train_pos.shape[1], fanout="-1,-1")
        tasks = []
        for config in (whole, batched):
            torch.manual_seed(0)
            tasks.append(LinkPred(config, 0, data))
        for epoch in range(1, 4):
            losses = [task.train_epoch(epoch) for task in tasks]
            assert abs(losses[0] - losses[1]) < 1e-9
            assert tasks[0].evaluate() == pytest.approx(tasks[1].evaluate(), abs=1e-8)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("task", ["node", "link"])
def test_a_mapped_folder_gives_the_same_numbers(graph, tmp_path, task):
    run = api.node_classification if task == "node" else api.link_prediction
    settings = {**SHORT, "encoder": "hgcn", "batch_size": 16, "fanout": "3,2"}
    convert(str(graph), tmp_path / "three", task=task)
    run(str(graph), out=tmp_path / "a", **settings)
    run(str(tmp_path / "three"), out=tmp_path / "b", **settings)
    assert same(tmp_path / "a", tmp_path / "b")
    # and a full batch takes the mapped graph as any other
    run(str(graph), out=tmp_path / "c", **SHORT)
    run(str(tmp_path / "three"), out=tmp_path / "d", **SHORT)
    assert same(tmp_path / "c", tmp_path / "d")


@pytest.mark.parametrize("task", ["node", "link"])
def test_resumes_to_the_same_bits(graph, tmp_path, task, monkeypatch):
    run = api.node_classification if task == "node" else api.link_prediction
    settings = {**SHORT, "encoder": "hgcn", "batch_size": 16, "fanout": "3,2", "dropout": 0.2, "epochs": 6}
    run(str(graph), out=tmp_path / "whole", **settings)
    guarded = loop._guarded

    def stops(task, epoch):
        if epoch == 4:
            raise KeyboardInterrupt
        return guarded(task, epoch)

    monkeypatch.setattr(loop, "_guarded", stops)
    with pytest.raises(KeyboardInterrupt):
        run(str(graph), out=tmp_path / "part", **settings)
    monkeypatch.setattr(loop, "_guarded", guarded)
    run(resume=tmp_path / "part", jobs=1)
    assert same(tmp_path / "whole", tmp_path / "part")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"fanout": "a,b", "batch_size": 8}, "fanout must be whole numbers above 0 .* got 'a,b'"),
        ({"fanout": "5,0", "batch_size": 8}, "fanout must be whole numbers above 0"),
        ({"fanout": "", "batch_size": 8}, "fanout must be whole numbers above 0"),
        ({"fanout": "5,5,5", "batch_size": 8}, "fanout names 3 layers .* and the encoder has 2"),
        ({"fanout": "5", "batch_size": 8}, "fanout names 1 layers .* and the encoder has 2"),
        ({"fanout": "5,5", "batch_size": 0}, "fanout is for batches: give a batch_size"),
        ({"fanout": "5,5", "batch_size": 8, "encoder": "hnn"}, "hnn does not look at the graph"),
        ({"batch_size": -1}, "batch_size must be at least 0"),
        ({"batch_size": 1000}, "three: a batch of 1000, and only .* train; lower --batch-size"),
    ],
)
@pytest.mark.parametrize("task", ["node", "link"])
def test_bad_input_is_one_sentence(graph, tmp_path, task, change, text):
    run = api.node_classification if task == "node" else api.link_prediction
    with pytest.raises(InputError, match=text):
        run(str(graph), out=tmp_path / "run", **{**SHORT, "encoder": "hgcn", **change})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", ["node", "link"])
def test_a_full_batch_that_does_not_fit_says_what_to_type(graph, tmp_path, task, monkeypatch):
    run = api.node_classification if task == "node" else api.link_prediction
    monkeypatch.setattr("hypergraph.tasks.graph.available", lambda: 20_000)
    with pytest.raises(InputError, match=r"three: a full batch of 120 nodes .* with --batch-size 1024"):
        run(str(graph), encoder="hgcn", out=tmp_path / "run", **SHORT)
    run(str(graph), encoder="hgcn", out=tmp_path / "run", **SHORT, batch_size=16)
