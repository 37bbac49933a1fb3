"""Heads and linear layers against nn.Linear, geoopt and HypLL: time and peak memory, as Markdown tables.

    python benchmarks/heads.py

Forward and backward in single precision on one thread, in processor time; the median of rounds in which every
contestant takes its turn, so that a busy machine slows all of them. *Extra memory* is the peak of what
forward and backward allocate beyond the results and the gradients of input and parameters, in tensors of
batch x classes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import geoopt
import torch
from hypll.manifolds.poincare_ball import Curvature
from hypll.manifolds.poincare_ball import PoincareBall as HypllBall
from hypll.manifolds.poincare_ball.math.linalg import poincare_hyperplane_dists
from hypll.nn import HLinear
from hypll.tensors import ManifoldTensor
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from hypergraph.geometry import poincare
from hypergraph.nn import FCS, HEADS, make_fc, make_head

BATCH, FEATURES, CLASSES = 256, 512, 1000
MANY = ((CLASSES, BATCH, FEATURES), (100_000, 32, 64))  # classes, batch, features
LIMITS = {
    "bmlr-l": 1.4,
    "bmlr-p": 1.6,
    "pmlr": 2.2,
    "lmlr": 2.2,
    "pbmlr-p": 4.0,
    "pmlr-ganea": 4.0,
}
Contestants = dict[str, tuple[nn.Module, Tensor]]


class LoopOverClasses(nn.Module):
    """The pseudo-Busemann head as it is published: one class after another."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        head, K = self.head, self.head.space.K
        p, v = head.space.exp0(head.point), nn.functional.normalize(head.weight)
        logits = []
        for k in range(head.num_classes):
            w = poincare.gyro_add(-p[k], x, K=K)
            busemann = poincare.busemann(w, v[k : k + 1], K=K).squeeze(-1)
            logits.append(-poincare.dist(x, p[k], K=K) * busemann / w.norm(dim=-1))
        return torch.stack(logits, -1)


