"""The genome task: it learns, resumes to the same numbers, and says what it was given wrongly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from hypergraph.datasets.stable_random import StableRandom
from hypergraph.errors import InputError
from hypergraph.nn.registry import HEADS
from hypergraph.tasks import api, runner
from hypergraph.tasks.classify_config import GenomeConfig
from hypergraph.tasks.compare import compare
from hypergraph.tasks.genome import Genome
from hypergraph.tasks.predict import predict
from hypergraph.tasks.run import Run
from hypergraph.tasks.show import describe


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of short sequences, which their first letters tell apart."""
    folder = tmp_path / "small"
    folder.mkdir()
    random = StableRandom(0, "small")
    for part, size in (("train", 60), ("dev", 20), ("test", 20)):
        text = ["".join("ACGT"[code] for code in random.integers(4, 8)) for _ in range(size)]
        table = [f"{'CA'[number % 2] * 4}{line},{number % 2}" for number, line in enumerate(text)]
        (folder / f"{part}.csv").write_text("\n".join(["sequence,label", *table]) + "\n")
    return folder


def quick(folder: Path, **settings: Any) -> dict[str, Any]:
    return {
        "dataset": folder,
        "seeds": 1,
        "epochs": 3,
        "lr": 2e-3,
        "weight_decay": 0.0,
        "batch": 20,
        **settings,
    }


def test_presets_are_the_papers() -> None:
    config = api.settle(GenomeConfig, {"dataset": "gue/prom_core_tata"})
    expected = {"epochs": 100, "batch": 100, "lr": 1e-4, "weight_decay": 0.1, "clip": 1.0, "K": -1.0}
    assert {name: getattr(config, name) for name in expected} == expected
    assert config.milestone_epochs == (60, 85) and config.learn_curvature
    clips = {
        (name, head): api.settle(GenomeConfig, {"dataset": name, "head": head}).clip
        for name in ("covid", "virus", "fungi")
        for head in ("bmlr-p", "bmlr-l")
    }
    assert list(clips.values()) == [1.0, 2.0, 2.0, 5.0, 2.0, 5.0]
    assert api.settle(GenomeConfig, {"dataset": "covid", "head": "lmlr"}).weight_decay == 1e-3
    assert api.settle(GenomeConfig, {}).dataset == "simulated"


@pytest.mark.parametrize("head", HEADS)
def test_every_head_learns(small: Path, tmp_path: Path, head: str) -> None:
    curved = {} if HEADS[head].space == "euclidean" else {"K": -0.7}
    result = api.genome_classification(head=head, out=tmp_path / "run", **curved, **quick(small, epochs=4))
    assert result.metric == "mcc" and result.mean > 0.9
    seed = result.seeds[0]
    assert set(seed["test"]) == {"mcc", "accuracy", "f1", "loss"}
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    if HEADS[head].space != "euclidean":
        assert lines[-1]["K"] != pytest.approx(-0.7, abs=1e-7)
        assert lines[-1]["max_radius"] < 2.1  # features were clipped to norm 1


def test_an_interrupted_run_gives_the_same_numbers(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = api.genome_classification(head="bmlr-l", out=tmp_path / "whole", **quick(small))
    config = api.settle(GenomeConfig, {**quick(small), "dataset": str(small), "head": "bmlr-l"})
    data = Genome.load(config)
    train_epoch = Genome.train_epoch

    def interrupted(self: Genome, epoch: int) -> float:
        if epoch == 3:
            raise KeyboardInterrupt
        return train_epoch(self, epoch)

    monkeypatch.setattr(Genome, "train_epoch", interrupted)
    monkeypatch.setattr("hypergraph.tasks.keeper.EVERY", 0.0)
    with (
        Run.create(config, Genome.fingerprint(data), tmp_path / "cut") as run,
        pytest.raises(KeyboardInterrupt),
    ):
        runner.run_seed(run, 0, data)
    monkeypatch.undo()
    resumed = api.genome_classification(resume=tmp_path / "cut")
    assert resumed.seeds[0]["test"] == whole.seeds[0]["test"]
    assert (tmp_path / "cut/metrics.jsonl").read_text() == (tmp_path / "whole/metrics.jsonl").read_text()


def test_an_earlier_run_with_dropout_is_still_a_run(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions wrote a dropout, which did nothing, into every file of a run."""
    now = GenomeConfig.to_dict
    monkeypatch.setattr(GenomeConfig, "to_dict", lambda self: {**now(self), "dropout": 0.2})
    old = tmp_path / "old"
    whole = api.genome_classification(out=old, **quick(small, seeds=2))
    monkeypatch.undo()
    assert "dropout = 0.2" in (old / "config.toml").read_text()
    assert describe(old)["damaged"] == [] and predict(old, tmp_path / "out.csv") == 20
    shutil.rmtree(old / "seeds" / "1")
    (old / "result.json").unlink()
    resumed = api.genome_classification(resume=old)
    assert [seed["test"] for seed in resumed.seeds] == [seed["test"] for seed in whole.seeds]
    new = api.genome_classification(config=old / "config.toml", out=tmp_path / "new")
    assert "dropout" not in new.config and [s["test"] for s in new.seeds] == [s["test"] for s in whole.seeds]
    assert compare([old, new.folder])[1][1].settings == {}


def test_letters_reach_the_network_one_hot(small: Path) -> None:
    config = api.settle(GenomeConfig, {**quick(small), "dataset": str(small)})
    task = Genome(config, 0, Genome.load(config))
    x = task.examples("train", torch.arange(3))
    assert x.shape == (3, 5, 12)
    torch.testing.assert_close(x.sum(1), torch.ones(3, 12))
    assert x[0, :, 0].tolist() == [0, 1, 0, 0, 0]  # class 0 begins with C


def test_notices_are_said(small: Path, tmp_path: Path) -> None:
    said: list[str] = []
    api.genome_classification(out=tmp_path / "run", say=said.append, length=10, **quick(small, epochs=1))
    assert "Note: 100 of 100 sequences were cut to 10 letters, 0 were filled with N." in said


def test_wrong_settings(small: Path) -> None:
    for name, value, words in [
        ("milestones", "6;8", "milestones must be epochs such as 60,85, got '6;8'"),
        ("batch", 1, "batch must be at least 2"),
        ("length", 0, "length must be at least 1"),
        ("head", "bmlr", "did you mean 'bmlr-"),
    ]:
        with pytest.raises(InputError, match=words):
            api.settle(GenomeConfig, {"dataset": str(small), name: value})
