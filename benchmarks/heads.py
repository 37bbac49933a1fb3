"""Heads against nn.Linear: time of forward and backward, and peak memory, as a Markdown table.

    python benchmarks/heads.py

Ratios within one run, in single precision on one thread; the median of rounds in which every contestant takes
its turn, so that a busy machine slows all of them. *Extra memory* is the peak of what forward and backward
allocate beyond the logits and the gradients of input and parameters, in tensors of batch x classes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from hypergraph.geometry import poincare
from hypergraph.nn import HEADS, make_head

BATCH, FEATURES, CLASSES = 256, 512, 1000
LIMITS = {
    "bmlr-l": 1.4,
    "bmlr-p": 1.6,
    "pmlr": 2.2,
    "lmlr": 2.2,
    "pbmlr-p": 4.0,
    "pmlr-ganea": 4.0,
}


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


def contestants() -> dict[str, tuple[nn.Module, Tensor]]:
    torch.manual_seed(0)
    features = torch.randn(BATCH, FEATURES) / FEATURES**0.5
    made: dict[str, tuple[nn.Module, Tensor]] = {"nn.Linear": (nn.Linear(FEATURES, CLASSES), features)}
    for name in HEADS:
        head = make_head(name, FEATURES, CLASSES)
        made[name] = head, head.space.exp0(features)
    return {name: (module, x.detach().requires_grad_()) for name, (module, x) in made.items()}


def step(module: nn.Module, x: Tensor, upstream: Tensor) -> Callable[[], None]:
    def run() -> None:
        module.zero_grad(set_to_none=True)
        x.grad = None
        module(x).backward(upstream)

    return run


def seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def extra_memory(module: nn.Module, x: Tensor, upstream: Tensor) -> float:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    upstream = torch.randn(BATCH, CLASSES)
    modules = contestants()
    runs = {name: step(module, x, upstream) for name, (module, x) in modules.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 3):
        for name, run in runs.items():
            spent = seconds(run)
            if number >= 3:
                times[name].append(spent)
    base = statistics.median(times["nn.Linear"])
    print(f"Batch {BATCH}, n = {FEATURES}, C = {CLASSES}, forward and backward, one thread.\n")
    print("| head | ms | against nn.Linear | at most | extra memory |")
    print("|---|---:|---:|---:|---:|")
    for name, spent in times.items():
        median, memory = statistics.median(spent), extra_memory(*modules[name], upstream)
        limit = f"{LIMITS[name]:.1f}" if name in LIMITS else ""
        print(f"| {name} | {1e3 * median:.1f} | {median / base:.2f} | {limit} | {memory:.1f} |")
    head, x = modules["pbmlr-p"]
    with torch.no_grad():  # the formula divides by |(-p) + x|, which the loop must not meet at 0
        head.point.add_(0.01 * torch.randn_like(head.point))
    loop = step(LoopOverClasses(head), x, upstream)
    loop()
    ratio = seconds(loop) / statistics.median(times["pbmlr-p"])
    print(f"\n`pbmlr-p` is {ratio:.0f} times faster than the loop over classes (at least 20 is asked).")


if __name__ == "__main__":
    main()
