"""The settings of the image and genome tasks. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hypergraph.errors import InputError
from hypergraph.tasks.config import Config, choice


@dataclass(frozen=True, kw_only=True)
class ClassifyConfig(Config):
    """What images and genomes share: a network, a head, batches.

    Args:
        head: A registered head.
        batch: Examples in a batch, over all processes.
        milestones: Epochs after which the learning rate is multiplied by ``gamma``, such as ``60,85``.
        split_seed: The seed of the split of data that comes in one piece.
    """

    chosen: ClassVar[str] = "head"

    head: str = "bmlr-p"
    batch: int = 100
    milestones: str = ""
    gamma: float = 0.1
    split_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 2:
            raise InputError(f"batch must be at least 2, got {self.batch}.")
        _ = self.milestone_epochs

    @property
    def milestone_epochs(self) -> tuple[int, ...]:
        """The milestones as numbers."""
        try:
            return tuple(int(epoch) for epoch in self.milestones.split(",") if epoch.strip())
        except ValueError:
            raise InputError(f"milestones must be epochs such as 60,85, got '{self.milestones}'.") from None


@dataclass(frozen=True, kw_only=True)
class GenomeConfig(ClassifyConfig):
    """Genome sequences: a CNN on DNA letters and a head.

    Args:
        length: Letters of a sequence; longer ones are cut, shorter ones filled with N. By default the
            longest training sequence's.
    """

    task: ClassVar[str] = "genome"

    dataset: str = "simulated"
    length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length is not None and self.length < 1:
            raise InputError(f"length must be at least 1, got {self.length}.")


@dataclass(frozen=True, kw_only=True)
class ImageConfig(ClassifyConfig):
    """Images: a ResNet-18 and a head.

    Args:
        stem: ``small`` for images of up to 64 pixels, or ``imagenet``.
        width: Channels of the first stage of the network; 64 is ResNet-18.
        size: The side to which image files are scaled.
        crop: The side of the random crop that is trained on; 0 is the whole image.
        pad: Pixels of zeros around an image before it is cropped.
        flip: Whether half of the images are mirrored.
        momentum: Nesterov's, of SGD.
        precision: ``bfloat16`` runs the network under autocast; the geometry stays in float32.
    """

    task: ClassVar[str] = "image"

    dataset: str = "digits"
    stem: str = choice("small", "small", "imagenet")
    width: int = 64
    size: int = 64
    crop: int = 0
    pad: int = 0
    flip: bool = True
    momentum: float = 0.9
    precision: str = choice("float32", "float32", "bfloat16")

    def __post_init__(self) -> None:
        super().__post_init__()
        # On 4 channels, oneDNN's channels-last 1x1 convolution with stride 2 writes beyond its memory.
        if self.width < 1 or self.width % 8:
            raise InputError(f"width must be a multiple of 8, got {self.width}.")
        if self.size < 1:
            raise InputError(f"size must be at least 1, got {self.size}.")
        for name in ("crop", "pad"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}.")
        if not 0 <= self.momentum < 1:
            raise InputError(f"momentum must be at least 0 and below 1, got {self.momentum}.")
