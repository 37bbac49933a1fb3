"""Presets < file < what was typed, and mistakes found early."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from hypergraph.datasets.names import DATASETS
from hypergraph.errors import InputError
from hypergraph.nn.registry import FCS, HEADS
from hypergraph.option import kind_of
from hypergraph.tasks import node_clf
from hypergraph.tasks.config import LinkConfig, NodeConfig, preset, settle
from hypergraph.tasks.kinds import KINDS


def test_the_papers_table() -> None:
    table = {
        "disease": ((1e-4, 0.3), (1e-4, 0.0)),
        "airport": ((1e-5, 0.0), (5e-5, 0.0)),
        "pubmed": ((1e-3, 0.0), (1e-3, 0.0)),
        "cora": ((1e-3, 0.2), (1e-3, 0.3)),
    }
    for dataset, (ball, lorentz) in table.items():
        for head, (weight_decay, dropout) in (("bmlr-p", ball), ("bmlr-l", lorentz), ("lmlr", lorentz)):
            config = settle(NodeConfig, {"dataset": dataset, "head": head})
            assert (config.weight_decay, config.dropout) == (weight_decay, dropout)
            assert (config.lr, config.K, config.dim, config.epochs) == (0.01, -1.0, 16, 5000)
    for dataset, phi, act in (
        ("disease", "none", "relu"),
        ("airport", "tanh", "relu"),
        ("pubmed", "none", "relu"),
        ("cora", "tanh", "none"),
    ):
        config = settle(LinkConfig, {"dataset": dataset, "fc": "bfc-l"})
        assert (config.phi, config.act, config.encoder, config.lr) == (phi, act, "hnn", 0.01)


def test_every_dataset_and_name_has_presets() -> None:
    for dataset in (*DATASETS, "mine.csv"):
        for head in HEADS:
            assert settle(NodeConfig, {"dataset": dataset, "head": head}).epochs == 5000
        for fc in FCS:
            assert settle(LinkConfig, {"dataset": dataset, "fc": fc}).epochs == 5000


def test_file_and_flags(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('dataset = "cora"\nlr = 1\ndropout = 0.5\nhead = "bmlr-l"\n')
    config = settle(NodeConfig, {"dropout": 0.25, "seeds": None}, file)
    assert (config.dataset, config.head, config.lr, config.dropout) == ("cora", "bmlr-l", 1.0, 0.25)
    assert config.weight_decay == 0.001


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"dataset": "cora", "head": "bmlr"}, "Unknown head 'bmlr'; did you mean 'bmlr-p'"),
        ({"dataset": "cora", "fc": "mobis"}, "Unknown fc 'mobis'; did you mean 'mobius'"),
        ({"dataset": "cora", "dopout": 0.1}, "Unknown setting 'dopout'; did you mean 'dropout'"),
        ({"dataset": "cora", "dtype": "float16"}, "Unknown dtype 'float16'"),
        ({"dataset": "cora", "encoder": "gnc"}, "did you mean 'gcn'"),
        ({"dataset": "cora", "seeds": 0}, "seeds must be at least 1"),
        ({"dataset": "cora", "K": 1.0}, "K must be at least -10000 and at most -1e-06"),
        ({"dataset": "cora", "K": float("nan")}, "K must be finite, at least -10000 and at most -1e-06"),
        ({"dataset": "cora", "dropout": 1.0}, "dropout must be"),
        ({"dataset": "cora", "lr": 0.0}, "lr must be above 0"),
        ({"dataset": "cora", "dim": 0}, "dim must be at least 1"),
        ({"dataset": "cora", "epochs": 1.5}, "epochs must be of type int"),
    ],
)
def test_mistakes(given: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        settle(NodeConfig, given)


def test_mistakes_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for content, text in (
        ("dataset = ", "not a TOML file"),
        ('datset = "cora"', "mine.toml: Unknown setting 'datset'; did you mean 'dataset'"),
        ('task = "link-pred"\n[config]\n', "the configuration of link-pred, not of node-clf"),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=text):
            settle(NodeConfig, {}, file)
    with pytest.raises(InputError, match=r"none.toml: cannot be read"):
        settle(NodeConfig, {}, tmp_path / "none.toml")


def test_every_field_says_what_it_is() -> None:
    for kind in KINDS.values():
        cls = kind.load_config()
        for entry in fields(cls):
            known = entry.metadata["option"]
            assert known.help.endswith((".", "...")) and known.help[0] != " ", entry.name
            assert kind_of(cls, entry.name) in (str, int, float, bool)
            if kind_of(cls, entry.name) is int:
                assert known.least is not None and known.most is not None, entry.name


def test_old_names_are_still_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('task = "node-clf"\n[config]\ndataset = "cora"\nlayers = 3\nlinear = "bfc-p"\n')
    config = settle(NodeConfig, {}, file)
    assert (config.num_layers, config.fc) == (3, "bfc-p")
    file.write_text('dataset = "cora"\nlinear = "bfc-p"\nfc = "mobius"\n')
    with pytest.raises(InputError, match=r"config.toml: linear is the earlier name of fc, and both are set"):
        settle(NodeConfig, {}, file)


@pytest.mark.parametrize("name", ["task", "chosen", "retired", "search"])
def test_what_a_class_says_of_itself_is_no_setting(name: str) -> None:
    with pytest.raises(InputError, match=f"Unknown setting '{name}'"):
        settle(NodeConfig, {"dataset": "disease", name: "x"})


def test_dropout_is_a_setting_of_graph_tasks() -> None:
    for task, kind in KINDS.items():
        graphs = task in ("node-clf", "link-pred")
        names = {entry.name for entry in fields(kind.load_config())}
        searched = [text.partition("=")[0] for text in kind.load_config().search]
        assert ("dropout" in names) == ("dropout" in searched) == graphs
        assert set(searched) <= names


@pytest.mark.parametrize(
    ("task", "given", "text"),
    [
        (
            "link-pred",
            {"fc": "mobius", "phi": "tanh"},
            "fc mobius takes no phi; .* use the fc bfc-p or bfc-l.",
        ),
        ("link-pred", {"fc": "lorentz-fc", "init": "published"}, "The fc lorentz-fc takes no init"),
        ("link-pred", {"fc": "ltfc", "magnitude": "row"}, "The fc ltfc takes no magnitude"),
        ("link-pred", {"norm": "symmetric"}, "encoder hnn takes no norm; .* or use the encoder hgcn."),
        (
            "link-pred",
            {"fc": "linear", "learn_curvature": True},
            "fc linear is Euclidean and takes no learn_c",
        ),
        ("node-clf", {"head": "lmlr", "magnitude": "row"}, "head lmlr takes no magnitude; .* or pmlr."),
        ("node-clf", {"encoder": "gcn", "fc": "linear"}, "takes no fc; .* or use the encoder hgcn or hnn."),
        ("node-clf", {"encoder": "gcn", "fc": "bfc-p"}, "The encoder gcn takes no fc"),
        ("node-clf", {"head": "mlr", "fc": "bfc-p"}, "The encoder gcn takes no fc; leave it out."),
        ("node-clf", {"head": "mlr", "K": -0.5}, "The head mlr is Euclidean and takes no K"),
        ("node-clf", {"encoder": "hnn", "propagate": 1}, "hnn takes no propagate; .* the encoder hgcn."),
        ("node-clf", {"encoder": "mlp", "head": "mlr", "propagate": 1}, "mlp takes no propagate; .* gcn."),
        ("genome", {"length": 20}, "simulated sequences have one length already; leave out length"),
        ("image", {"head": "mlr", "clip": 2.0}, "The head mlr is Euclidean and takes no clip"),
    ],
)
def test_what_is_typed_and_does_nothing_is_refused(
    task: str, given: dict[str, object], text: str, tmp_path: Path
) -> None:
    cls = KINDS[task].load_config()
    dataset = {} if task in ("image", "genome") else {"dataset": "cora"}
    with pytest.raises(InputError, match=text):
        settle(cls, {**dataset, **given})
    if given.get("propagate"):  # fails when the encoder is made: refused wherever it comes from
        return
    file = tmp_path / "mine.toml"  # a file may have settings for every head and layer
    file.write_text(tomli_w.dumps({**dataset, **given}))
    settled = settle(cls, {}, file)
    assert all(getattr(settled, name) == value for name, value in given.items())


def test_presets_may_set_what_only_some_layers_take() -> None:
    assert settle(LinkConfig, {"dataset": "cora", "fc": "mobius"}).phi == "tanh"
    assert settle(LinkConfig, {"dataset": "cora", "fc": "mobius", "init": "published"}).init == "published"


def test_presets_follow_what_they_are_like() -> None:
    """disease-hgcn is like disease, which is as published; an encoder may have values of its own."""
    found = preset("node-clf", "disease-hgcn", "poincare", "bmlr-p", "hgcn")
    assert (found["K"], found["num_layers"], found["min_epochs"], found["dropout"]) == (-1.0, 2, 300, 0.3)
    own = settle(NodeConfig, {"dataset": "mine", "split": "masks"})
    assert (own.K, own.num_layers, own.propagate, own.feature_dropout) == (-0.03, 1, 1, 0.5)
    own = settle(NodeConfig, {"dataset": "mine", "split": "strict"})
    assert (own.K, own.num_layers, own.propagate, own.feature_dropout) == (-1.0, 2, 0, 0.0)
    ours = settle(LinkConfig, {"dataset": "cora", "fc": "bfc-p", "recipe": "ours"})
    assert (ours.weight_decay, ours.feature_dropout, ours.magnitude, ours.r) == (0.001, 0.4, "row", 4)
    flat = settle(LinkConfig, {"dataset": "cora", "fc": "linear", "recipe": "ours"})  # has one of its own
    assert (flat.encoder, flat.recipe, flat.num_layers, flat.r) == ("mlp", "ours", 2, 2)
    published = settle(LinkConfig, {"dataset": "cora", "fc": "bfc-p", "magnitude": "row"})
    assert (published.recipe, published.num_layers, published.r) == ("published", 2, 2)
    hgcn = {"dataset": "airport", "encoder": "hgcn"}
    assert [settle(LinkConfig, {**hgcn, "fc": fc}).r for fc in ("mobius", "bfc-p", "bfc-l")] == [2, 8, 8]
    assert settle(LinkConfig, {"dataset": "cora", "fc": "bfc-p"}).feature_dropout == 0
    assert settle(NodeConfig, {"dataset": "mine", "encoder": "hnn"}).propagate == 0
    assert settle(NodeConfig, {"dataset": "cora", "head": "mlr"}).propagate == 1
    assert settle(NodeConfig, {"dataset": "cora", "head": "mlr", "encoder": "mlp"}).propagate == 0
    assert settle(NodeConfig, {"dataset": "cora"}).weight_decay == 0.001


def test_a_head_may_have_a_rate_of_its_own() -> None:
    from hypergraph.tasks.node_clf import NodeClf

    config = settle(NodeConfig, {"dataset": "disease", "head_lr": 0.1, "learn_curvature": True})
    rest, head = NodeClf(config, 0, NodeClf.load(config)).optimizer.param_groups
    assert (rest["lr"], head["lr"], head["weight_decay"]) == (0.01, 0.1, config.weight_decay)
    assert [p.numel() for p in head["params"]] == [32, 2, 2]  # the curvature is the encoder's too
    config = settle(NodeConfig, {"dataset": "disease"})
    assert len(NodeClf(config, 0, NodeClf.load(config)).optimizer.param_groups) == 1


def test_a_recipe_is_chosen_by_the_split_that_is_to_be_expected(tmp_path: Path) -> None:
    edges, arrays, masked = (tmp_path / name for name in ("edges.csv", "plain.npz", "masked.npz"))
    edges.write_text("a,b\n")
    np.savez(arrays, edge_index=[[0], [1]])
    np.savez(masked, edge_index=[[0], [1]], train_mask=[True, False])
    (tmp_path / "damaged.npz").write_text("no archive")
    expected = {edges: "many", arrays: "many", masked: "few", tmp_path / "damaged.npz": "many"}
    for path, labels in expected.items():
        assert settle(NodeConfig, {"dataset": str(path)}).recipe == f"{labels}-labels", path
    for dataset, labels in {"cora": "few", "disease": "many", "pyg:Planetoid/Cora": "few"}.items():
        assert settle(NodeConfig, {"dataset": dataset}).recipe == f"{labels}-labels"
    assert settle(NodeConfig, {"dataset": "cora"}).num_layers == 2  # as published
    for labels, layers in {"few": 1, "many": 2}.items():  # what is asked for stands above what is published
        asked = settle(NodeConfig, {"dataset": "cora", "recipe": f"{labels}-labels"})
        assert (asked.num_layers, asked.dropout) == (layers, 0.0)
    assert settle(NodeConfig, {"dataset": str(edges), "recipe": "few-labels"}).K == -0.03
    assert settle(NodeConfig, {"dataset": str(edges), "K": -0.5}).K == -0.5


@pytest.mark.parametrize(
    ("recipe", "share", "better"),
    [("few-labels", 0.7, "many-labels"), ("many-labels", 0.05, "few-labels"), ("few-labels", 0.05, None)],
)
def test_a_recipe_for_another_split_is_said(recipe: str, share: float, better: str | None) -> None:
    said = node_clf._other_recipe(recipe, share)
    assert (said is None) == (better is None)
    assert said is None or f"--recipe {better} is made for that" in said
