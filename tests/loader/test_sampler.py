from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import stats
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.sampler import NodeSamplerInput

from hypergraph.errors import InputError
from hypergraph.loader import NeighborSampler


def graph(nodes: int = 60, edges: int = 400, seed: int = 0) -> Data:
    """A directed graph with parallel edges, loops and nodes without edges."""
    random = np.random.default_rng(seed)
    edge_index = torch.from_numpy(random.integers(0, nodes - 3, (2, edges)))
    return Data(edge_index=edge_index, num_nodes=nodes, x=torch.arange(nodes).float()[:, None])


def batch(*nodes: int) -> NodeSamplerInput:
    return NodeSamplerInput(None, torch.tensor(nodes))


@pytest.mark.parametrize(
    ("replace", "disjoint", "kind"),
    [*itertools.product([False, True], [False, True], ["directional", "induced"])],
)
def test_every_edge_is_one_of_the_graph(replace, disjoint, kind):
    data = graph()
    sampler = NeighborSampler(data, [4, 3], replace=replace, disjoint=disjoint, subgraph_type=kind, seed=3)
    seeds = torch.tensor([5, 0, 59, 17, 5])
    out = sampler.sample_from_nodes(NodeSamplerInput(None, seeds))
    assert torch.equal(out.node[:5], seeds)
    # the edge ids lead back to the same edge
    ends = data.edge_index[:, sampler.edge_permutation[out.edge]]
    assert torch.equal(ends, torch.stack([out.global_row, out.global_col]))
    if disjoint:
        assert torch.equal(out.batch[:5], torch.arange(5))
        assert torch.equal(out.batch[out.row], out.batch[out.col])
        pairs = torch.stack([out.node, out.batch])
        assert len(pairs.unique(dim=1).T) == len(out.node)
    else:
        assert len(out.node[1:].unique()) == len(out.node) - 1  # 5 is named twice


@pytest.mark.parametrize("replace", [False, True])
def test_hops_are_counted_and_each_node_draws_what_it_may(replace):
    data = graph()
    out = NeighborSampler(data, [4, 3], replace=replace).sample_from_nodes(batch(5, 0, 59))
    degree = torch.bincount(data.edge_index[1], minlength=60)
    assert sum(out.num_sampled_nodes) == len(out.node) and sum(out.num_sampled_edges) == len(out.row)
    begin, first = 0, 0
    for hop, count in enumerate([4, 3]):
        targets = torch.arange(begin, begin + out.num_sampled_nodes[hop])
        drawn = torch.bincount(out.col[first : first + out.num_sampled_edges[hop]], minlength=len(out.node))[
            targets
        ]
        most = degree[out.node[targets]]
        assert torch.equal(drawn, torch.where(most > 0, count, 0) if replace else most.clamp_max(count))
        begin, first = begin + out.num_sampled_nodes[hop], first + out.num_sampled_edges[hop]
    if not replace:
        assert len(out.edge.unique()) == len(out.edge)


def test_all_neighbours_are_the_whole_neighbourhood():
    from torch_geometric.utils import k_hop_subgraph

    data = graph(seed=1)
    out = NeighborSampler(data, [-1, -1]).sample_from_nodes(batch(7, 8))
    nodes, _, _, mask = k_hop_subgraph([7, 8], 2, data.edge_index)
    assert torch.equal(out.node.sort().values, nodes)
    # the edges into the nodes that are two hops away are not drawn
    assert len(out.edge) <= int(mask.sum())
    near = torch.isin(data.edge_index[1], out.node[: sum(out.num_sampled_nodes[:2])])
    assert len(out.edge) == int(near.sum())


def test_induced_has_all_edges_between_the_nodes():
    from torch_geometric.utils import subgraph

    data = graph(seed=2)
    sampler = NeighborSampler(data, [3, 3], subgraph_type="induced")
    out = sampler.sample_from_nodes(batch(1, 2, 3))
    _, _, mask = subgraph(out.node, data.edge_index, num_nodes=60, return_edge_mask=True)
    found = sampler.edge_permutation[out.edge].sort().values
    assert torch.equal(found, mask.nonzero().flatten())
    assert out.num_sampled_nodes is None


