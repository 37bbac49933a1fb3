"""`hypergraph tune`: it never sees test scores, goes on where it stopped, and writes what it found."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hypergraph.errors import InputError
from hypergraph.tasks.config import NodeConfig, preset, read_settings, settle, tomllib
from hypergraph.tasks.search_space import Choice, Range, describe, parse

pytest.importorskip("optuna", reason="needs the extra hypergraph[tune]")

from hypergraph.tasks import tune as module
from hypergraph.tasks.tune import tune, validate
from hypergraph.tasks.tune_command import tune_from_words, write_preset

SPACE = parse(NodeConfig, ["lr=1e-3:1e-1:log", "dropout=0,0.3"])


def short(**more: Any) -> NodeConfig:
    return settle(NodeConfig, {"dataset": "disease", "epochs": 2, "seeds": 2, "min_epochs": 0, **more})


class Forbidden:
    """Stands where test nodes were: any use of it is an error."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("a trial looked at the test part")

    __len__ = __iter__ = __index__ = __array__ = __torch_function__ = __getattribute__  # type: ignore[assignment]


def test_a_trial_cannot_see_the_test_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test nodes are taken away, so a trial that computed their score would fail."""
    from hypergraph.tasks.node_clf import NodeClf

    real = NodeClf.load

    def load(config: NodeConfig) -> Any:
        data = real(config)
        return replace(data, split=replace(data.split, test=Forbidden()))

    def forbidden(self: Any) -> None:
        raise AssertionError("a trial was tested")

    monkeypatch.setattr(NodeClf, "load", staticmethod(load))
    module._data.cache_clear()
    with pytest.raises(AssertionError, match="looked at the test part"):
        NodeClf(short(), 0, load(short())).test()
    monkeypatch.setattr(NodeClf, "test", forbidden)
    found = tune(short(seeds=1), SPACE, folder=tmp_path / "study", trials=2)
    module._data.cache_clear()
    assert found.trials == 2 and 0 <= found.value <= 1


def test_few_choices_are_each_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sampler repeats itself among few; what was interrupted is enqueued already."""
    seen = []

    def scored(config: NodeConfig, seed: int) -> float:
        seen.append((config.lr, config.dropout))
        return config.lr

    monkeypatch.setattr(module, "validate", scored)
    space = parse(NodeConfig, ["lr=0.001,0.01,0.1", "dropout=0,0.3"])
    for trials in (6, 6):
        tune(short(seeds=1), space, folder=tmp_path / "study", trials=trials)
    assert len(seen) == 6 and len(set(seen)) == 6


def test_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted trial is tried again, and finished ones are not."""
    folder, seen = tmp_path / "study", []

    def scored(config: NodeConfig, seed: int) -> float:
        seen.append((config.lr, seed))
        if len(seen) == 4:
            raise KeyboardInterrupt
        return config.lr

    monkeypatch.setattr(module, "validate", scored)
    with pytest.raises(KeyboardInterrupt, match="1 of 3 trials are finished and kept"):
        tune(short(), SPACE, folder=folder, trials=3)
    found = tune(short(), SPACE, folder=folder, trials=3)
    assert found.trials == 3
    rates = [rate for rate, seed in seen if seed == 0]
    assert rates[1] == rates[2] and len(set(rates)) == 3  # the second trial, twice
    assert found.found["lr"] == max(rates) == found.config.lr
    count = len(seen)
    assert tune(short(), SPACE, folder=folder, trials=3) == found and len(seen) == count
    assert read_settings(NodeConfig, folder / "best.toml")["lr"] == found.config.lr
    assert (folder / "trials.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="a study with other settings or another search"):
        tune(short(epochs=3), SPACE, folder=folder, trials=3)


def test_a_trial_that_falls_behind_is_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five trials run to their end; a later one below their median stops after its first seed."""
    started: list[int] = []

    def scored(config: NodeConfig, seed: int) -> float:
        started.append(seed)
        return 0.9 if len(started) <= 10 else 0.1

    monkeypatch.setattr(module, "validate", scored)
    found = tune(short(), SPACE, folder=tmp_path / "study", trials=7)
    assert started == [0, 1] * 5 + [0, 0]
    assert (found.trials, found.pruned, found.value) == (7, 2, pytest.approx(0.9))
    assert "7 trials, 2 of them pruned" in found.headline()


