"""A small DLRM (Naumov et al., arXiv 1906.00091): bottom MLP, pairwise dot interaction, top MLP."""

import torch
from torch import nn

DENSE_FEATURES = 13


class Dlrm(nn.Module):
    def __init__(self, tables: int, dim: int):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(DENSE_FEATURES, 64), nn.ReLU(), nn.Linear(64, dim), nn.ReLU())
        vectors = tables + 1
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, offset=-1), persistent=False)
        self.top = nn.Sequential(nn.Linear(dim + self.pairs.shape[1], 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: torch.Tensor, embeddings: torch.Tensor) -> torch.Tensor:
        """The click's logit, from `dense` [batch, 13] and `embeddings` [batch, tables, dim]."""
        bottom = self.bottom(dense)
        vectors = torch.cat([bottom.unsqueeze(1), embeddings], dim=1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))
        interactions = dots[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, interactions], dim=1)).squeeze(1)
