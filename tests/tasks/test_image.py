"""The image task: crops, training, and the same loss in two processes as in one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hypergraph.errors import InputError
from hypergraph.tasks import api
from hypergraph.tasks.classify_config import ImageConfig
from hypergraph.tasks.image import Image, crop


def settings(**more: Any) -> dict[str, Any]:
    return {"dataset": "digits", "width": 8, "batch": 64, **more}


def task(**more: Any) -> Image:
    config = api.settle(ImageConfig, settings(**more))
    torch.manual_seed(0)
    return Image(config, 0, Image.load(config))


def test_presets_are_the_papers() -> None:
    cifar, imagenet = (api.settle(ImageConfig, {"dataset": name}) for name in ("cifar100", "imagenet"))
    assert (cifar.epochs, cifar.batch, cifar.lr, cifar.weight_decay, cifar.gamma) == (
        200,
        128,
        0.1,
        5e-4,
        0.2,
    )
    assert cifar.milestone_epochs == (60, 120, 160) and (cifar.crop, cifar.pad, cifar.flip) == (32, 4, True)
    assert (imagenet.epochs, imagenet.batch, imagenet.weight_decay, imagenet.gamma) == (100, 256, 1e-4, 0.1)
    assert imagenet.milestone_epochs == (30, 60, 90) and imagenet.stem == "imagenet"
    clips = [
        api.settle(ImageConfig, {"dataset": name, "head": head}).clip
        for name in ("cifar10", "cifar100", "tiny-imagenet", "imagenet")
        for head in ("bmlr-p", "bmlr-l")
    ]
    assert clips == [1, 1, 1, 1, 1, 4, 1, 4]


def test_crop_cuts_and_mirrors() -> None:
    pixels = torch.arange(2 * 3 * 5 * 6).view(2, 3, 5, 6)
    out = crop(pixels, torch.tensor([0.0, 0.999]), torch.tensor([0.999, 0.0]), 4, torch.tensor([False, True]))
    torch.testing.assert_close(out[0], pixels[0, :, 0:4, 2:6])
    torch.testing.assert_close(out[1], pixels[1, :, 1:5, 0:4].flip(-1))
    assert out.is_contiguous(memory_format=torch.channels_last)
    middle = crop(
        pixels, torch.tensor([0.5] * 2), torch.tensor([0.5] * 2), 3, torch.zeros(2, dtype=torch.bool)
    )
    torch.testing.assert_close(middle, pixels[:, :, 1:4, 2:5])


def test_training_images_move_and_test_images_do_not() -> None:
    example = task(flip=True, pad=2)
    index = torch.arange(300)
    plain = example.examples("train", index)
    torch.testing.assert_close(plain, example.examples("train", index))
    assert plain.mean().abs() < 0.1 and abs(plain.std() - 1) < 0.1
    torch.manual_seed(1)
    moved = example.examples("train", index, augment=True)
    assert moved.shape == plain.shape
    same = (moved == plain).flatten(1).all(1)
    mirrored = (moved == plain.flip(-1)).flatten(1).all(1)
    # 25 places, and a mirror or none
    assert 0 < same.sum() < 30 and 0 < mirrored.sum() < 30


def test_digits_are_learnt_in_a_few_epochs(tmp_path: Path) -> None:
    result = api.image_classification(
        "digits", "bmlr-l", out=tmp_path / "run", width=8, epochs=5, batch=32, milestones="4", K=-1.4
    )
    assert result is not None and result.metric == "accuracy"
    assert result.mean > 0.85
    assert result.seeds[0]["best_epoch"] == 5
    with np.load(tmp_path / "run" / "embedding.npz") as saved:
        assert saved["points"].shape == (359, 65) and saved["K"] == pytest.approx(-1.4)


@pytest.mark.parametrize("head", ["bmlr-p", "bmlr-l", "mlr"])
def test_autocast_is_for_the_network_alone(head: str) -> None:
    plain, half = task(head=head), task(head=head, precision="bfloat16")
    x = plain.examples("train", torch.arange(64))
    half.model.load_state_dict(plain.model.state_dict())
    for one in (plain, half):
        one.model.eval()
    points, logits = half.network(x)
    assert points.dtype == logits.dtype == torch.float32
    torch.testing.assert_close(logits, plain.network(x)[1], rtol=0.1, atol=0.1)
    assert not torch.equal(logits, plain.network(x)[1])


def test_widths_that_onednn_cannot_take() -> None:
    with pytest.raises(InputError, match="width must be at least 8 and at most 512, got 4"):
        task(width=4)
    with pytest.raises(InputError, match="width must be a multiple of 8, got 12"):
        task(width=12)


def test_a_crop_that_does_not_fit() -> None:
    with pytest.raises(InputError, match="a crop of 32 pixels does not fit into images of 8 with 1 pixels"):
        task(crop=32)


WORKER = """
import os
import torch
from torch import nn
import torch.distributed as dist
import sys
from tests_task import task

dist.init_process_group("gloo")
example = task(pad=1)
torch.manual_seed(5)
losses = []
for norm in example.model.modules():
    if isinstance(norm, nn.BatchNorm2d):
        norm.eval()
for index in torch.randperm(1438)[:189].split(63):
    loss = torch.tensor(example.train_batch(index), dtype=torch.float64)
    dist.all_reduce(loss)
    losses.append(loss.item() / dist.get_world_size())
if dist.get_rank() == 0:
    print(*losses, flush=True)
dist.barrier()
os._exit(0)  # gloo's threads now and then abort an orderly exit
"""


def launch(processes: int, script: Path, *arguments: str) -> str:
    """Run a script in several gloo processes, as torchrun does; the output of the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    root = str(Path(__file__).resolve().parents[2])
    common = {
        "WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([root, str(script.parent)]),
    }
    running = [
        subprocess.Popen(
            [sys.executable, str(script), *arguments],
            env=os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    said = [process.communicate(timeout=200) for process in running]
    for process, (_, errors) in zip(running, said):
        assert process.returncode == 0, errors
    return said[0][0]


def test_two_processes_have_the_loss_of_one(tmp_path: Path) -> None:
    """With batch statistics frozen: those of half a batch are other numbers, in DDP as anywhere."""
    (tmp_path / "tests_task.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    one, two = (np.array(launch(count, script).splitlines()[-1].split(), dtype=float) for count in (1, 2))
    assert len(one) == 3 and abs(one[1] - one[0]) > 1e-3
    np.testing.assert_allclose(two, one, rtol=2e-5)


@pytest.mark.slow
def test_the_command_under_torchrun(tmp_path: Path) -> None:
    script = tmp_path / "command.py"
    script.write_text("from hypergraph.cli import main\nmain()\n")
    words = ["image", "--width", "8", "--epochs", "2", "--batch", "256", "--seeds", "1", "--json", "--out"]
    said = launch(2, script, *words, str(tmp_path / "run"))
    assert said.startswith("{") and '"best_epoch": 2' in said
    assert (tmp_path / "run" / "model.safetensors").is_file()
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 2
