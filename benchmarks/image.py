"""What a head costs: one training epoch of ResNet-18 on images of CIFAR's size, with each of two heads.

    python benchmarks/image.py [--data FOLDER] [--head bmlr-l] [--against mlr]

The two models take turns batch by batch, so that whatever else the machine does meets both alike. The images
are ``cifar10-subset`` where it is, and as many random ones elsewhere: the time is the same.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from hypergraph.datasets.images import ImageData, MemoryImages, load_images
from hypergraph.errors import InputError
from hypergraph.tasks.api import settle
from hypergraph.tasks.classify_config import ImageConfig
from hypergraph.tasks.image import Image


def subset(data: str | None) -> ImageData:
    """The subset of CIFAR-10, or random images in its place."""
    try:
        return load_images("cifar10-subset", data=data)
    except InputError:
        pixels, labels = torch.randint(256, (1000, 3, 32, 32)), torch.randint(10, (1000,))
        images = MemoryImages(pixels.to(torch.uint8).numpy(), labels.numpy())
        return ImageData("random", tuple(map(str, range(10))), images, images)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the folder that holds cifar10-subset")
    parser.add_argument("--head", default="bmlr-l")
    parser.add_argument("--against", default="mlr")
    parser.add_argument("--width", type=int, default=64)
    given = parser.parse_args()
    data = subset(given.data)
    tasks, seconds = {}, {}
    for head in (given.head, given.against):
        config = settle(ImageConfig, {"dataset": "cifar10-subset", "head": head, "width": given.width})
        torch.manual_seed(0)
        tasks[head], seconds[head] = Image(config, 0, data), []
        tasks[head].model.train()
    batches = torch.randperm(len(data.train.labels)).split(128)[:-1]
    for number, index in enumerate([batches[0], *batches]):
        for head in list(tasks) if number % 2 else list(tasks)[::-1]:
            start = time.perf_counter()
            tasks[head].train_batch(index)
            if number:  # the first batch warms up
                seconds[head].append(time.perf_counter() - start)
    print("| head | s an epoch | s a batch, median | epoch / that of the last |")
    print("|---|---:|---:|---:|")
    for head, times in seconds.items():
        ratio = sum(times) / sum(seconds[given.against])
        print(f"| {head} | {sum(times):.2f} | {statistics.median(times):.3f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
