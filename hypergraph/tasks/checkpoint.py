"""The state of a run in one safetensors file: tensors by name, all else as JSON in its header.

One file, so that it can be replaced atomically; no pickle, so that loading it runs no code.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from hypergraph.errors import InputError
from hypergraph.files import atomic_path


def save(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write tensors and a JSON-able state to ``path``, atomically."""
    # Modules may share a tensor (a space held by two layers), which safetensors refuses: hence the clones.
    whole = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    with atomic_path(path) as part:
        try:
            save_file(whole, part, metadata={"state": json.dumps(state)})
        except SafetensorError as error:  # a full disk, in its words
            raise OSError(errno.EIO, str(error), str(path)) from error


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {})["state"])
            return {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise InputError(
            f"{path}: not a checkpoint written by hypergraph, or a damaged one ({error}); "
            "delete it to start this seed again."
        ) from error


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under names that begin with ``prefix``."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of :func:`prefixed`."""
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def optimizer_state(optimizer: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimiser's state as flat tensors, and as plain values."""
    whole = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    scalars: dict[str, Any] = {}
    for index, entries in whole["state"].items():
        for key, value in entries.items():
            target = tensors if isinstance(value, Tensor) else scalars
            target[f"{index}.{key}"] = value
    return tensors, {"scalars": scalars, "groups": whole["param_groups"]}


def load_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Restore what :func:`optimizer_state` gave."""
    entries: dict[int, dict[str, Any]] = {}
    for name, value in (*tensors.items(), *state["scalars"].items()):
        index, key = name.split(".", 1)
        entries.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": entries, "param_groups": state["groups"]})


def load_model(model: nn.Module, tensors: dict[str, Tensor], source: Path) -> None:
    """Load weights into ``model``; a mismatch is one sentence that names the first difference."""
    own = model.state_dict()
    for name in sorted(own.keys() | tensors.keys()):
        if name not in tensors or name not in own:
            whose = "the model has" if name in own else "the file has"
            other = "the file has not" if name in own else "the model has not"
            raise InputError(f"{source}: weights of another model ({whose} {name}, {other}).")
        if own[name].shape != tensors[name].shape:
            raise InputError(
                f"{source}: weights of another model ({name} is {tuple(tensors[name].shape)} there, "
                f"{tuple(own[name].shape)} here)."
            )
    model.load_state_dict(tensors)


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
