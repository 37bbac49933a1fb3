from __future__ import annotations

from itertools import chain

import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from hypergraph.loader import neighbor_loader, take_rows
from hypergraph.sparse import csr_tensor


def graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 4, generator=generator) * (torch.rand(50, 4, generator=generator) < 0.4)
    edges = torch.randint(50, (2, 300), generator=generator)
    return Data(x=x, edge_index=edges, y=torch.arange(50), train_mask=torch.arange(50) < 30)


def csr(x: torch.Tensor) -> torch.Tensor:
    matrix = sp.csr_matrix(x.numpy())
    return csr_tensor(matrix.indptr, matrix.indices, matrix.data, matrix.shape)


def passes(data: Data, workers: int = 0, **options) -> tuple[list[Data], list[Data]]:
    loader = neighbor_loader(
        data, [3, 2], data.train_mask, batch_size=8, shuffle=True, num_workers=workers, **options
    )
    return list(loader), list(loader)


def test_the_same_batches_over_any_number_of_workers():
    found = [passes(graph(), workers) for workers in (0, 1, 2)]
    found.append(passes(graph(), 2, persistent_workers=True))
    for other in found[1:]:
        for a, b in zip(chain(*found[0]), chain(*other)):
            assert torch.equal(a.n_id, b.n_id) and torch.equal(a.edge_index, b.edge_index)
            assert torch.equal(a.x, b.x)


def test_every_pass_has_all_nodes_in_another_order_with_other_neighbours():
    first, second = passes(graph())
    for parts in (first, second):
        seeds = torch.cat([part.n_id[: part.batch_size] for part in parts])
        assert seeds.sort().values.tolist() == list(range(30))
        for part in parts:
            assert torch.equal(part.y, part.n_id)
    assert not torch.equal(first[0].n_id, second[0].n_id)
    fixed = neighbor_loader(graph(), [2, 2], batch_size=50)
    (one,), (two,) = list(fixed), list(fixed)
    assert not torch.equal(one.e_id, two.e_id)  # the same batch, drawn anew
    assert torch.equal(passes(graph(), seed=1)[0][0].n_id, passes(graph(), seed=1)[0][0].n_id)


def test_sparse_features_are_taken_by_rows():
    data = graph()
    dense = passes(data)
    data.x = csr(data.x)
    for a, b in zip(chain(*dense), chain(*passes(data))):
        assert b.x.layout == torch.sparse_csr and torch.equal(a.x, b.x.to_dense())


def test_take_rows():
    x = graph().x
    x[3] = 0
    rows = torch.tensor([3, 0, 3, 49, 0])
    assert torch.equal(take_rows(x, rows), x[rows])
    assert torch.equal(take_rows(csr(x), rows).to_dense(), x[rows])
    assert take_rows(csr(x), rows[:0]).shape == (0, 4)