def test_bidirectional_has_both_directions():
    out = NeighborSampler(graph(), [3, 3], subgraph_type="bidirectional").sample_from_nodes(batch(1, 2))
    pairs = set(zip(out.row.tolist(), out.col.tolist()))
    assert {(b, a) for a, b in pairs} == pairs and len(pairs) > 4


# 2 of 40 by Floyd's method, 8 of 12 by one pass
@pytest.mark.parametrize(("degree", "count", "replace"), [(40, 2, False), (12, 8, False), (12, 4, True)])
def test_draws_are_uniform(degree, count, replace):
    """Every neighbour, and every pair of neighbours, equally often: chi-square tests at 1e-4."""
    star = torch.stack([torch.arange(1, degree + 1), torch.zeros(degree, dtype=torch.long)])
    sampler = NeighborSampler(Data(edge_index=star, num_nodes=degree + 1), [count], replace=replace)
    single, pairs = np.zeros(degree), np.zeros((degree, degree))
    rounds = 3000
    for epoch in range(rounds):
        sampler.epoch = epoch
        drawn = sampler.edge_permutation[sampler.sample_from_nodes(batch(0)).edge].numpy()
        np.add.at(single, drawn, 1)
        first, second = np.triu_indices(count, 1)
        np.add.at(
            pairs, (np.minimum(drawn[first], drawn[second]), np.maximum(drawn[first], drawn[second])), 1
        )
    assert single.sum() == rounds * count
    if replace:  # independent draws: multinomial, and a pair of equals is half as likely as two of others
        assert stats.chisquare(single).pvalue > 1e-4
        expected = np.triu(np.full((degree, degree), 2.0), 1) + np.eye(degree)
        kept = np.triu_indices(degree)
        expected *= pairs.sum() / expected.sum()
        # the pairs of one round share draws: their statistic is judged at a wider bound
        ratio = ((pairs[kept] - expected[kept]) ** 2 / expected[kept]).sum() / (len(kept[0]) - 1)
        assert 0.6 < ratio < 1.6
    else:  # sets of count: the variance of a single count is smaller than the multinomial's
        shrink = 1 - count / degree
        scaled = ((single - single.mean()) ** 2 / single.mean()).sum() / shrink * (degree - 1) / degree
        assert 1e-4 < stats.chi2.sf(scaled, degree - 1) < 1 - 1e-4
        kept = np.triu_indices(degree, 1)
        share = pairs[kept] / pairs[kept].mean()
        assert abs(share - 1).max() < 6 / np.sqrt(pairs[kept].mean())


def test_hops_beyond_the_first_are_uniform_too():
    """Two layers of a complete bipartite graph: the second hop draws from its own stream."""
    left, right = torch.arange(1, 6), torch.arange(6, 16)
    first = torch.stack([left, torch.zeros_like(left)])
    second = torch.cartesian_prod(right, left).T
    data = Data(edge_index=torch.cat([first, second], 1), num_nodes=16)
    sampler = NeighborSampler(data, [1, 1])
    count = np.zeros((5, 10))
    for epoch in range(5000):
        sampler.epoch = epoch
        node = sampler.sample_from_nodes(batch(0)).node.tolist()
        count[node[1] - 1, node[2] - 6] += 1
    assert stats.chisquare(count.ravel()).pvalue > 1e-4


def test_what_is_drawn_follows_from_seed_epoch_and_batch():
    data = graph(200, 4000)
    one, same, other = (NeighborSampler(data, [3, 3], seed=seed) for seed in (1, 1, 2))

    def drawn(sampler, *nodes):
        return sampler.sample_from_nodes(batch(*nodes)).edge.tolist()

    assert drawn(one, 1, 2) == drawn(same, 1, 2) != drawn(other, 1, 2)
    drawn(one, 9)  # another batch in between changes nothing
    assert drawn(one, 1, 2) == drawn(same, 1, 2)
    same.epoch = 1
    assert drawn(one, 1, 2) != drawn(same, 1, 2)
    assert drawn(other, 1, 2) == drawn(one.with_seed(2), 1, 2) and one.seed == 1


