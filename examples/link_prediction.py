"""Link prediction by hand: BFC layers place the nodes, a Fermi-Dirac decoder turns distances into edges.

python examples/link_prediction.py
"""

import networkx as nx
import torch
from sklearn.metrics import roc_auc_score
from torch_geometric.utils import from_networkx, negative_sampling

from hypergraph import Lorentz
from hypergraph.nn import HNN, FermiDirac


def main() -> None:
    torch.manual_seed(0)
    tree = nx.balanced_tree(3, 5)
    edges = from_networkx(tree).edge_index
    edges = edges[:, edges[0] < edges[1]]
    # a node takes after its parent, and the more so the deeper it is: features tell something about edges
    features = torch.zeros(len(tree), 8)
    for parent, child in nx.bfs_edges(tree, 0):
        depth = nx.shortest_path_length(tree, 0, child)
        features[child] = features[parent] + torch.randn(8) / 2**depth

    chosen = torch.randperm(edges.size(1))
    train, test = edges[:, chosen[:300]], edges[:, chosen[300:]]
    space = Lorentz(K=-1.0)
    encoder = HNN(features.size(1), 8, 2, space, fc="bfc-l")
    decoder = FermiDirac(space)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(100):
        z = encoder(features)
        negatives = negative_sampling(train, len(tree), train.size(1))
        logits = torch.cat([decoder(z, train), decoder(z, negatives)])
        labels = torch.cat([torch.ones(train.size(1)), torch.zeros(negatives.size(1))])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    with torch.no_grad():
        z = encoder(features)
        negatives = negative_sampling(edges, len(tree), test.size(1))
        scores = torch.cat([decoder(z, test), decoder(z, negatives)])
    labels = torch.cat([torch.ones(test.size(1)), torch.zeros(negatives.size(1))])
    print(f"AUC on {test.size(1)} edges that were held out: {100 * roc_auc_score(labels, scores):.1f}")


if __name__ == "__main__":
    main()
