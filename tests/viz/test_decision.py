from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.path import Path

from hypergraph import viz
from hypergraph.errors import InputError
from hypergraph.nn.registry import HEADS, make_head, make_space
from hypergraph.viz.decision import decision_regions


def area(outline):
    x, y = outline.T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


@pytest.mark.parametrize("K", [-1.0, -0.5, -2.3])
@pytest.mark.parametrize("name", [name for name, entry in HEADS.items() if entry.space != "euclidean"])
def test_regions_are_where_the_head_decides(name, K):
    torch.manual_seed(0)
    space = make_space(HEADS[name].space, K)
    head = make_head(name, 2, 3, space)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    regions = decision_regions(head)
    generator = torch.Generator().manual_seed(1)
    u = torch.randn(300, 2, generator=generator, dtype=torch.float64) / (-K) ** 0.5
    logits = head.double()(head.space.exp0(u)).detach()
    top = logits.topk(2).values
    sure = (top[:, 0] - top[:, 1] > 0.05).numpy()  # not at a boundary, which is drawn on a grid
    z = (-K) ** 0.5 * space.to_poincare(head.space.exp0(u)).numpy()
    for region in regions:
        path = Path.make_compound_path(*(Path(outline, closed=True) for outline in region.outlines))
        inside = path.contains_points(z)
        assert (inside == (logits.argmax(1) == region.label).numpy())[sure].all()
    assert sure.sum() > 200
    assert next(head.parameters()).dtype == torch.float64


def test_regions_fill_the_disk():
    torch.manual_seed(0)
    head = make_head("bmlr-p", 2, 4)
    whole = sum(area(outline) for region in decision_regions(head) for outline in region.outlines)
    assert abs(whole - np.pi) < 2e-3
    assert head.weight.dtype == torch.float32  # the head itself is not touched


def test_regions_take_and_return_an_ax():
    ax = viz.disk()
    before = len(ax.patches)
    assert viz.regions(make_head("lmlr", 2, 2), ax) is ax
    assert len(ax.patches) > before
    with pytest.raises(InputError, match="not 3; name the plane"):
        viz.regions(make_head("lmlr", 3, 2))
