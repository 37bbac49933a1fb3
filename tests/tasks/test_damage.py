"""What happens to a run from outside: damage, forged files, links, deleted folders, two at once."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from hypergraph.errors import InputError
from hypergraph.files import sweep
from hypergraph.tasks import checkpoint, keeper, node_classification, run, runner
from hypergraph.tasks.compare import compare
from hypergraph.tasks.config import tomllib
from hypergraph.tasks.listing import list_runs
from hypergraph.tasks.node_clf import NodeClf
from hypergraph.tasks.predict import predict
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import Run
from hypergraph.tasks.sealed import seal
from hypergraph.tasks.show import describe, show
from hypergraph.viz.training import read_metrics

SETTINGS: dict[str, Any] = {"epochs": 4, "K": -0.7, "jobs": 1, "dropout": 0.2}

pytestmark = pytest.mark.posix


@pytest.fixture(autouse=True)
def no_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs."""
    monkeypatch.setattr("hypergraph.viz.training.plot_curves", lambda metrics, out: None)


def numbers(result: Result) -> list[dict[str, object]]:
    return [{name: value for name, value in seed.items() if name != "seconds"} for seed in result.seeds]


@pytest.fixture(scope="module")
def finished(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of two seeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hypergraph.viz.training.plot_curves", lambda metrics, out: None)
        out = tmp_path_factory.mktemp("finished") / "run"
        return node_classification(graph, seeds=2, **SETTINGS, out=out)


@pytest.fixture(scope="module")
def broken(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two seeds that stopped in the second, after a checkpoint."""
    out = tmp_path_factory.mktemp("broken") / "run"
    train_epoch, started = NodeClf.train_epoch, [0]

    def stop(self: NodeClf, epoch: int) -> float:
        started[0] += epoch == 1
        if started[0] == 2 and epoch == 4:
            raise KeyboardInterrupt
        return train_epoch(self, epoch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeClf, "train_epoch", stop)
        patch.setattr(keeper, "EVERY", 0.0)
        with pytest.raises(KeyboardInterrupt, match="1 of 2 seeds are finished and kept"):
            node_classification(graph, seeds=2, **SETTINGS, out=out)
    assert (out / "seeds" / "1" / "checkpoint.safetensors").exists()
    return out


def copied(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    return to


def said(action: Callable[[], object]) -> str:
    """The sentence that an action ends with, if it does."""
    try:
        action()
    except InputError as error:
        return str(error)
    return ""


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)


def test_a_flipped_bit_never_changes_what_a_finished_run_says(finished: Result, tmp_path: Path) -> None:
    names = sorted(str(file.relative_to(finished.folder)) for file in finished.folder.rglob("*.*"))
    names = [name for name in names if not name.endswith(".lock")]
    assert len(names) == 5 + 2 * 4  # curves.png is not drawn here
    draw = random.Random(0)
    predict(finished.folder, tmp_path / "whole.csv")
    count, folder = 0, tmp_path / "run"
    for name in names:
        for _ in range(2):
            copied(finished.folder, folder)
            flip(folder / name, draw.randrange(8 * (folder / name).stat().st_size))
            shown = said(lambda: show(folder)) or " ".join(describe(folder)["damaged"])
            assert "damaged" in shown or "not " in shown, name
            if not said(lambda: predict(folder, tmp_path / "flipped.csv")):
                assert (tmp_path / "flipped.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
            refused = said(lambda: node_classification(resume=folder))
            if not refused:
                assert numbers(Result.read(folder)) == numbers(finished) and not describe(folder)["damaged"]
            assert not refused or "seeds" in refused or "config.toml" in refused
            count += bool(refused)
    assert count > 5


def test_a_damaged_history_is_not_drawn(finished: Result, tmp_path: Path) -> None:
    folder = copied(finished.folder, tmp_path / "run")
    path = folder / "metrics.jsonl"
    assert len(read_metrics(folder)) == 2
    path.write_text(path.read_text().replace('"loss": ', '"loss": 9'))
    with pytest.raises(InputError, match=r"metrics.jsonl: missing or damaged"):
        read_metrics(folder)
    path.write_text("")
    with pytest.raises(InputError, match=r"metrics.jsonl: damaged, or not metrics .*no epochs"):
        read_metrics(path)


def test_a_damaged_top_is_made_anew_of_the_seeds(finished: Result, tmp_path: Path) -> None:
    folder = copied(finished.folder, tmp_path / "run")
    for name in ("model.safetensors", "metrics.jsonl", "embedding.npz"):
        (folder / name).write_bytes(b"")
    with pytest.raises(InputError, match=r"model.safetensors: missing or damaged.*--resume.*makes it anew"):
        predict(folder, tmp_path / "out.csv")
    assert len(show(folder)) == 3
    assert predict(folder, tmp_path / "out.csv", seed=1) == 120
    assert numbers(node_classification(resume=folder)) == numbers(finished)
    for name in ("model.safetensors", "metrics.jsonl", "embedding.npz"):
        assert (folder / name).read_bytes() == (finished.folder / name).read_bytes()
    (folder / "result.json").write_text("{")
    with pytest.raises(InputError, match=r"result.json: damaged.*--resume makes it anew"):
        show(folder)
    assert numbers(node_classification(resume=folder)) == numbers(finished)


def test_a_damaged_seed_is_not_used(finished: Result, tmp_path: Path) -> None:
    for name in ("model.safetensors", "metrics.jsonl", "embedding.npz", "result.json"):
        folder = copied(finished.folder, tmp_path / "run")
        (folder / "seeds" / "1" / name).write_bytes(b"")
        (folder / "result.json").unlink()
        with pytest.raises(InputError, match=rf"seeds/1/{name}.*delete the folder .*seeds/1 to train"):
            node_classification(resume=folder)
        assert len(describe(folder)["damaged"]) == 1
        shutil.rmtree(folder / "seeds" / "1")
        assert numbers(node_classification(resume=folder)) == numbers(finished)


def test_a_flipped_bit_in_a_checkpoint(broken: Path, tmp_path: Path) -> None:
    source = broken / "seeds" / "1" / "checkpoint.safetensors"
    tensors, state = checkpoint.load(source)
    draw, refused, path = random.Random(1), 0, tmp_path / "checkpoint.safetensors"
    for _ in range(100):
        shutil.copy(source, path)
        flip(path, draw.randrange(8 * source.stat().st_size))
        try:
            there, plain = checkpoint.load(path)
        except InputError:
            refused += 1
            continue
        assert plain == state and all(torch.equal(tensors[name], there[name]) for name in tensors)
    assert refused > 95


def test_a_damaged_checkpoint_is_not_resumed(broken: Path, finished: Result, tmp_path: Path) -> None:
    folder = copied(broken, tmp_path / "run")
    path = folder / "seeds" / "1" / "checkpoint.safetensors"
    flip(path, 8 * (path.stat().st_size - 3))
    with pytest.raises(
        InputError, match=r"checkpoint.safetensors: damaged.*seeds/1 to train.*1 of 2 seeds are finished"
    ):
        node_classification(resume=folder, jobs=1)
    shutil.rmtree(folder / "seeds" / "1")
    assert numbers(node_classification(resume=folder, jobs=1)) == numbers(finished)


def test_show_says_of_an_unfinished_seed_what_its_checkpoint_holds(broken: Path, tmp_path: Path) -> None:
    folder = copied(broken, tmp_path / "run")
    path = folder / "seeds" / "1" / "metrics.jsonl"
    last = describe(folder)["seeds"]["1"]["last"]
    assert last == json.loads(path.read_text().splitlines()[-1]) and not describe(folder)["damaged"]
    with path.open("a") as file:
        file.write('{"epoch": 99, "loss": 7')  # being written, or cut off
    assert describe(folder)["seeds"]["1"]["last"] == last
    path.write_text(path.read_text().replace('"loss": ', '"loss": 9'))
    assert describe(folder)["seeds"]["1"] == {"finished": False}
    assert [text for text in describe(folder)["damaged"] if "metrics.jsonl: damaged" in text]
    flip(folder / "seeds" / "1" / "checkpoint.safetensors", 30_000)
    assert "checkpoint.safetensors: damaged" in show(folder)[0]


def test_a_ctrl_c_is_no_damage(tmp_path: Path) -> None:
    """At any moment of reading a checkpoint."""
    path, armed = tmp_path / "checkpoint.safetensors", [False]
    checkpoint.save(path, {f"t{i}": torch.ones(4) for i in range(1500)}, {})

    def interrupt(number: int, frame: object) -> None:
        if armed[0]:
            armed[0] = False
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    gc.disable()  # hypothesis looks on when garbage is collected, and is not to be the one interrupted
    try:
        for i in range(20):
            with contextlib.suppress(KeyboardInterrupt):
                armed[0] = True
                signal.setitimer(signal.ITIMER_VIRTUAL, 1e-3 * (i + 1))
                checkpoint.load(path)
                armed[0] = False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


@pytest.mark.parametrize("damage", ["emptied", "cut", "changed", "deleted"])
def test_a_damaged_history_is_not_continued(broken: Path, tmp_path: Path, damage: str) -> None:
    folder = copied(broken, tmp_path / "run")
    path = folder / "seeds" / "1" / "metrics.jsonl"
    content = path.read_bytes()
    damaged = {"emptied": b"", "cut": content[:-9], "changed": content.replace(b"1", b"2", 1)}
    path.write_bytes(damaged.get(damage, b""))
    if damage == "deleted":
        path.unlink()
    with pytest.raises(InputError, match=r"metrics.jsonl: (damaged|cannot be read)"):
        node_classification(resume=folder, jobs=1)


def test_links_are_not_followed(broken: Path, finished: Result, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes((broken / "seeds" / "1" / "metrics.jsonl").read_bytes() + b"precious\n")
    before = victim.read_bytes()
    names = ("seeds/1/metrics.jsonl", "seeds/1/checkpoint.safetensors", "seeds/1", "seeds")
    for name in (*names, "tensorboard", "tensorboard/seed-1", "wandb"):
        folder = copied(broken, tmp_path / "run")
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            (shutil.rmtree if path.is_dir() else os.unlink)(path)
        path.symlink_to(victim)
        with pytest.raises(InputError, match="a symbolic link"):
            node_classification(resume=folder, jobs=1)
    folder = copied(broken, tmp_path / "run")
    for name in ("metrics.jsonl", "result.json", "model.safetensors"):
        (folder / name).symlink_to(victim)
    # a hard link, as cheap copies of folders have them, cannot be told from a file
    (folder / "seeds" / "1" / "metrics.jsonl").unlink()
    os.link(victim, folder / "seeds" / "1" / "metrics.jsonl")
    assert numbers(node_classification(resume=folder, jobs=1)) == numbers(finished)
    assert victim.read_bytes() == before and not (folder / "metrics.jsonl").is_symlink()
    folder = copied(broken, tmp_path / "run")
    (folder / ".lock").unlink()
    (folder / ".lock").symlink_to(tmp_path / "made")
    with pytest.raises(InputError, match="the run folder cannot be written"):
        node_classification(resume=folder, jobs=1)
    assert not (tmp_path / "made").exists()


def forge(broken: Path, to: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """The broken run, with a checkpoint that is changed and has the right hash."""
    folder = copied(broken, to)
    path = folder / "seeds" / "1" / "checkpoint.safetensors"
    tensors, state = checkpoint.load(path)
    change(tensors, state)
    checkpoint.save(path, tensors, state)
    return folder


FORGED: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "another shape": lambda t, s: t.update({"optimizer.0.exp_avg": torch.zeros(3)}),
    "no step": lambda t, s: t.pop("optimizer.0.step"),
    "another key": lambda t, s: t.update({"optimizer.0.momentum_buffer": torch.zeros(3)}),
    "another parameter": lambda t, s: t.update({"optimizer.99.exp_avg": torch.zeros(3)}),
    "no number": lambda t, s: t.update({"optimizer.x.exp_avg": torch.zeros(3)}),
    "negative": lambda t, s: t.update({"optimizer.-1.exp_avg": torch.zeros(3)}),
    "weights": lambda t, s: t.update({"model.head.weight": torch.zeros(3)}),
    "best weights": lambda t, s: t.update({"best.head.weight": torch.zeros(3)}),
    "no generator": lambda t, s: t.pop("random.cpu"),
    "short generator": lambda t, s: t.update({"random.cpu": torch.zeros(3, dtype=torch.uint8)}),
    "wild generator": lambda t, s: t["random.cpu"].fill_(255),
    "float generator": lambda t, s: t.update({"random.cpu": torch.zeros(5056)}),
    "no owner": lambda t, s: s.pop("owner"),
    "owner": lambda t, s: s.update(owner=[1]),
    "epoch": lambda t, s: s["progress"].update(epoch="two"),
    "progress": lambda t, s: s.update(progress=None),
    "more progress": lambda t, s: s["progress"].update(more=1),
    "metrics": lambda t, s: s.update(metrics={"bytes": "many", "sha256": 3}),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_checkpoint_is_one_sentence(broken: Path, tmp_path: Path, what: str) -> None:
    folder = forge(broken, tmp_path / "run", FORGED[what])
    with pytest.raises(InputError, match=r"checkpoint.safetensors: "):
        node_classification(resume=folder, jobs=1)


def test_optimiser_state_takes_the_layout_of_its_parameter(tmp_path: Path) -> None:
    """Fused SGD pairs the memory of weights and momentum as it lies."""

    def convolution() -> tuple[nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        model = nn.Conv2d(3, 5, 3).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)

    def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        model(torch.linspace(-1, 1, 48 * 4).view(4, 3, 4, 4)).square().sum().backward()
        optimizer.step()

    whole, cut, again = convolution(), convolution(), convolution()
    step(*whole)
    step(*cut)
    path = tmp_path / "state.safetensors"
    checkpoint.save(path, checkpoint.optimizer_state(cut[1]), {})
    checkpoint.load_optimizer(again[1], checkpoint.load(path)[0], path)
    checkpoint.load_model(again[0], cut[0].state_dict(), path)
    assert again[1].param_groups[0]["lr"] == 0.1
    for pair in (whole, again):
        step(*pair)
    assert all(torch.equal(a, b) for a, b in zip(whole[0].parameters(), again[0].parameters()))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def forged(document: Any, data: st.DataObject) -> Any:
    """The document with one value, anywhere in it, replaced or deleted."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not (isinstance(inner, (dict, list)) and inner and data.draw(st.booleans())):
            break
        place = inner
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(values)
    return document


def check_forged(data: st.DataObject, finished: Result, tmp_path: Path) -> None:
    """Their hash is right, and what they say is not."""
    folder = copied(finished.folder, tmp_path / "run")
    name = data.draw(st.sampled_from(["result.json", "seeds/0/result.json", "config.toml"]))
    path, toml = folder / name, name.endswith("toml")
    document = (tomllib.loads if toml else json.loads)(path.read_text())
    del document["sha256"]
    try:
        text = (tomli_w.dumps if toml else json.dumps)(seal(forged(document, data)))
    except TypeError:  # TOML has no null
        return
    path.write_text(text, encoding="utf-8")
    if data.draw(st.booleans()):
        (folder / "result.json").unlink()
    for action in (
        lambda: describe(folder),
        lambda: show(folder),
        lambda: compare([folder, finished.folder]),
        lambda: predict(folder, tmp_path / "out.csv"),
        lambda: predict(folder, tmp_path / "out.csv", seed=0),
        lambda: runner.finished(Run.open(folder)),
    ):
        assert "\n" not in said(action)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_forged_documents_are_one_sentence(data: st.DataObject, finished: Result, tmp_path: Path) -> None:
    check_forged(data, finished, tmp_path)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_forged_documents(data: st.DataObject, finished: Result, tmp_path: Path) -> None:
    check_forged(data, finished, tmp_path)


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "deep", "list", "nothing"])
def test_other_things_in_the_place_of_a_file(finished: Result, tmp_path: Path, kind: str) -> None:
    for name in ("result.json", "config.toml", "seeds/0/result.json", "model.safetensors"):
        folder = copied(finished.folder, tmp_path / "run")
        path = folder / name
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            deep = b"[" * 100_000 + b"]" * 100_000
            path.write_bytes({"binary": b"\xff\x00" * 50, "deep": deep, "list": b"[1]"}.get(kind, b""))
        with pytest.raises(InputError, match=r"config.toml|result.json|model.safetensors"):
            predict(folder, tmp_path / "out.csv", None if name != "seeds/0/result.json" else 0)


