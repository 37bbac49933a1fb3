"""Genome sequences: a CNN, a head, Matthews' correlation coefficient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from hypergraph.datasets.genomes import GenomeData, letter_weights, load_genome
from hypergraph.limits import require
from hypergraph.nn.genome import GenomeCNN
from hypergraph.tasks import classify, metrics
from hypergraph.tasks.classify_config import GenomeConfig

# The names of our parts and of the data's.
_PARTS = {"train": "train", "val": "dev", "test": "test"}


class Genome(classify.Classify):
    """One seed; the epoch with the best MCC on dev is tested."""

    select = "val_mcc"

    def __init__(self, config: GenomeConfig, seed: int, data: GenomeData) -> None:
        parts = {part: getattr(data, name) for part, name in _PARTS.items()}
        self.codes = {part: torch.from_numpy(sequences.codes) for part, sequences in parts.items()}
        self.parts = {part: torch.from_numpy(sequences.labels) for part, sequences in parts.items()}
        super().__init__(config, GenomeCNN(data.length), data.classes)
        self.parallel = classify.parallel(self.model)
        dtype = getattr(torch, config.dtype)
        self.letters = torch.from_numpy(letter_weights()).to(device=config.device, dtype=dtype)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=config.lr,
            weight_decay=config.weight_decay,
            fused=classify.fused(config),
        )

    @staticmethod
    def load(config: GenomeConfig) -> GenomeData:
        data = load_genome(
            config.dataset, data=config.data, length=config.length, split_seed=config.split_seed
        )
        with torch.device("meta"):  # which takes no memory
            count = sum(parameter.numel() for parameter in GenomeCNN(data.length).parameters())
        # weights, gradients, and the two averages of Adam
        require(16 * count, f"{data.name}: a network for {data.length:,} letters (--length cuts them)")
        return data

    @staticmethod
    def fingerprint(data: GenomeData) -> str:
        parts = (data.train, data.dev, data.test)
        return classify.fingerprint(*(array for part in parts for array in (part.codes, part.labels)))

    @staticmethod
    def about(config: GenomeConfig, data: GenomeData) -> dict[str, Any]:
        sizes = {part: len(getattr(data, name)) for part, name in _PARTS.items()}
        return {
            "split": "dev",
            "sizes": sizes,
            "length": data.length,
            "classes": list(data.classes),
            "notices": list(data.notices),
        }

    def network(self, x: Tensor) -> tuple[Tensor, Tensor]:
        points, logits = self.parallel(x) if self.model.training else self.model(x)
        return points, logits

    def examples(self, part: str, index: Tensor, *, augment: bool = False) -> Tensor:
        codes = self.codes[part][classify.share(index) if augment else index].to(
            device=self.letters.device, dtype=torch.int32
        )
        return F.embedding(codes, self.letters).transpose(1, 2)

    def measure(self, predicted: Tensor, label: Tensor) -> dict[str, float]:
        num_classes = len(self.classes)
        return {
            "mcc": metrics.mcc(predicted, label, num_classes),
            "accuracy": metrics.accuracy(predicted, label),
            "f1": metrics.f1(predicted, label, num_classes),
        }
