"""A Busemann head on a GNN that you have: only the head is hyperbolic.

python examples/head_on_gnn.py
"""

import torch
from torch_geometric.datasets import KarateClub
from torch_geometric.nn import GCNConv

from hypergraph import PoincareBall
from hypergraph.nn import BMLR


class Net(torch.nn.Module):
    def __init__(self, in_channels: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(in_channels, hidden)
        self.conv2 = GCNConv(hidden, hidden)
        self.space = PoincareBall(K=-1.0)
        self.head = BMLR(hidden, classes, self.space)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        h = self.conv2(self.conv1(x, edge_index).relu(), edge_index)
        return self.head(self.space.lift(h, clip=1.0))


def main() -> None:
    torch.manual_seed(0)
    data = KarateClub()[0]
    model = Net(data.num_features, 16, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(1, 201):
        optimizer.zero_grad()
        logits = model(data.x, data.edge_index)
        loss = torch.nn.functional.cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        if epoch % 50 == 0:
            test = ~data.train_mask
            accuracy = (logits.argmax(1) == data.y)[test].float().mean()
            print(f"epoch {epoch}: loss {loss:.3f}, accuracy on the other nodes {100 * accuracy:.1f} %")


if __name__ == "__main__":
    main()