class HypllHead(nn.Module):
    """The logits of ``pmlr`` by HypLL."""

    def __init__(self) -> None:
        super().__init__()
        self.z = nn.Parameter(torch.randn(FEATURES, CLASSES) / FEATURES**0.5)
        self.r = nn.Parameter(torch.zeros(CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        return poincare_hyperplane_dists(x, self.z, self.r, torch.ones(()))


class HypllLinear(HLinear):
    """The layer ``poincare-fc`` by HypLL, on plain tensors; it has no gyro bias."""

    def __init__(self) -> None:
        super().__init__(FEATURES, FEATURES, HypllBall(Curvature(1.0)))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(ManifoldTensor(x, self.manifold, man_dim=-1)).tensor


class GeooptLinear(nn.Module):
    """The layer ``mobius`` by geoopt."""

    def __init__(self) -> None:
        super().__init__()
        self.ball = geoopt.PoincareBall()
        self.weight = nn.Parameter(torch.randn(FEATURES, FEATURES) / FEATURES**0.5)
        self.bias = nn.Parameter(torch.zeros(FEATURES))

    def forward(self, x: Tensor) -> Tensor:
        return self.ball.mobius_add(self.ball.mobius_matvec(self.weight, x), self.ball.expmap0(self.bias))


class GeooptHead(nn.Module):
    """The distances of ``pmlr-ganea`` by geoopt, which makes batch x classes x coordinates."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.ball = geoopt.PoincareBall()
        self.point = nn.Parameter(0.01 * torch.randn(FEATURES, classes))
        self.a = nn.Parameter(torch.randn(FEATURES, classes) / FEATURES**0.5)

    def forward(self, x: Tensor) -> Tensor:
        p = self.ball.expmap0(self.point, dim=0)
        return self.ball.dist2plane(x.unsqueeze(-1), p, self.a, signed=True, scaled=True, dim=-2)


def step(module: nn.Module, x: Tensor, upstream: Tensor) -> Callable[[], None]:
    def run() -> None:
        module.zero_grad(set_to_none=True)
        x.grad = None
        module(x).backward(upstream)

    return run


def seconds(run: Callable[[], None]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def race(contestants: Contestants, rounds: int) -> dict[str, float]:
    """The median time of each."""
    runs = {}
    for name, (module, x) in contestants.items():
        with torch.no_grad():
            runs[name] = step(module, x, torch.randn_like(module(x)))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 3):
        for name, run in runs.items():
            spent = seconds(run)
            if number >= 3:
                times[name].append(spent)
    return {name: statistics.median(spent) for name, spent in times.items()}


def extra_memory(module: nn.Module, x: Tensor) -> float:
    with torch.no_grad():
        upstream = torch.randn_like(module(x))
    module.zero_grad(set_to_none=True)
    x.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        module(x).backward(upstream)
    now = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    kept = sum(p.numel() for p in module.parameters()) + x.numel() + upstream.numel()
    return peak / (4 * upstream.numel()) - kept / upstream.numel()


def with_and_without(classes: int, batch: int, features: int, rounds: int) -> None:
    """The heads against nn.Linear, with a gradient of the input and without one."""
    points = torch.randn(batch, features) / features**0.5
    modules: dict[str, nn.Module] = {"nn.Linear": nn.Linear(features, classes)}
    modules |= {name: make_head(name, features, classes) for name in ("bmlr-p", "bmlr-l", "pmlr", "lmlr")}
    runs: Contestants = {}
    for name, module in modules.items():
        x = module.space.exp0(points).detach() if hasattr(module, "space") else 0.5 * points
        runs[name] = module, x.clone().requires_grad_()
        runs[f"{name}, without"] = module, x
    times = race(runs, rounds)
    for name in modules:
        both = (
            f"{1e3 * times[who]:.1f} | {times[who] / times[who.replace(name, 'nn.Linear')]:.2f}"
            for who in (name, f"{name}, without")
        )
        print(f"| {classes} | {batch} | {features} | {name} | {' | '.join(both)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    features = torch.randn(BATCH, FEATURES) / FEATURES**0.5

    def entry(module: nn.Module) -> tuple[nn.Module, Tensor]:
        points = module.space.exp0(features) if hasattr(module, "space") else 0.5 * features
        return module, points.detach().requires_grad_()

    heads: Contestants = {"nn.Linear": entry(nn.Linear(FEATURES, CLASSES))}
    heads |= {name: entry(make_head(name, FEATURES, CLASSES)) for name in HEADS}
    heads["pmlr in HypLL"] = entry(HypllHead())
    head_times = race(heads, rounds)
    print(f"Batch {BATCH}, n = {FEATURES}, C = {CLASSES}, forward and backward, one thread.\n")
    print("| head | ms | against nn.Linear | at most | extra memory |")
    print("|---|---:|---:|---:|---:|")
    for name, spent in head_times.items():
        limit = f"{LIMITS[name]:.1f}" if name in LIMITS else ""
        memory = extra_memory(*heads[name])
        print(
            f"| {name} | {1e3 * spent:.1f} | {spent / head_times['nn.Linear']:.2f} | {limit} | {memory:.1f} |"
        )

    layers: Contestants = {"nn.Linear": entry(nn.Linear(FEATURES, FEATURES))}
    layers |= {name: entry(make_fc(name, FEATURES, FEATURES)) for name in FCS}
    layers["poincare-fc, bias=False"] = entry(make_fc("poincare-fc", FEATURES, FEATURES, bias=False))
    layers["poincare-fc in HypLL"] = entry(HypllLinear())
    layers["mobius in geoopt"] = entry(GeooptLinear())
    times = race(layers, rounds)
    print(f"\nBatch {BATCH}, n = m = {FEATURES}.\n\n| layer | ms | against nn.Linear |\n|---|---:|---:|")
    for name, spent in times.items():
        print(f"| {name} | {1e3 * spent:.1f} | {spent / times['nn.Linear']:.2f} |")

    print("\nWith a gradient of the input, and without one.\n")
    print("| classes | batch | n | head | with, ms | against nn.Linear | without, ms | against nn.Linear |")
    print("|---:|---:|---:|---|---:|---:|---:|---:|")
    for shape in MANY:
        with_and_without(*shape, rounds)

    few = CLASSES // 20  # at all the classes geoopt takes gigabytes
    ganea = {"ours": entry(make_head("pmlr-ganea", FEATURES, few)), "geoopt": entry(GeooptHead(few))}
    times = race(ganea, 3)
    ratio = times["geoopt"] / times["ours"]
    print(f"\n`pmlr-ganea` of {few} classes is {ratio:.0f} times faster than geoopt's.")

    head, x = heads["pbmlr-p"]
    with torch.no_grad():  # the formula divides by |(-p) + x|, which the loop must not meet at 0
        head.point.add_(0.01 * torch.randn_like(head.point))
    loop = step(LoopOverClasses(head), x, torch.randn(BATCH, CLASSES))
    loop()
    ratio = seconds(loop) / head_times["pbmlr-p"]
    print(f"`pbmlr-p` is {ratio:.0f} times faster than the loop over classes (at least 20 is asked).")


if __name__ == "__main__":
    main()