def test_settings_that_do_not_train_lose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scored(config: NodeConfig, seed: int) -> float:
        if config.dropout == 0:
            raise InputError("seed 0: the loss is not finite.")
        return 0.5

    monkeypatch.setattr(module, "validate", scored)
    found = tune(short(), SPACE, folder=tmp_path / "study", trials=6)
    assert found.config.dropout == 0.3
    with pytest.raises(InputError, match=r"no trial was finished. seed 0: the loss is not finite"):
        tune(short(), parse(NodeConfig, ["dropout=0,0.0"]), folder=tmp_path / "other", trials=2)


@pytest.mark.slow
def test_side_by_side(tmp_path: Path) -> None:
    found = tune(short(), SPACE, folder=tmp_path / "study", trials=3, jobs=2)
    assert found.trials == 3


def test_the_score_is_that_of_the_kept_weights() -> None:
    config = short(epochs=5)
    assert validate(config, 1) == validate(config, 1) != validate(replace(config, lr=1.0), 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr", "'lr' is no search; write lr="),
        ("rate=1:2", "Unknown setting 'rate'"),
        ("lr=0.1:0.01", "begins at or above its end"),
        ("K=-1:1:log", "must not contain 0"),
        ("lr=a,b", "lr must be of type float, got 'a'"),
        ("encoder=a:b", "is no range"),
        ("lr=1:2:linear", "is no range"),
        ("learn_curvature=yes", "learn_curvature is true or false"),
    ],
)
def test_a_search_that_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(NodeConfig, [text])


def test_search_spaces() -> None:
    texts = [
        "lr=1e-3:1e-1:log",
        "K=-2:-0.01:log",
        "dim=8:64",
        "encoder=hgcn,hnn",
        "learn-curvature=true,false",
    ]
    space = parse(NodeConfig, texts)
    assert space["dim"] == Range(8, 64, False, True) and space["encoder"] == Choice(("hgcn", "hnn"))
    assert space["learn_curvature"] == Choice((True, False))
    assert parse(
        NodeConfig, [f"{name}={text}" for name, text in describe(space).items() if "True" not in text]
    )

    class Trial:
        def suggest_float(self, name: str, low: float, high: float, log: bool) -> float:
            assert log and 0 < low < high
            return low

    assert space["K"].suggest(Trial(), "K") == -0.01  # type: ignore[arg-type]
    assert space["lr"].suggest(Trial(), "lr") == 0.001  # type: ignore[arg-type]


def test_what_cannot_be_tuned(tmp_path: Path) -> None:
    def words(task: str = "node-clf", **more: Any) -> None:
        given = {"search": ["lr=1e-3:1e-1"], "fixed": [], "trials": 1, **more}
        tune_from_words(task, {"dataset": "disease"}, None, folder=tmp_path / "s", **given)

    with pytest.raises(InputError, match="Image datasets have no validation part"):
        tune_from_words("image", {"dataset": "digits"}, None, ["lr=1e-3:1e-1"], [], folder=tmp_path / "s")
    for more, message in (
        ({"fixed": ["lr=0.1"]}, "lr is both set and searched"),
        ({"fixed": ["epochs"]}, "'epochs' sets nothing"),
        ({"fixed": ["epoch=1"]}, "Unknown setting 'epoch'"),
        ({"fixed": ["task=x"]}, "Unknown setting 'task'"),
        ({"search": ["chosen=a,b"]}, "Unknown setting 'chosen'"),
        ({"search": ["encoder=hgcn,hgnn"]}, "Unknown encoder 'hgnn'"),
        ({"search": ["norm=mean,symmetric", "encoder=hnn,gcn"]}, "The encoder hnn takes no norm"),
        ({"search": ["K=-1,-2"], "fixed": ["head=mlr"]}, "The head mlr is Euclidean and takes no K"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"task": "node"}, "Unknown task 'node'"),
    ):
        with pytest.raises(InputError, match=message):
            words(**more)
    assert not (tmp_path / "s").exists()


