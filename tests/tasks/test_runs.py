"""Runs from beginning to end: the folder, killing and resuming, jobs, and what may go wrong between."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch_geometric.data import Data

import hypergraph
from hypergraph.errors import InputError
from hypergraph.nn.registry import FCS, HEADS
from hypergraph.tasks import checkpoint, genome_classification, link_prediction, node_classification
from hypergraph.tasks.compare import compare
from hypergraph.tasks.predict import predict
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import Run
from hypergraph.tasks.show import describe, show

from .conftest import write_graph

ROOT = Path(hypergraph.__file__).parents[1]
FILES = {"config.toml", "metrics.jsonl", "result.json", "model.safetensors", "embedding.npz", "curves.png"}


def numbers(result: Result) -> list[dict[str, object]]:
    """What must not differ between runs of the same seed."""
    return [{name: value for name, value in seed.items() if name != "seconds"} for seed in result.seeds]


@pytest.fixture(scope="module")
def finished(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of two seeds, one after the other."""
    out = tmp_path_factory.mktemp("runs") / "run"
    return node_classification(graph, seeds=2, epochs=12, K=-0.7, jobs=1, out=out)


def test_the_folder(finished: Result) -> None:
    folder = finished.folder
    assert {file.name for file in folder.iterdir()} >= FILES
    assert not list(folder.rglob("checkpoint*"))
    on_disk = json.loads((folder / "result.json").read_text())
    assert len(on_disk.pop("sha256")) == 64
    assert on_disk == finished.to_dict()
    assert Result.read(folder) == finished
    assert [seed["seed"] for seed in on_disk["seeds"]] == [0, 1]
    assert on_disk["summary"]["test_f1"]["mean"] == pytest.approx(np.mean(finished.values()))
    assert on_disk["summary"]["test_f1"]["std"] == pytest.approx(np.std(finished.values(), ddof=1))
    assert {"torch", "hypergraph", "numpy"} <= on_disk["versions"].keys()
    assert on_disk["about"]["split"] == "strict" and on_disk["about"]["leaks"] is None
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines if line["seed"] == 1] == list(range(1, 13))
    assert {"loss", "val_f1", "boundary_share", "max_radius", "K"} <= lines[0].keys()
    with np.load(folder / "embedding.npz") as arrays:
        assert arrays["points"].shape == (120, 16) and arrays["space"] == "poincare"
        assert arrays["K"] == pytest.approx(-0.7)
    weights = load_file(folder / "model.safetensors")
    assert weights["head.space.curvature.value"].item() == pytest.approx(-0.7)


def test_same_seed_same_numbers_on_any_jobs(finished: Result, graph: Path, tmp_path: Path) -> None:
    torch.manual_seed(99)
    before = torch.get_rng_state()
    again = node_classification(graph, seeds=2, epochs=12, K=-0.7, jobs=2, out=tmp_path / "run")
    assert numbers(again) == numbers(finished)
    assert torch.equal(torch.get_rng_state(), before)
    theirs, ours = (load_file(run.folder / "model.safetensors") for run in (finished, again))
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)
    other = node_classification(graph, seeds=1, seed=1, epochs=12, K=-0.7, out=tmp_path / "one")
    assert numbers(other) == numbers(finished)[1:]


