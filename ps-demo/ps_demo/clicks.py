"""Generated click data whose labels can be learnt: each id and each dense feature has a hidden effect on the click."""

from dataclasses import dataclass

import torch

from .model import DENSE_FEATURES

ZIPF_EXPONENT = 1.05


@dataclass
class Batch:
    dense: torch.Tensor  # float32 [batch, 13]
    keys: torch.Tensor  # int64 [batch, tables]: (table << 32) + id
    labels: torch.Tensor  # float32 [batch], 0 or 1


@dataclass
class Clicks:
    dense: torch.Tensor
    keys: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows) -> Batch:
        return Batch(self.dense[rows], self.keys[rows], self.labels[rows])


def table_keys(tables: int, rows: int) -> torch.Tensor:
    """All keys, [tables, rows]."""
    return (torch.arange(tables, dtype=torch.int64) << 32).unsqueeze(1) + torch.arange(rows, dtype=torch.int64)


def generate(samples: int, tables: int, rows: int, seed: int) -> Clicks:
    """`samples` clicks with zipf-distributed ids. Only the draw depends on `seed`; the hidden effects never do, so that
    all ranks learn the same thing."""
    hidden = torch.Generator().manual_seed(20240229)
    id_effect = torch.randn(tables, rows, generator=hidden) * 0.35
    dense_effect = torch.randn(DENSE_FEATURES, generator=hidden) * 0.4

    draw = torch.Generator().manual_seed(seed)
    weights = 1.0 / torch.arange(1, rows + 1, dtype=torch.float64) ** ZIPF_EXPONENT
    cumulative = torch.cumsum(weights / weights.sum(), 0)
    uniform = torch.rand(samples, tables, generator=draw, dtype=torch.float64)
    ids = torch.searchsorted(cumulative, uniform).clamp_(max=rows - 1)
    dense = torch.randn(samples, DENSE_FEATURES, generator=draw)
    logits = dense @ dense_effect + id_effect.gather(1, ids.T).sum(0)
    labels = (torch.rand(samples, generator=draw) < torch.sigmoid(logits)).float()
    keys = ids + (torch.arange(tables, dtype=torch.int64) << 32)
    return Clicks(dense, keys, labels)
