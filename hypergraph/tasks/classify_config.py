"""The settings of the image and genome tasks. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hypergraph.errors import InputError, short
from hypergraph.nn.registry import HEADS
from hypergraph.option import MOST, MOST_SEED, option
from hypergraph.tasks.config import DATA, MODEL, Config


@dataclass(frozen=True, kw_only=True)
class ClassifyConfig(Config):
    """What images and genomes share: a network, a head, batches."""

    chosen: ClassVar[str] = "head"
    retired: ClassVar[tuple[str, ...]] = ("dropout",)
    curved: ClassVar[tuple[str, ...]] = (*Config.curved, "clip")

    head: str = option("bmlr-p", "The head (see `hypergraph heads`).", group=MODEL, choices=HEADS)
    batch: int = option(100, "Examples in a batch, over all processes.", least=2, most=MOST)
    milestones: str = option(
        "", "Epochs after which the learning rate is multiplied by gamma, such as 60,85."
    )
    gamma: float = option(0.1, "At each milestone the learning rate is multiplied by this.", above=0, most=1)
    split_seed: int = option(
        0, "The seed of the split of data that comes in one piece.", group=DATA, least=0, most=MOST_SEED
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.milestone_epochs

    @property
    def milestone_epochs(self) -> tuple[int, ...]:
        """The milestones as numbers."""
        try:
            epochs = tuple(int(epoch) for epoch in self.milestones.split(",") if epoch.strip())
        except ValueError:
            epochs = (-1,)
        if any(not 0 <= epoch <= MOST for epoch in epochs):
            raise InputError(f"milestones must be epochs such as 60,85, got '{short(self.milestones)}'.")
        return epochs


@dataclass(frozen=True, kw_only=True)
class GenomeConfig(ClassifyConfig):
    """Genome sequences: a CNN on DNA letters and a head."""

    task: ClassVar[str] = "genome"

    dataset: str = option(
        "simulated",
        "simulated, a folder with train/dev/test.csv, a CSV or FASTA file, or a name.",
        group=DATA,
    )
    length: int | None = option(
        None,
        "The length of every sequence: longer ones are cut, shorter ones filled with N; by default that "
        "of the longest training sequence.",
        group=DATA,
        least=1,
        most=10**6,
    )

    @classmethod
    def idle(cls, values: Mapping[str, Any], name: str) -> str | None:
        if name == "length" and values["dataset"] == "simulated":
            return (
                "The simulated sequences have one length already; leave out length, or name another dataset."
            )
        return super().idle(values, name)


@dataclass(frozen=True, kw_only=True)
class ImageConfig(ClassifyConfig):
    """Images: a ResNet-18 and a head."""

    task: ClassVar[str] = "image"

    dataset: str = option(
        "digits", "digits, cifar10, cifar100, tiny-imagenet, imagenet, or a folder of images.", group=DATA
    )
    stem: str = option(
        "small",
        "The network's first layers: small for images of up to 64 pixels.",
        group=MODEL,
        choices=("small", "imagenet"),
    )
    width: int = option(
        64, "Channels of the first stage, a multiple of 8; 64 is ResNet-18.", group=MODEL, least=8, most=512
    )
    size: int = option(64, "The side to which image files are scaled.", group=DATA, least=1, most=4096)
    crop: int = option(
        0, "The side of the random crop; 0 is the whole image.", group=DATA, least=0, most=4096
    )
    pad: int = option(
        0, "Pixels of zeros around an image before it is cropped.", group=DATA, least=0, most=256
    )
    flip: bool = option(True, "Mirror half of the images.", group=DATA)
    momentum: float = option(0.9, "Nesterov momentum of the optimiser SGD; 0: none.", least=0, below=1)
    precision: str = option(
        "float32",
        "bfloat16 runs the network under autocast; the geometry stays in float32.",
        choices=("float32", "bfloat16"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # On 4 channels, oneDNN's channels-last 1x1 convolution with stride 2 writes beyond its memory.
        if self.width % 8:
            raise InputError(f"width must be a multiple of 8, got {self.width}.")
