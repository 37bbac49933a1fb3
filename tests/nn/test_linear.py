from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.space import PoincareBall, Space
from hypergraph.nn import FCS, LorentzFC, make_fc, make_space
from tests import reference

COUNTS = {
    "mobius": (464, 480, 8288, 23216),
    "poincare-fc": (528, 544, 8352, 23280),
    "bfc-p": (528, 544, 8352, 23280),
    "ltfc": (464, 480, 8288, 23216),
    "lorentz-fc": (563, 580, 8876, 24737),
    "bfc-l": (528, 544, 8352, 23280),
    "linear": (464, 480, 8288, 23216),
}


@pytest.mark.parametrize("name", FCS)
def test_parameter_counts_of_the_two_layer_encoders(name: str) -> None:
    counts = tuple(
        sum(p.numel() for n in (features, 16) for p in make_fc(name, n, 16).parameters())
        for features in (11, 12, 500, 1433)
    )
    assert counts == COUNTS[name]


@pytest.mark.parametrize("name", FCS)
@pytest.mark.parametrize("K", [-1.0, -0.5, -2.3])
def test_outputs_are_on_the_manifold(name: str, K: float) -> None:
    torch.manual_seed(0)
    space = make_space(FCS[name].space, K).double()
    layer = make_fc(name, 5, 4, space).double()
    y = layer(space.exp0(torch.randn(7, 5, dtype=torch.float64)))
    assert y.shape == (7, space.ambient(4))
    assert bool(space.contains(y).all())


def prepared(name: str, K: float, **options: object) -> tuple[nn.Module, Tensor, Space]:
    """A layer whose parameters are away from their initial zeros, in float64, and points."""
    torch.manual_seed(0)
    space = make_space(FCS[name].space, K).double()
    layer = make_fc(name, 5, 4, space, **options).double().eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.dim():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return layer, space.exp0(torch.randn(6, 5, dtype=torch.float64)), space


def slow_layer(name: str, layer: nn.Module, x: Tensor, K: float) -> Tensor:
    model = FCS[name].space
    if model == "euclidean":
        return layer.weight @ x + layer.bias
    bias = reference.exp0(layer.bias, K, model) if name != "lorentz-fc" else None
    if name == "mobius":
        y = reference.moebius(x, layer.weight, K)
    elif name == "ltfc":
        y = reference.ltfc(x, layer.weight, K)
    elif name == "lorentz-fc":
        lam = layer.log_lambda.exp()
        y = reference.lorentz_fc(x, layer.weight, layer.b, layer.v[0], layer.b_prime[0], lam, K, layer.phi)
        spatial = layer.bias[1:]
        bias = torch.cat([(spatial @ spatial - 1 / K).sqrt()[None], spatial])
    else:
        v = layer.weight / layer.weight.norm(dim=-1, keepdim=True)
        if name == "poincare-fc":
            u = [reference.pmlr(x, v[k], layer.alpha[k], layer.b[k], K) for k in range(4)]
        else:
            u = [reference.bmlr(x, v[k], layer.alpha[k], layer.b[k], K, model) for k in range(4)]
            u = [layer.phi(value) for value in u]
        y = reference.from_responses(torch.stack(u), K, model)
    return reference.gyro_add(y, bias, K, model)


OPTIONS = [(name, {}) for name in FCS]
OPTIONS += [("bfc-p", {"phi": "tanh"}), ("bfc-l", {"phi": "relu"}), ("lorentz-fc", {"phi": "relu"})]


