"""What the command line puts off is not needed by a short run, and there when it is asked for."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from hypergraph.cli.startup import start_quickly
start_quickly()
import torch, torch_geometric

def train():
    optimizer = torch.optim.Adam([weight], lr=0.1)
    weight.square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    optimizer.state_dict()

weight = torch.nn.Parameter(torch.ones(3))
train()
assert "sympy" not in sys.modules and "torch._dynamo.utils" not in sys.modules
assert "torch_geometric.datasets.planetoid" not in sys.modules and "llvmlite" not in sys.modules
import gc
assert gc.isenabled() and type(torch.__spec__.loader).__name__ == "SourceFileLoader"
kept = torch.optim.Optimizer.zero_grad.__wrapped__
assert kept.__dynamo_disable is kept

import torch._dynamo.config as config          # a part loads the whole first
assert config is torch._dynamo.config and torch._dynamo.OptimizedModule
assert not hasattr(kept, "__dynamo_disable")   # so that the compiler is asked again
compiled = torch.compile(lambda x: x.sin(), backend="eager", fullgraph=True)
assert torch.equal(compiled(weight), weight.sin())
train()
from torch_geometric.datasets import KarateClub
assert KarateClub is torch_geometric.datasets.karate.KarateClub
from numba import njit
assert njit(lambda x: x + 1)(1) == 2
start_quickly()
print(len([finder for finder in sys.meta_path if type(finder).__module__ == "hypergraph.cli.startup"]))
"""


def test_what_is_put_off_is_there_when_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1"
