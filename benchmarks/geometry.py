"""Every operator against geoopt's, on the same tensors in one run: forward and backward, float32.

    python benchmarks/geometry.py [--points 100000] [--dim 16] [--rounds 15]

What is measured is the processor time of one thread, so that other programs hardly count, and the two are
timed alternately, each after a pass of its own that is not: most of the time goes into fresh memory, and what
the other left of it (the less it used, the more) is no merit. What counts is the median of the ratios of
neighbours: the speed of a shared machine changes within a run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import geoopt
import torch
from torch import Tensor

from hypergraph.geometry import PoincareBall, lorentz, poincare

K = -0.7
Pair = tuple[Callable[..., Tensor], Callable[..., Tensor], list[Tensor], list[Tensor]]


def seconds(function: Callable[..., Tensor], inputs: list[Tensor]) -> float:
    """One forward and backward pass."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    ones = torch.ones_like(function(*leaves))
    for _ in range(2):
        start = time.process_time()
        torch.autograd.grad(function(*leaves), leaves, ones, allow_unused=True)
        elapsed = time.process_time() - start
    return elapsed


def pairs(points: int, dim: int) -> dict[str, Pair]:
    """Name -> ours, geoopt's, and the inputs of each."""
    torch.manual_seed(0)
    u, v, w = (torch.randn(points, dim) / dim**0.5 for _ in range(3))
    ball, sheet = geoopt.PoincareBall(c=-K), geoopt.Lorentz(k=-1 / K)
    x, y = poincare.exp0(u, K=K), poincare.exp0(v, K=K)
    a, b = lorentz.exp0(u, K=K), lorentz.exp0(v, K=K)
    zero = torch.zeros(points, 1)
    origin = lorentz.exp0(torch.zeros(dim), K=K).expand_as(a)
    p, q = (lorentz.transport(origin, a, torch.cat([zero, z], -1), K=K) for z in (v, w))
    u0 = torch.cat([zero, u], -1)
    t = torch.rand(points) + 0.5
    table: dict[str, Pair] = {}

    def add(name: str, ours: Callable[..., Tensor], theirs: Callable[..., Tensor], *inputs: Tensor) -> None:
        table[name] = (lambda *i: ours(*i, K=K), theirs, list(inputs), list(inputs))

    add("poincare exp0", poincare.exp0, ball.expmap0, u)
    add("poincare log0", poincare.log0, ball.logmap0, x)
    add("poincare dist", poincare.dist, ball.dist, x, y)
    add("poincare dist0", poincare.dist0, ball.dist0, x)
    add("poincare gyro_add", poincare.gyro_add, ball.mobius_add, x, y)
    scale = PoincareBall(K).gyro_scale
    table["poincare gyro_scale"] = (scale, lambda t, x: ball.mobius_scalar_mul(t[:, None], x), [t, x], [t, x])
    add("poincare gyration", poincare.gyration, ball.gyration, x, y, v)
    add("poincare exp", poincare.exp, ball.expmap, x, v)
    add("poincare log", poincare.log, ball.logmap, x, y)
    add("poincare transport", poincare.transport, ball.transp, x, y, v)
    add(
        "poincare inner",
        poincare.inner,
        lambda x, u, v: ball.inner(x, u, v, keepdim=True).squeeze(-1),
        x,
        v,
        w,
    )
    add(
        "poincare dist_hyperplane",
        poincare.dist_hyperplane,
        lambda x, p, a: ball.dist2plane(x, p, a, signed=True),
        x,
        y,
        w,
    )
    add("poincare project", poincare.project, ball.projx, x)
    add("lorentz exp0", lorentz.exp0, sheet.expmap0, u)
    table["lorentz exp0"][3][:] = [u0]
    add("lorentz log0", lorentz.log0, sheet.logmap0, a)
    add("lorentz dist", lorentz.dist, sheet.dist, a, b)
    add("lorentz dist0", lorentz.dist0, sheet.dist0, a)
    add("lorentz exp", lorentz.exp, sheet.expmap, a, p)
    add("lorentz log", lorentz.log, sheet.logmap, a, b)
    add("lorentz transport", lorentz.transport, sheet.transp, a, b, p)
    add("lorentz inner", lorentz.inner, lambda x, u, v: sheet.inner(x, u, v), a, p, q)
    add("lorentz project", lorentz.project, sheet.projx, a)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| operator | ours, ms | geoopt, ms | ratio |\n|---|---:|---:|---:|")
    ratios = []
    for name, (ours, theirs, inputs, their_inputs) in pairs(options.points, options.dim).items():
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(options.rounds):
            times[0].append(seconds(ours, inputs))
            times[1].append(seconds(theirs, their_inputs))
        mine, other = (1e3 * statistics.median(t[2:]) for t in times)
        ratio = statistics.median(b / a for a, b in list(zip(*times))[2:])
        ratios.append(ratio)
        print(f"| {name} | {mine:.2f} | {other:.2f} | {ratio:.2f} |")
    print(f"\nThe median is {statistics.median(ratios):.2f}, the lowest {min(ratios):.2f}.")


if __name__ == "__main__":
    main()
