"""Early stopping, best weights, learning rates, the guard, and resuming to the same numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry import Lorentz, PoincareBall
from hypergraph.tasks.guard import TrainingStopped, step, telemetry
from hypergraph.tasks.keeper import Keeper, Progress
from hypergraph.tasks.loop import Schedule, train


class Toy:
    """Regression with dropout; every batch order and mask comes from torch's generator."""

    def __init__(
        self, *, scores: list[float] | None = None, poison: int = 0, optimizer: str = "adam"
    ) -> None:
        torch.manual_seed(0)
        self.x, self.y = torch.randn(32, 4), torch.randn(32, 1)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        if optimizer == "adam":
            self.optimizer: torch.optim.Optimizer = torch.optim.Adam(
                self.model.parameters(), lr=0.1, fused=True
            )
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        self.scores, self.poison, self.epoch = scores, poison, 0
        self.rates: list[float] = []

    def train_epoch(self, epoch: int) -> float:
        self.model.train()
        self.epoch = epoch
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        loss = 0.0
        for batch in torch.randperm(32).split(16):
            x = self.x[batch] * (float("inf") if epoch == self.poison else 1.0)
            loss = step((self.model(x) - self.y[batch]).square().mean(), self.model, self.optimizer)
        return loss

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        self.model.eval()
        fit = -(self.model(self.x) - self.y).square().mean().item()
        return {"val_fit": self.scores[self.epoch - 1] if self.scores else fit, "boundary_share": 0.25}


def weights(task: Toy) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in task.model.parameters()])


def keeper(folder: Path, head: str = "toy") -> Keeper:
    def check(found: dict[str, str], path: Path) -> None:
        if found != {"head": head}:
            raise InputError(f"{path}: of a run with {found}")

    return Keeper(folder, {"head": head}, check, every=0.0)


def test_stops_and_restores_best(tmp_path: Path) -> None:
    scores = [1.0, 3.0, 2.0, 3.0, 2.0, 2.0, 2.0, 9.0]
    task = Toy(scores=scores)
    progress, _ = train(task, Schedule(100, "val_fit", patience=3), keeper(tmp_path))
    assert (progress.best_epoch, progress.epoch) == (2, 5)  # an equal value is not a better one
    other = Toy(scores=scores)
    train(other, Schedule(2), Keeper(tmp_path / "two", {}))
    assert torch.equal(weights(task), weights(other))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5]


def test_not_before_min_epochs(tmp_path: Path) -> None:
    schedule = Schedule(100, "val_fit", patience=2, min_epochs=7)
    progress, _ = train(Toy(scores=[1.0] * 100), schedule, keeper(tmp_path))
    assert progress.epoch == 7


def test_evaluates_every_k(tmp_path: Path) -> None:
    train(Toy(), Schedule(7, "val_fit", eval_every=3), keeper(tmp_path))
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [3, 6, 7]


def test_milestones(tmp_path: Path) -> None:
    task = Toy(optimizer="sgd")
    train(task, Schedule(6, milestones=(2, 4), gamma=0.5), keeper(tmp_path))
    assert task.rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025, 0.025])


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("stop", [1, 4, 9])
def test_resumes_to_the_same_numbers(tmp_path: Path, optimizer: str, stop: int) -> None:
    schedule = Schedule(12, "val_fit", milestones=(6,))
    whole = Toy(optimizer=optimizer)
    train(whole, schedule, keeper(tmp_path / "whole"))

    def kill(fraction: float, note: str) -> None:
        if note.startswith(f"epoch {stop} "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Toy(optimizer=optimizer), schedule, keeper(tmp_path / "broken"), kill)
    # what a killed process wrote beyond its last checkpoint, and half a line
    with (tmp_path / "broken" / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"epoch": stop + 1, "loss": 0}) + '\n{"epoch": 99, "lo')
    again = Toy(optimizer=optimizer)
    torch.manual_seed(12345)
    train(again, schedule, keeper(tmp_path / "broken"))
    assert torch.equal(weights(whole), weights(again))
    assert (tmp_path / "whole" / "metrics.jsonl").read_text() == (
        tmp_path / "broken" / "metrics.jsonl"
    ).read_text()


def test_refuses_a_checkpoint_of_something_else(tmp_path: Path) -> None:
    train(Toy(), Schedule(2), keeper(tmp_path))
    with pytest.raises(InputError, match=r"of a run with {'head': 'toy'}"):
        train(Toy(), Schedule(2), keeper(tmp_path, head="other"))
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"not a checkpoint written by hypergraph.*delete the folder"):
        train(Toy(), Schedule(2), keeper(tmp_path))


def test_refuses_weights_of_another_shape(tmp_path: Path) -> None:
    train(Toy(), Schedule(2), keeper(tmp_path))
    wider = Toy()
    wider.model = nn.Sequential(nn.Linear(4, 9), nn.Dropout(0.5), nn.Linear(9, 1))
    with pytest.raises(InputError, match=r"weights of another model \(0.bias is \(8,\) there, \(9,\) here"):
        train(wider, Schedule(2), keeper(tmp_path))


def test_guard_names_epoch_layer_and_boundary(tmp_path: Path) -> None:
    with pytest.raises(
        TrainingStopped, match=r"epoch 3: the loss is (nan|inf).*0 \(Linear\).*25.0% of the points"
    ):
        train(Toy(poison=3), Schedule(5), keeper(tmp_path))


def test_guard_names_the_gradient() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    before = model.weight.clone()
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.raises(ArithmeticError, match="the gradient of weight is not finite"):
        step(model(torch.ones(1)).abs().sqrt().sum(), model, optimizer)
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize("K", [-0.3, -2.0])
def test_telemetry(K: float) -> None:
    space = PoincareBall(K=K)
    edge = 1 / (-K) ** 0.5
    points = torch.tensor([[0.0, 0.0], [0.5 * edge, 0.0], [0.0, 0.985 * edge], [0.0, 0.995 * edge]])
    for model, z in ((space, points), (Lorentz(K=K), space.to_lorentz(points))):
        values = telemetry(z, model)
        assert values["boundary_share"] == 0.25
        assert values["max_radius"] == pytest.approx(space.dist0(points).max().item(), rel=1e-4)
        assert values["K"] == pytest.approx(K)


def test_a_checkpoint_does_not_bring_back_a_run_that_was_deleted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").touch()
    task = Toy(scores=[1.0])
    kept = Keeper(run / "seeds" / "0", {}, every=0.0, run=run / "config.toml")
    kept.save(task, Progress(), {})
    kept.log({"epoch": 1})
    shutil.rmtree(run)
    kept.save(task, Progress(), {})  # makes the folder again
    with pytest.raises(FileNotFoundError, match="deleted while the run went on"):
        kept.log({"epoch": 2})
    kept.close()