@pytest.fixture
def no_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs."""
    monkeypatch.setattr("hypergraph.viz.training.plot_curves", lambda metrics, out: None)


@pytest.mark.usefixtures("no_plot")
def test_a_full_disk_loses_no_finished_seed(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = checkpoint.save

    def full(path: Path, tensors: dict[str, torch.Tensor], state: dict[str, object]) -> None:
        if path.parent.name == "1":
            raise OSError(28, "No space left on device", str(path))
        save(path, tensors, state)

    monkeypatch.setattr(checkpoint, "save", full)
    out = tmp_path / "run"
    with pytest.raises(
        InputError, match=r"No space left on device\. 1 of 2 seeds are finished and kept.*--resume"
    ):
        node_classification(graph, seeds=2, epochs=3, jobs=1, out=out)
    monkeypatch.undo()
    assert [seed["seed"] for seed in node_classification(resume=out).seeds] == [0, 1]


def test_unwritable_folder(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the run folder cannot be written"):
        node_classification(graph, out=tmp_path / "file" / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").write_text("")
    with pytest.raises(InputError, match="the folder is not empty"):
        node_classification(graph, out=tmp_path / "full")


@pytest.mark.usefixtures("no_plot")
def test_folders_are_numbered(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [node_classification(graph, seeds=1, epochs=1).folder.name for _ in range(2)]
    assert names == ["node-clf-three-bmlr-p-1", "node-clf-three-bmlr-p-2"]


def test_resume_refuses_what_does_not_fit(finished: Result, graph: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished.folder, run)
    for given, text in (
        ({"head": "pmlr"}, "this run has head = bmlr-p, not pmlr"),
        ({"lr": 0.5}, "this run has lr = 0.01, not 0.5"),
        ({"out": tmp_path}, "leave out --config and --out"),
    ):
        with pytest.raises(InputError, match=text):
            node_classification(resume=run, **given)
    with pytest.raises(InputError, match="a run of node-clf, not of link-pred"):
        link_prediction(resume=run)
    with pytest.raises(InputError, match="not a run folder"):
        node_classification(resume=tmp_path)
    with Run.open(run).hold(), pytest.raises(InputError, match="another process"), Run.open(run).hold(0.1):
        pass


@pytest.mark.usefixtures("no_plot")
def test_checkpoint_of_another_head(graph: Path, tmp_path: Path) -> None:
    def stop(text: str) -> None:
        raise KeyboardInterrupt

    for head in ("bmlr-p", "pmlr"):
        with pytest.raises(KeyboardInterrupt):
            node_classification(graph, head, seeds=1, epochs=2, out=tmp_path / head, say=stop)
        place = tmp_path / head / "seeds" / "0"
        place.mkdir(parents=True)
    node_classification(resume=tmp_path / "pmlr")
    model = tmp_path / "pmlr" / "seeds" / "0" / "model.safetensors"
    shutil.copy(model, tmp_path / "bmlr-p" / "seeds" / "0" / "checkpoint.safetensors")
    with pytest.raises(InputError, match="of a run with head = pmlr, this run has head = bmlr-p"):
        node_classification(resume=tmp_path / "bmlr-p")
    shutil.copy(model, tmp_path / "bmlr-p" / "seeds" / "0" / "model.safetensors")
    with pytest.raises(InputError, match="of a run with head = pmlr, this run has head = bmlr-p"):
        predict(tmp_path / "bmlr-p", tmp_path / "out.csv", seed=0)


@pytest.mark.usefixtures("no_plot")
def test_dataset_changed_under_the_run(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "mine.npz")
    result = node_classification(graph, seeds=1, epochs=2, out=tmp_path / "run")
    write_graph(graph, seed=1)
    for action in (
        lambda: node_classification(resume=result.folder),
        lambda: predict(result.folder, tmp_path / "out.csv"),
    ):
        with pytest.raises(InputError, match="is not the one this run was made with"):
            action()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.usefixtures("no_plot")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_of_data_that_moved(tmp_path: Path, jobs: int) -> None:
    """The run names the folder that it was made with; --data says where that is now."""
    here, new = tmp_path / "here", tmp_path / "new"
    (here / "small").mkdir(parents=True)
    for part, size in (("train", 40), ("dev", 8), ("test", 8)):
        rows = [f"{'CA'[number % 2] * 6}GT,{number % 2}" for number in range(size)]
        (here / "small" / f"{part}.csv").write_text("\n".join(["sequence,label", *rows]) + "\n")
    run = tmp_path / "run"
    whole = genome_classification("small", data=str(here), seeds=2, epochs=1, batch=20, jobs=1, out=run)
    here.rename(new)
    with pytest.raises(InputError, match=r"small: neither 'simulated' nor .* name it with --data"):
        predict(run, tmp_path / "out.csv")
    assert predict(run, tmp_path / "out.csv", data=str(new)) == 8
    for seed in (0, 1):
        shutil.rmtree(run / "seeds" / str(seed))
    (run / "result.json").unlink()
    resumed = genome_classification(resume=run, data=str(new), jobs=jobs)
    assert numbers(resumed) == numbers(whole) and resumed.config == whole.config
    assert describe(run)["damaged"] == []
    (new / "small" / "dev.csv").write_text((new / "small" / "train.csv").read_text())
    with pytest.raises(InputError, match="is not the one this run was made with"):
        predict(run, tmp_path / "out.csv", data=str(new))


@pytest.mark.usefixtures("no_plot")
def test_masks_changed_under_the_run(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "mine.npz")
    arrays = dict(np.load(graph))
    part = np.arange(len(arrays["y"])) % 3
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    np.savez(graph, **arrays, **masks)
    result = node_classification(graph, seeds=1, epochs=2, out=tmp_path / "run")
    assert result.about["split"] == "masks"
    masks["val_mask"], masks["test_mask"] = masks["test_mask"], masks["val_mask"]
    np.savez(graph, **arrays, **masks)
    with pytest.raises(InputError, match="is not the one this run was made with"):
        node_classification(resume=result.folder)


def test_predict(finished: Result, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert predict(finished.folder, out) == 120
    rows = np.genfromtxt(out, delimiter=",", names=True, dtype=None, encoding="utf-8")
    test = rows[rows["part"] == "test"]
    best = next(seed for seed in finished.seeds if seed["seed"] == finished.model_seed)
    assert np.mean(test["label"] == test["predicted"]) == pytest.approx(best["test"]["accuracy"])
    assert np.allclose(rows["p_0"] + rows["p_1"] + rows["p_2"], 1, atol=1e-5)
    assert predict(finished.folder, out, seed=1) == 120
    with pytest.raises(InputError, match="no seed 7; it has 0, 1"):
        predict(finished.folder, out, seed=7)


def test_the_confusion_matrix_counts_the_test_nodes(finished: Result) -> None:
    for seed in finished.seeds:
        cells = np.array(seed["confusion"])
        assert cells.shape == (3, 3) and cells.sum() == finished.about["sizes"]["test"]
        assert np.trace(cells) / cells.sum() == pytest.approx(seed["test"]["accuracy"])
    summed = np.sum([seed["confusion"] for seed in finished.seeds], axis=0)
    assert np.array_equal(finished.confusion, summed)
    table = finished.confusion_table()
    assert table is not None
    assert [str(column.header) for column in table.columns][1:4] == finished.about["classes"]
    older = [{name: value for name, value in seed.items() if name != "confusion"} for seed in finished.seeds]
    assert replace(finished, seeds=older).confusion is None


def test_show(finished: Result, capsys: pytest.CaptureFixture[str]) -> None:
    show(finished.folder)
    printed = capsys.readouterr().out
    assert f"{100 * finished.mean:.2f}" in printed and "curves.png" in printed and "lr = 0.01" in printed
    assert "row is the class, column what it was taken for" in printed and "right, %" in printed
    assert describe(finished.folder)["finished"] is True


@pytest.mark.usefixtures("no_plot")
def test_compare(finished: Result, graph: Path, tmp_path: Path) -> None:
    other = node_classification(graph, "pmlr", seeds=2, epochs=5, jobs=1, out=tmp_path / "other")
    metric, rows = compare([finished.folder, other.folder, finished.folder])
    assert metric == "f1" and rows[0].p is None
    assert rows[1].difference == pytest.approx(other.mean - finished.mean)
    assert (rows[2].difference, rows[2].interval, rows[2].p) == (0.0, (0.0, 0.0), 1.0)
    random = node_classification(graph, seeds=2, epochs=1, split="random", jobs=1, out=tmp_path / "random")
    _, rows = compare([finished.folder, random.folder])
    assert rows[1].p is None and "another split" in rows[1].note
    with pytest.raises(InputError, match="two runs or more"):
        compare([finished.folder])


@pytest.mark.usefixtures("no_plot")
def test_a_graph_from_python(tmp_path: Path) -> None:
    torch.manual_seed(0)
    index = torch.randint(60, (2, 200))
    data = Data(torch.randn(60, 5), torch.cat([index, index.flip(0)], 1), y=torch.randint(2, (60,)))
    result = node_classification(data, "bmlr-l", seeds=2, epochs=3, split="random", out=tmp_path / "run")
    assert len(result.seeds) == 2 and result.parameters > 0
    assert result.config["head"] == "bmlr-l"


@pytest.mark.usefixtures("no_plot")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("head", HEADS)
def test_every_head(graph: Path, tmp_path: Path, head: str, dtype: str) -> None:
    curved = {} if HEADS[head].space == "euclidean" else {"K": -0.5, "learn_curvature": True}
    result = node_classification(
        graph, head, seeds=1, epochs=30, lr=0.05, dtype=dtype, out=tmp_path / "run", **curved
    )
    assert result.mean > 0.6
    with np.load(result.folder / "embedding.npz") as arrays:
        assert arrays["points"].dtype == dtype and np.isfinite(arrays["points"]).all()


@pytest.mark.usefixtures("no_plot")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fc", FCS)
def test_every_layer(graph: Path, tmp_path: Path, fc: str, dtype: str) -> None:
    curved = {} if FCS[fc].space == "euclidean" else {"K": -0.5}
    result = link_prediction(
        graph, fc, seeds=1, epochs=30, lr=0.05, dtype=dtype, out=tmp_path / "run", **curved
    )
    assert result.mean > 0.55
    assert result.values("ap")[0] > 0.55


@pytest.mark.usefixtures("no_plot")
@pytest.mark.parametrize(
    ("encoder", "head"), [("hnn", "bmlr-l"), ("gcn", "bmlr-p"), ("mlp", "mlr"), ("gcn", "lmlr")]
)
def test_every_encoder(graph: Path, tmp_path: Path, encoder: str, head: str) -> None:
    result = node_classification(graph, head, encoder=encoder, seeds=1, epochs=60, out=tmp_path / "run")
    assert result.mean > 0.5


def test_what_does_not_go_together(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="head 'mlr' is Euclidean, the encoder hgcn is not; use --encoder gcn"
    ):
        node_classification(graph, "mlr", encoder="hgcn", out=tmp_path / "run")
    with pytest.raises(InputError, match="'bfc-p' is poincare, and the encoder gcn has no such layers"):
        link_prediction(graph, "bfc-p", encoder="gcn", out=tmp_path / "run")
    with pytest.raises(InputError, match="fc 'ltfc' is lorentz, but the head 'bmlr-p' is poincare"):
        node_classification(graph, "bmlr-p", fc="ltfc", out=tmp_path / "run")
    with pytest.raises(InputError, match="jobs must be at least 1"):
        node_classification(graph, jobs=0, out=tmp_path / "run")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="The device 'cuda' is not available"):
            node_classification(graph, device="cuda", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_plot")
@pytest.mark.parametrize("dataset", ["cora", "pubmed", "airport", "disease"])
def test_published_graphs_stay_finite(
    real_data: Callable[[str], Path | None], tmp_path: Path, dataset: str
) -> None:
    folder = real_data(dataset)
    settings: dict[str, Any] = {"seeds": 1, "epochs": 3, "lr": 0.1, "data": folder and str(folder)}
    node_classification(dataset, "bmlr-l", **settings, out=tmp_path / "node")
    link_prediction(dataset, "bfc-p", **settings, out=tmp_path / "link")


@pytest.mark.usefixtures("no_plot")
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("dataset", ["cora", "pubmed", "airport", "disease"])
def test_fifty_epochs_stay_finite(
    real_data: Callable[[str], Path | None], tmp_path: Path, dataset: str, head: str, dtype: str
) -> None:
    out, folder = tmp_path / "run", real_data(dataset)
    settings: dict[str, Any] = {"seeds": 1, "epochs": 50, "dtype": dtype, "data": folder and str(folder)}
    result = node_classification(dataset, head, **settings, out=out)
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 50
    assert result.parameters > 0
