"""Threads that feed the trainer: one that shuffles and cuts batches, and the text parsers of the fault gil-loader."""

import queue
import threading

import torch

from .clicks import Batch, Clicks
from .marks import name_thread


class BatchLoader:
    """A thread "loader" that keeps a few shuffled batches ready, epoch after epoch."""

    def __init__(self, clicks: Clicks, batch_size: int, seed: int, depth: int = 4):
        if batch_size > len(clicks):
            raise ValueError(f"batch size {batch_size} is over the dataset's {len(clicks)} samples")
        self._clicks = clicks
        self._batch_size = batch_size
        self._generator = torch.Generator().manual_seed(seed)
        self._ready: queue.Queue[Batch] = queue.Queue(maxsize=depth)
        self._thread = threading.Thread(target=self._load, daemon=True)
        self._thread.start()

    def next(self) -> Batch:
        return self._ready.get()

    def _load(self) -> None:
        name_thread("loader")
        while True:
            order = torch.randperm(len(self._clicks), generator=self._generator)
            for start in range(0, len(order) - self._batch_size + 1, self._batch_size):
                self._ready.put(self._clicks.batch(order[start : start + self._batch_size]))


def format_lines(batch: Batch) -> list[str]:
    """A batch as the text of a click log: label, dense features, ids in hexadecimal; tab-separated."""
    lines = []
    for label, dense, keys in zip(batch.labels.tolist(), batch.dense.tolist(), batch.keys.tolist(), strict=True):
        fields = [str(int(label)), *(f"{value:.4f}" for value in dense), *(f"{key & 0xFFFFFFFF:x}" for key in keys)]
        lines.append("\t".join(fields))
    return lines


def parse_lines(lines: list[str], dense_features: int) -> list[tuple[int, list[float], list[int]]]:
    parsed = []
    for line in lines:
        fields = line.split("\t")
        dense = [float(field) for field in fields[1 : 1 + dense_features]]
        ids = [int(field, 16) for field in fields[1 + dense_features :]]
        parsed.append((int(fields[0]), dense, ids))
    return parsed


class TextParsers:
    """The fault gil-loader: Python threads that parse a click log, ahead of need, with the GIL held all the while.

    `mult` is how many times each line is parsed, as a loader with that many feature crosses would."""

    def __init__(self, sample: Batch, threads: int, mult: int):
        self._lines = format_lines(sample)
        self._dense_features = sample.dense.shape[1]
        self._mult = mult
        for index in range(threads):
            threading.Thread(target=self._parse, args=(index,), daemon=True).start()

    def _parse(self, index: int) -> None:
        name_thread(f"loader-{index}")
        while True:
            for _ in range(self._mult):
                parse_lines(self._lines, self._dense_features)
