"""The state of a run in one safetensors file: tensors by name, all else as JSON in its header.

One file, so that it can be replaced atomically; no pickle, so that loading it runs no code; the SHA-256 of
all that it holds in its header, so that damage is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as deserialize
from safetensors.torch import save as serialize
from torch import Tensor, nn
from torch.optim import Optimizer

from hypergraph.errors import InputError
from hypergraph.files import atomic_write_bytes, reading, regular_file


def save(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write tensors and a JSON-able state to ``path``, atomically."""
    # Modules may share a tensor (a space held by two layers), which safetensors refuses: hence the clones.
    whole = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    plain = json.dumps(state)
    # One entry of metadata: safetensors writes several in any order, and equal runs must have equal files.
    # Bytes and not a file: its own function writes a temporary file, which a kill leaves behind.
    atomic_write_bytes(path, serialize(whole, {"sealed": f"{_digest(whole, plain)} {plain}"}))


def load(path: Path, remedy: str = "restore it from a copy") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save` wrote."""
    regular_file(path)
    with reading(path, "a checkpoint written by hypergraph", remedy):
        # From bytes: while safetensors maps a file, a Ctrl-C becomes an error that looks like damage.
        content = path.read_bytes()
        tensors = deserialize(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if "state" in metadata:  # of a version that kept no hash
            return tensors, json.loads(metadata["state"])
        digest, _, plain = metadata["sealed"].partition(" ")
        if digest != _digest(tensors, plain):
            raise InputError(f"{path}: damaged (its SHA-256 is another than the one in it); {remedy}.")
        return tensors, json.loads(plain)


def _digest(tensors: Mapping[str, Tensor], state: str) -> str:
    digest = hashlib.sha256(state.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under names that begin with ``prefix``."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of :func:`prefixed`."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def optimizer_state(optimizer: Optimizer) -> dict[str, Tensor]:
    """An optimiser's state by names such as ``0.exp_avg``; its settings are the run's, and not part of it."""
    return {
        f"{index}.{key}": value
        for index, entries in optimizer.state_dict()["state"].items()
        for key, value in entries.items()
        if value is not None
    }


def load_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Restore what :func:`optimizer_state` gave.

    The optimiser makes its own state first, by a step of length 0: then shapes can be compared, and each
    tensor is copied into the memory layout of its parameter, which fused optimisers take for granted.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    rates = [group["lr"] for group in optimizer.param_groups]
    for index in {int(name.partition(".")[0]) for name in tensors}:
        parameters[index].grad = torch.zeros_like(parameters[index])
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)
    own = optimizer_state(optimizer)
    check_same(own, tensors, f"{source}: the state of another optimiser")
    for name, tensor in own.items():
        tensor.copy_(tensors[name])


def load_model(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Load weights into ``model``; a mismatch is one sentence that names the first difference."""
    own = model.state_dict()
    # earlier versions saved the space of a classifier's head once more
    tensors = {k: tensor for k, tensor in tensors.items() if k in own or not k.startswith("space.")}
    check_same(own, tensors, f"{source}: weights of another model")
    model.load_state_dict(tensors)


def check_same(own: Mapping[str, Tensor], given: Mapping[str, Tensor], what: str) -> None:
    """Refuse tensors with other names or shapes than our own."""
    for name in sorted(own.keys() | given.keys()):
        if name not in given or name not in own:
            where = "here and not there" if name in own else "there and not here"
            raise InputError(f"{what} ({name} is {where}).")
        here, there = tuple(own[name].shape), tuple(given[name].shape)
        if here != there:
            raise InputError(f"{what} ({name} is {there} there, {here} here).")


def random_state() -> dict[str, Tensor]:
    """The state of torch's generators."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def load_random_state(states: dict[str, Tensor]) -> None:
    """Restore what :func:`random_state` gave."""
    torch.set_rng_state(states["cpu"])
    if torch.cuda.is_available():
        for i in range(torch.cuda.device_count()):
            if f"cuda{i}" in states:
                torch.cuda.set_rng_state(states[f"cuda{i}"], i)