def test_a_search_may_be_over_what_some_trials_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that do not go together are a trial that fails; the default leaves out what does nothing."""
    monkeypatch.setattr(module, "validate", lambda config, seed: config.lr)
    search, folder = ["encoder=hgcn,hnn", "propagate=0,1"], tmp_path / "study"
    found = tune_from_words("node-clf", {"dataset": "disease"}, None, search, [], folder=folder, trials=4)
    assert found.trials == 3  # hnn cannot propagate
    found = tune_from_words(
        "node-clf", {"dataset": "disease"}, "mlr", [], [], folder=tmp_path / "flat", trials=1
    )
    assert set(found.found) == {"lr", "weight_decay", "dropout"}


def test_the_winner_becomes_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table is written or replaced; the rest of the file stays, comments included."""
    monkeypatch.setattr(module, "validate", lambda config, seed: config.lr)
    found = tune(short(), SPACE, folder=tmp_path / "study", trials=2)
    path = tmp_path / "node-clf.toml"
    path.write_text(
        "# ours\n[default]\nlr = 1.0 # one\n\n[disease.bmlr-p]\nlr = 9.0\nK = -9.0\n\n[cora]\ndim = 3\n"
    )
    for _ in range(2):
        assert write_preset(path, found, ["hypergraph", "tune", "node-clf"]) == "disease.bmlr-p"
        text = path.read_text()
        assert text.startswith(
            "# ours\n[default]\nlr = 1.0 # one\n\n[disease.bmlr-p]\n# hypergraph tune node-clf\n"
        )
        tables: Mapping[str, Any] = tomllib.loads(text)
        assert tables["disease"]["bmlr-p"] == found.found and tables["cora"] == {"dim": 3}
    new = tmp_path / "new.toml"
    write_preset(new, found, ["hypergraph", "tune"])
    assert tomllib.loads(new.read_text()) == {"disease": {"bmlr-p": found.found}}
    assert (
        preset("node-clf", "cora", "poincare", "bmlr-p")["dropout"] == 0.2
    )  # the package's own are as before


def test_of_two_searches_in_one_folder_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second would take the first one's trials for interrupted ones."""
    folder, said = tmp_path / "study", []

    def scored(config: NodeConfig, seed: int) -> float:
        with pytest.raises(InputError, match="another process is working on this") as refused:
            tune(short(), SPACE, folder=folder, trials=2)
        said.append(str(refused.value))
        return config.lr

    monkeypatch.setattr(module, "validate", scored)
    assert tune(short(), SPACE, folder=folder, trials=2).trials == 2 and len(said) == 4


def test_a_study_belongs_to_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "study"
    monkeypatch.setattr(module, "validate", lambda config, seed: config.lr)
    tune(short(), SPACE, folder=folder, trials=1)
    path = folder / "config.toml"
    text = path.read_text()
    path.write_text(text.replace('sha256 = "', 'sha256 = "0'))
    with pytest.raises(InputError, match="disease is not the one this study was made with"):
        tune(short(), SPACE, folder=folder, trials=2)
    path.write_text(text[: text.index("[data]")])  # of an earlier version
    assert tune(short(), SPACE, folder=folder, trials=2).trials == 2


@pytest.mark.posix
def test_a_damaged_study_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "study"
    monkeypatch.setattr(module, "validate", lambda config, seed: config.lr)
    tune(short(), SPACE, folder=folder, trials=2)
    whole, path = (folder / "study.db").read_bytes(), folder / "study.db"
    for column, table in (("value", "trial_values"), ("param_value", "trial_params")):
        path.write_bytes(whole)
        with contextlib.closing(sqlite3.connect(path)) as study, study:
            study.execute(f"UPDATE {table} SET {column} = {column} + 0.001")
        with pytest.raises(InputError, match=r"study.db: damaged, or not a study .*of trial 0"):
            tune(short(), SPACE, folder=folder, trials=2)
    for content in (b"", b"nonsense" * 1000, whole[: len(whole) // 2], bytes(len(whole))):
        path.write_bytes(content)
        if content:
            with pytest.raises(InputError, match=r"study.db: damaged, or not a study"):
                tune(short(), SPACE, folder=folder, trials=2)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a symbolic link"):
        tune(short(), SPACE, folder=folder, trials=2)
    assert not (tmp_path / "elsewhere").exists()
