from __future__ import annotations

import pytest
import torch

from hypergraph.geometry import Euclidean, Lorentz, PoincareBall
from hypergraph.nn import FermiDirac


@pytest.mark.parametrize("space", [PoincareBall(-0.5), PoincareBall(-2.3), Lorentz(-0.5), Euclidean()])
def test_logit_of_the_squared_distance(space: torch.nn.Module) -> None:
    torch.manual_seed(0)
    z = space.exp0(0.5 * torch.randn(6, 3)).requires_grad_()
    pairs = torch.tensor([[0, 1, 5, 2], [3, 1, 0, 4]])
    logits = FermiDirac(space, r=1.5, t=0.5)(z, pairs)
    distance = torch.stack([space.dist(z[i], z[j]) for i, j in pairs.T])
    torch.testing.assert_close(logits, (1.5 - distance**2) / 0.5)
    torch.testing.assert_close(logits.sigmoid(), 1 / (((distance**2 - 1.5) / 0.5).exp() + 1))
    assert logits[1].item() == pytest.approx(3.0), "a node is at distance 0 from itself"
    logits.sum().backward()
    assert z.grad.isfinite().all()


def test_the_two_models_agree() -> None:
    ball, sheet = PoincareBall(-0.5), Lorentz(-0.5)
    z = ball.exp0(0.5 * torch.randn(6, 3, dtype=torch.float64))
    pairs = torch.randint(0, 6, (2, 9))
    torch.testing.assert_close(FermiDirac(ball)(z, pairs), FermiDirac(sheet)(ball.to_lorentz(z), pairs))


def test_arguments() -> None:
    assert str(FermiDirac(PoincareBall(-0.5))) == "FermiDirac(PoincareBall(K=-0.5), r=2, t=1)"
    with pytest.raises(ValueError, match="above 0"):
        FermiDirac(PoincareBall(), t=0)
    assert FermiDirac(PoincareBall())(torch.zeros(3, 2), torch.empty(2, 0, dtype=torch.long)).shape == (0,)
