"""Named stretches of the trainer's Python thread: timers in the report, and events in a trace file if one is asked for."""

import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

import torch

_events: list[dict] | None = None


def start_trace() -> None:
    global _events
    _events = []


@contextmanager
def mark(timer: str):
    start_ns = time.monotonic_ns()
    try:
        yield
    finally:
        duration_ns = time.monotonic_ns() - start_ns
        torch.ops.psdemo.perf_record(timer, duration_ns)
        if _events is not None:
            _events.append({"name": timer, "ts": start_ns / 1000, "dur": duration_ns / 1000})


def write_trace(path: Path) -> None:
    """The Trace Event Format, which Perfetto, chrome://tracing and speedscope open. Times are CLOCK_MONOTONIC."""
    common = {"ph": "X", "pid": os.getpid(), "tid": os.getpid(), "cat": "trainer"}
    Path(path).write_text(json.dumps({"traceEvents": [{**common, **event} for event in _events or []]}) + "\n")