@pytest.mark.parametrize("line", ["", "[1]", '{"seed": "x"}', '{"epoch": "one"}', '{"epoch": [1]}', "{"])
def test_forged_metrics_are_not_drawn(tmp_path: Path, line: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"seed": 0, "epoch": 1, "loss": null}\n' + line + "\n")
    with pytest.raises(InputError, match=r"metrics.jsonl: damaged, or not metrics"):
        read_metrics(path)


def test_of_two_runs_in_one_folder_one_is_refused(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, both = run._probe, threading.Barrier(2)

    def slowly(path: Path) -> None:
        """By now, both have seen that the folder is empty, if they may."""
        try:
            both.wait(timeout=0.5)
        except threading.BrokenBarrierError:
            both.reset()
        probe(path)

    monkeypatch.setattr(run, "_probe", slowly)
    found: dict[float, Result | InputError] = {}

    def start(lr: float) -> None:
        try:
            found[lr] = node_classification(graph, seeds=1, lr=lr, **SETTINGS, out=tmp_path / "both")
        except InputError as error:
            found[lr] = error

    threads = [threading.Thread(target=start, args=(lr,)) for lr in (0.1, 0.2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [str(answer) for answer in found.values() if isinstance(answer, InputError)]
    assert len(refused) == 1 and ("another process" in refused[0] or "not empty" in refused[0])
    monkeypatch.setattr(run, "_probe", probe)
    for lr, answer in found.items():
        if isinstance(answer, Result):
            alone = node_classification(graph, seeds=1, lr=lr, **SETTINGS, out=tmp_path / "alone")
            assert numbers(answer) == numbers(alone) and answer.config["lr"] == lr


def test_a_seed_belongs_to_its_settings(finished: Result, graph: Path, tmp_path: Path) -> None:
    other = node_classification(graph, seeds=1, lr=0.3, **SETTINGS, out=tmp_path / "other")
    folder = copied(finished.folder, tmp_path / "run")
    shutil.rmtree(folder / "seeds" / "0")
    shutil.copytree(other.folder / "seeds" / "0", folder / "seeds" / "0")
    (folder / "result.json").unlink()
    with pytest.raises(InputError, match=r"a run with lr = 0.3, this run has lr = 0.01; delete the"):
        node_classification(resume=folder)


def test_a_result_belongs_to_its_settings(finished: Result, graph: Path, tmp_path: Path) -> None:
    """That of another run says in nobody's table what this run found; it is made anew."""
    other = node_classification(graph, seeds=2, lr=0.3, **SETTINGS, out=tmp_path / "other")
    folder = copied(finished.folder, tmp_path / "runs" / "run")
    shutil.copy(other.folder / "result.json", folder / "result.json")
    sentence = r"result.json: of a run with lr = 0.3, config.toml has lr = 0.01; if the seeds"
    for action in (show, describe, Result.read, lambda path: compare([finished.folder, path])):
        with pytest.raises(InputError, match=sentence):
            action(folder)  # type: ignore[operator]
    assert "lr = 0.3" in list_runs(tmp_path / "runs")[0]["result"]
    assert numbers(node_classification(resume=folder)) == numbers(finished)


def test_a_seed_of_an_older_version_lacks_settings(finished: Result) -> None:
    """A setting that came later is at its default in both; one that was dropped or changed is another run."""
    run = Run.open(finished.folder)
    owner = run.owner(0)
    del owner["act"]
    run.check_owner(0, owner, finished.folder)
    for other in ({"act": "tanh"}, {"clip": 1.0}, {"seed": 1}, {"gone": 3}):
        with pytest.raises(InputError, match=f"of a run with {next(iter(other))} = "):
            run.check_owner(0, {**owner, **other}, finished.folder)


def test_another_number_of_processes_is_said(
    broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that share the batches of images have other numbers than one."""
    folder, told = copied(broken, tmp_path / "run"), list[str]()
    monkeypatch.setattr(run, "processes", lambda: 2)
    monkeypatch.setattr(runner, "processes", lambda: 2)
    runner.resume(folder, jobs=1, say=told.append)
    assert any("Note: the run was begun with 1 processes and goes on with 2" in text for text in told)


def test_two_threads_have_the_numbers_of_one(graph: Path, tmp_path: Path) -> None:
    options = [{"dtype": "float32", "seed": 3}, {"dtype": "float64", "seed": 4}]
    more = {**SETTINGS, "epochs": 40, "seeds": 1}
    alone = [node_classification(graph, **more, **o, out=tmp_path / f"{o['seed']}") for o in options]
    found: dict[int, Result] = {}

    def start(i: int) -> None:
        found[i] = node_classification(graph, **more, **options[i], out=tmp_path / f"thread{i}")

    threads = [threading.Thread(target=start, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [numbers(found[i]) for i in range(2)] == [numbers(result) for result in alone]
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_deleted_folder_ends_the_run(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    out = tmp_path / "run"

    def delete() -> None:
        while not list(out.glob("seeds/*/metrics.jsonl")):
            pass
        shutil.rmtree(out, ignore_errors=True)

    thread = threading.Thread(target=delete)
    thread.start()
    with pytest.raises(InputError, match=r"run: the run folder was deleted while the run went on; start the"):
        node_classification(
            graph, seeds=2, **SETTINGS | {"epochs": 100_000, "jobs": jobs}, patience=0, out=out
        )
    thread.join()
    assert not (out / "config.toml").exists()


def test_what_killed_processes_left_is_removed(broken: Path, tmp_path: Path) -> None:
    folder = copied(broken, tmp_path / "run")
    left = [
        folder / ".result.part-12.json",
        folder / "seeds" / "1" / ".checkpoint.part-34.safetensors",
        folder / "seeds" / "0" / "checkpoint.safetensors",  # of a seed that is finished
    ]
    for path in left:
        path.write_text("half")
    (folder / ".mine").write_text("not ours")
    node_classification(resume=folder, jobs=1)
    assert not any(path.exists() for path in left) and (folder / ".mine").exists()
    sweep(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_written(broken: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes anywhere")
    folder = copied(broken, tmp_path / "run")
    (folder / ".lock").unlink()
    folder.chmod(0o500)
    with pytest.raises(InputError, match="the run folder cannot be written"):
        node_classification(resume=folder, jobs=1)
