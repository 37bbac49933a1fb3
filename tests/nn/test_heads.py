"""Each head against the paper's formula, one point and one class at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from hypergraph.geometry.space import Space
from hypergraph.nn import HEADS, make_head, make_space
from tests import reference

CURVATURES = [-1.0, -0.1, -0.5, -2.3]


def spread_parameters(module: nn.Module) -> None:
    """Parameters away from their initial zeros, so that nothing is tested at a special point."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim():
                parameter.add_(0.3 * torch.randn_like(parameter))


def make(name: str, n: int, C: int, K: float) -> tuple[nn.Module, Tensor, Space]:
    torch.manual_seed(0)
    space = make_space(HEADS[name].space, K).double()
    head = make_head(name, n, C, space).double()
    spread_parameters(head)
    return head, space.exp0(torch.randn(6, n, dtype=torch.float64)), space


def slow_logit(name: str, head: nn.Module, x: Tensor, k: int, K: float) -> Tensor:
    z = head.weight[k]
    model = HEADS[name].space
    if name in ("bmlr-p", "bmlr-l"):
        return reference.bmlr(x, z / z.norm(), head.alpha[k], head.b[k], K, model)
    if name == "pmlr":
        return reference.pmlr(x, z / z.norm(), head.alpha[k], head.b[k], K)
    if name == "pmlr-ganea":
        return reference.pmlr_ganea(x, reference.exp0(head.point[k], K, model), z, K)
    if name == "pbmlr-p":
        return reference.pbmlr(x, reference.exp0(head.point[k], K, model), z / z.norm(), K)
    if name == "lmlr":
        return reference.lmlr(x, z, head.b[k], K)
    tangent = x if model == "euclidean" else reference.log0(x, K, model)
    return z @ tangent + head.b[k]


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("name", HEADS)
def test_head_equals_the_paper(name: str, K: float) -> None:
    head, x, space = make(name, 5, 4, K)
    K = space.K.item()  # as stored
    expected = torch.stack([torch.stack([slow_logit(name, head, row, k, K) for k in range(4)]) for row in x])
    torch.testing.assert_close(head(x), expected, rtol=1e-10, atol=1e-10)
