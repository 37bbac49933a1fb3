"""Images: a ResNet-18, a head, top-1 accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from hypergraph.datasets.images import ImageData, Images, load_images, moments
from hypergraph.errors import InputError
from hypergraph.nn.vision import ResNet18
from hypergraph.tasks import classify
from hypergraph.tasks.classify_config import ImageConfig

# Of images that are not in memory, so many are hashed.
_HASHED = 64


class Image(classify.Classify):
    """One seed; the last epoch is tested, because there is no part to choose another one by.

    What publications call validation on these datasets is the test set, and so it is here.
    """

    select = None

    def __init__(self, config: ImageConfig, seed: int, data: ImageData) -> None:
        self.images: dict[str, Images] = {"train": data.train, "val": data.test, "test": data.test}
        self.parts = {part: torch.from_numpy(images.labels) for part, images in self.images.items()}
        mean, std = moments(data.train)
        network = ResNet18(config.stem, in_channels=len(mean), width=config.width)
        super().__init__(config, network, data.classes)
        self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        place: dict[str, Any] = {"device": config.device, "dtype": getattr(torch, config.dtype)}
        self.mean, self.std = (torch.from_numpy(value).to(**place).view(-1, 1, 1) for value in (mean, std))
        self.parallel = classify.parallel(self.model)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=config.lr,
            momentum=config.momentum,
            nesterov=config.momentum > 0,
            weight_decay=config.weight_decay,
            fused=classify.fused(config),
        )

    @staticmethod
    def load(config: ImageConfig) -> ImageData:
        data = load_images(config.dataset, data=config.data, size=config.size, split_seed=config.split_seed)
        side = data.train.batch(np.arange(1)).shape[-1]
        if config.crop > side + 2 * config.pad:
            raise InputError(
                f"{data.name}: a crop of {config.crop} pixels does not fit into images of {side} with "
                f"{config.pad} pixels around; lower --crop, or raise --pad or --size."
            )
        return data

    @staticmethod
    def fingerprint(data: ImageData) -> str:
        parts = (data.train, data.test)
        some = (np.arange(len(part.labels))[: _HASHED if hasattr(part, "paths") else None] for part in parts)
        pixels = [part.batch(index) for part, index in zip(parts, some)]
        return classify.fingerprint(*pixels, *(part.labels for part in parts))

    @staticmethod
    def about(config: ImageConfig, data: ImageData) -> dict[str, Any]:
        sizes = {"train": len(data.train.labels), "test": len(data.test.labels)}
        return {"split": "published", "sizes": sizes, "classes": list(data.classes)}

    def network(self, x: Tensor) -> tuple[Tensor, Tensor]:
        half = self.config.precision == "bfloat16"
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=half):
            return self.parallel(x) if self.model.training else self.model(x)

    def examples(self, part: str, index: Tensor, *, augment: bool = False) -> Tensor:
        config = self.config
        # Drawn for the whole batch, so that the numbers do not depend on how many processes share it.
        top, left, mirrored = torch.rand(3, len(index)) if augment else torch.full((3, len(index)), 0.5)
        mine = classify.share(torch.arange(len(index))) if augment else torch.arange(len(index))
        pixels = torch.from_numpy(self.images[part].batch(index[mine].numpy())).to(self.mean.device)
        pad = config.pad if augment else 0
        size = min(config.crop or pixels.shape[-1], pixels.shape[-1] + 2 * pad)
        flipped = (
            mirrored[mine] < 0.5 if config.flip and augment else torch.zeros(len(mine), dtype=torch.bool)
        )
        pixels = crop(F.pad(pixels, (pad,) * 4), top[mine], left[mine], size, flipped)
        return (pixels.to(self.mean.dtype) - self.mean) / self.std


def crop(pixels: Tensor, top: Tensor, left: Tensor, size: int, flipped: Tensor) -> Tensor:
    """Cut a square out of every image of a batch, and mirror some, in one gather.

    Args:
        pixels: ``(batch, channels, height, width)``.
        top: How far down each square is, from 0 to 1 of what is possible; 0.5 is the middle.
        left: How far to the right.
        size: The side of the square.
        flipped: Which images are mirrored.

    The result has its channels last in memory, as the convolutions want it.
    """
    batch, _, height, width = pixels.shape
    place = torch.arange(size)
    rows = (top * (height - size + 1)).long().clamp_(max=height - size)[:, None] + place
    columns = (left * (width - size + 1)).long().clamp_(max=width - size)[:, None]
    columns = columns + torch.where(flipped[:, None], size - 1 - place, place)
    image = torch.arange(batch)[:, None, None]
    return pixels.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