def test_grouped_edges_are_the_same_graph():
    data = graph()
    sampler = NeighborSampler(data, [3, 2])
    given = NeighborSampler((sampler._pointer, sampler._row), [3, 2])
    assert torch.equal(given.sample_from_nodes(batch(3, 4)).edge, sampler.sample_from_nodes(batch(3, 4)).edge)
    assert given.edge_permutation is None


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("negatives", [None, "binary", "triplet"])
def test_link_loader(disjoint, negatives):
    data = graph()
    pairs = data.edge_index[:, :24]

    def batches(workers: int) -> list[Data]:
        sampler = NeighborSampler(data, [3, 2], disjoint=disjoint, seed=1)
        return list(
            LinkLoader(data, sampler, pairs, neg_sampling=negatives, batch_size=10, num_workers=workers)
        )

    found = batches(0)
    assert [len(part.input_id) for part in found] == [10, 10, 4]
    part = found[0]
    if negatives == "triplet":
        ends = torch.stack([part.src_index, part.dst_pos_index])
    else:
        ends = part.edge_label_index[:, :10]
    assert torch.equal(part.n_id[ends], pairs[:, :10])
    assert torch.equal(part.x[:, 0].long(), part.n_id)
    if negatives == "binary":
        assert part.edge_label.tolist() == [1] * 10 + [0] * 10
    for a, b in zip(found, batches(2)):  # the same negatives and neighbours in two workers
        assert a.to_dict().keys() == b.to_dict().keys() and torch.equal(a.n_id, b.n_id)


def test_node_loader():
    data = graph()
    loader = NodeLoader(data, NeighborSampler(data, [3, 2]), torch.arange(10, 30), batch_size=8)
    parts = list(loader)
    assert torch.cat([part.n_id[: part.batch_size] for part in parts]).tolist() == list(range(10, 30))
    for part in parts:
        assert torch.equal(data.edge_index[:, part.e_id], part.n_id[part.edge_index])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"num_neighbors": [3, -2]}, "num_neighbors must be a list of whole numbers"),
        ({"num_neighbors": [3.5]}, "num_neighbors must be a list of whole numbers"),
        ({"num_neighbors": 3}, "num_neighbors must be a list of whole numbers"),
        ({"subgraph_type": "induce"}, "did you mean 'induced'"),
        ({"data": "graph"}, "takes a Data with an edge_index"),
        ({"data": (np.array([0, 3, 2]), np.zeros(2, np.int32))}, "must rise from 0"),
        ({"data": Data(edge_index=torch.tensor([[0], [7]]), num_nodes=3)}, "a node outside 0 to 2"),
    ],
)
def test_bad_input_is_one_sentence(change, text):
    given = {"data": graph(), "num_neighbors": [3], **change}
    with pytest.raises(InputError, match=text):
        NeighborSampler(**given)


def test_bad_batches_and_damaged_graphs_are_named():
    with pytest.raises(InputError, match="from 0 to 59"):
        NeighborSampler(graph(), [3]).sample_from_nodes(batch(60))
    damaged = NeighborSampler((np.array([0, 1, 2]), np.array([1, 9], np.int32)), [3, 3])
    with pytest.raises(InputError, match="Edge 1 of the graph names a node outside 0 to 1"):
        damaged.sample_from_nodes(batch(0))


def test_repr_and_empty_batches():
    sampler = NeighborSampler(graph(), [3, 2])
    assert repr(sampler) == "NeighborSampler(60 nodes, [3, 2])"
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.zeros(0, dtype=torch.long)))
    assert len(out.node) == len(out.row) == 0
    out = sampler.sample_from_nodes(batch(59))  # a node without edges
    assert out.node.tolist() == [59] and len(out.row) == 0