@pytest.mark.parametrize("K", [-1.0, -0.1, -0.5, -2.3])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_layer_equals_the_paper(name: str, options: dict[str, str], K: float) -> None:
    layer, x, space = prepared(name, K, **options)
    expected = torch.stack([slow_layer(name, layer, row, space.K.item()) for row in x])
    torch.testing.assert_close(layer(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("K", [-1.0, -0.5, -2.3])
@pytest.mark.parametrize("name", ["bfc-p", "bfc-l", "poincare-fc"])
def test_distances_to_coordinate_hyperplanes_are_the_responses(name: str, K: float) -> None:
    layer, x, space = prepared(name, K, bias=False)
    y = layer(x)
    assert bool(space.contains(y).all())
    origin = space.origin(4)
    if name == "poincare-fc":
        v = layer.weight / layer.weight.norm(dim=-1, keepdim=True)
        logits = [
            reference.pmlr(row, v[k], layer.alpha[k], layer.b[k], space.K.item())
            for row in x
            for k in range(4)
        ]
        u = torch.stack(logits).reshape(6, 4)
    else:
        u = layer.b - layer.alpha * space.busemann(x, layer.v)
    for k in range(4):
        normal = torch.zeros(space.ambient(4), dtype=torch.float64)
        normal[space.ambient(4) - 4 + k] = 1
        torch.testing.assert_close(space.dist_hyperplane(y, origin, normal), u[:, k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "factor"), [("bfc-p", 0.5), ("bfc-l", 1.0)])
def test_bfc_tends_to_a_euclidean_layer(name: str, factor: float) -> None:
    errors = []
    for K in (-1e-4, -1e-6):
        layer, _, space = prepared(name, K, bias=False)
        u = torch.randn(6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        flat = layer.alpha * (u @ layer.v.mT) + factor * layer.b
        errors.append((layer(space.exp0(u))[..., -4:] - flat).abs().max().item())
    assert errors[1] < 0.2 * errors[0] and errors[1] < 2e-2


@pytest.mark.parametrize("name", ["bfc-p", "bfc-l"])
def test_first_batch_in_training_centres_the_responses(name: str) -> None:
    torch.manual_seed(0)
    space = make_space(FCS[name].space, -0.5)
    layer = make_fc(name, 8, 16, space)
    x = space.exp0(3 + 0.5 * torch.rand(64, 8))  # far out on one side, as Airport's features are
    layer.eval()
    layer(x)
    assert not layer.initialised
    assert (layer.b - layer.alpha * space.busemann(x, layer.v) < 0).float().mean() > 0.5
    layer.train()
    layer(x[:0])
    assert not layer.initialised
    layer(x)
    u = layer.b - layer.alpha * space.busemann(x, layer.v)
    assert bool(layer.initialised)
    torch.testing.assert_close(u.mean(0), torch.zeros(16), rtol=0, atol=1e-3)
    assert (u > 0).any(0).all() and (u < 0).any(0).all()

    other = make_fc(name, 8, 16, make_space(FCS[name].space, -0.5))
    other.load_state_dict(layer.state_dict())
    before = {key: value.clone() for key, value in other.state_dict().items()}
    for changed in (other, copy.deepcopy(layer)):
        changed(space.gyro_neg(x))
        for key, value in changed.state_dict().items():
            torch.testing.assert_close(value, before[key], rtol=0, atol=0)
    layer.reset_parameters()
    assert not layer.initialised


@pytest.mark.parametrize("name", FCS)
def test_dropconnect_acts_in_training_only(name: str) -> None:
    torch.manual_seed(0)
    layer = make_fc(name, 12, 4, dropout=0.5)
    x = layer.space.exp0(torch.randn(3, 12))
    layer(x)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    torch.testing.assert_close(layer(x), layer(x), rtol=0, atol=0)


def test_wrong_options() -> None:
    with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, got 1"):
        make_fc("bfc-p", 3, 2, dropout=1)
    with pytest.raises(InputError, match="Unknown activation 'than'"):
        make_fc("bfc-p", 3, 2, phi="than")
    for bias in (True, False):
        with pytest.raises(InputError, match="LorentzFC needs the Lorentz model"):
            LorentzFC(3, 2, PoincareBall(), bias=bias)


def test_reset_parameters_resets_phi() -> None:
    layer = make_fc("bfc-p", 3, 2, phi="prelu")
    with torch.no_grad():
        layer.phi.weight.fill_(7)
    layer.reset_parameters()
    assert layer.phi.weight.item() == 0.25


def _train_in_two_processes(rank: int, folder: str) -> None:
    store = f"file://{folder}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(make_fc("bfc-p", 6, 4))
    torch.manual_seed(rank)
    x = model.module.space.exp0(torch.randn(9 + rank, 6))
    model(x).square().sum().backward()
    torch.save(model.module.state_dict(), f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_processes_initialise_alike(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_train_in_two_processes, (str(tmp_path),), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    for key, value in first.items():
        torch.testing.assert_close(value, second[key], rtol=0, atol=0)
    assert bool(first["initialised"])
