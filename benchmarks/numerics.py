"""The error of every operator against mpmath at 50 digits, as the tables of docs/numerics.md:
`python benchmarks/numerics.py`, two minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from mpmath import mpf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.geometry.operators import MODULES
from tests.geometry.oracle import SIGNATURES, Kit, call_oracle, call_torch, relative_error, times
from tests.geometry.test_accuracy import cases, stated_condition

CURVATURES = (-10.0, -1.0, -0.1, -1e-3)
DIM, DRAWS = 8, 20
WITHIN = {torch.float32: (1.0, 3.0, 6.0), torch.float64: (1.0, 3.0, 6.0, 12.0)}
TRIPS = (1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 20.0, 30.0, 40.0)
LIMIT = {torch.float32: 13.2, torch.float64: 31.2}
SHOWN = {"ball": "poincare", "Lorentz": "lorentz"}


def arguments(kit: Kit, name: str, sd: float) -> list[Any]:
    """Points in random directions at scaled distance `sd` from the origin, and unit tangent vectors."""
    made: list[Any] = []
    for kind in SIGNATURES[name]:
        if kind == "point":
            made.append(kit.point(kit.direction(), sd))
        elif kind == "points":
            made.append([kit.point(kit.direction(), sd) for _ in range(4)])
        elif kind.startswith("tangent"):
            made.append(kit.round(times(kit.scale(made[int(kind[-1])]) / kit.s, kit.direction())))
        elif kind == "vector":  # on the ball exp0 goes twice its length
            made.append(kit.round(times(sd / kit.s / (2 if kit.model == "poincare" else 1), kit.direction())))
        elif kind == "ideal":
            made.append(kit.round(kit.direction()))
        else:
            made.append(mpf("0.5"))
    return made


def error(kit: Kit, name: str, args: list[Any]) -> float:
    """The relative error of one call."""
    got = call_torch(MODULES[kit.model], kit, name, args, float(kit.K))
    assert got.isfinite().all(), (kit.model, kit.dtype, name)
    return relative_error(got, call_oracle(kit, name, args))


def worst(model: str, dtype: torch.dtype, name: str, sd: float) -> float:
    """The largest error over the curvatures and the draws."""
    # its oracle is a Newton method of 50 digits
    draws = 2 if name == "frechet_mean" else DRAWS
    kits = [Kit(model, K, DIM, dtype, seed=i) for i, K in enumerate(CURVATURES)]
    return max(error(kit, name, arguments(kit, name, sd)) for kit in kits for _ in range(draws))


def by_distance(dtype: torch.dtype) -> None:
    """The worst error at random places, at each distance from the origin."""
    columns = [f"{model} {sd:g}" for model in SHOWN for sd in WITHIN[dtype]]
    heading(f"{str(dtype)[6:]}", columns)
    for name in SIGNATURES:
        row(f"`{name}`", [f"{worst(m, dtype, name, sd):.0e}" for m in SHOWN.values() for sd in WITHIN[dtype]])


def hard_places() -> None:
    """The largest error over (unit of rounding x condition number) at the hard places of the tests."""
    kinds = [(shown, dtype) for dtype in WITHIN for shown in SHOWN]
    found: dict[str, dict[Any, float]] = {name: {} for name in SIGNATURES}
    for shown, dtype in kinds:
        eps = torch.finfo(dtype).eps
        for i, K in enumerate(CURVATURES):
            kit = Kit(SHOWN[shown], K, DIM, dtype, seed=i)
            for name, args in cases(kit):
                share = error(kit, name, args) / eps
                if share > found[name].get((shown, dtype), 0.0):  # a condition number takes a while
                    share /= max(1.0, stated_condition(kit, name, args))
                    found[name][shown, dtype] = max(share, found[name].get((shown, dtype), 0.0))
    heading("hard places", [f"{shown} {str(dtype)[6:]}" for shown, dtype in kinds])
    for name, shares in found.items():
        if shares:
            row(f"`{name}`", [f"{shares.get(kind, 0.0):.1f}" for kind in kinds])


def round_trips() -> None:
    """The error of log0(exp0(u)), or the distance that is left of u where it is beyond the limit."""
    kinds = [(shown, dtype) for dtype in WITHIN for shown in SHOWN]
    heading("there and back", [f"{shown} {str(dtype)[6:]}" for shown, dtype in kinds])
    for sd in TRIPS:
        cells = []
        for shown, dtype in kinds:
            module, twice = MODULES[SHOWN[shown]], 2 if shown == "ball" else 1
            u = torch.nn.functional.normalize(torch.randn(1000, DIM, dtype=torch.float64), dim=-1)
            u = (u * sd / twice).to(dtype)
            back = module.log0(module.exp0(u, K=-1.0), K=-1.0)
            left = twice * back.norm(dim=-1).double()
            gap = ((back - u).norm(dim=-1) / u.norm(dim=-1)).max().item()
            cells.append(f"{gap:.0e}" if sd <= LIMIT[dtype] else f"→ {left.mean():.1f}")
        row(f"{sd:g}", cells)


def heading(title: str, columns: list[str]) -> None:
    print(f"\n**{title}**\n\n| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")


def row(name: str, cells: list[str]) -> None:
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    for dtype in WITHIN:
        by_distance(dtype)
    hard_places()
    round_trips()
