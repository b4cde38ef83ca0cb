"""Named stretches of the trainer's Python thread: timers in the report, and events in a trace file if one is asked for.
And names of threads."""

import ctypes
import json
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path

_hooks: ctypes.PyDLL | None = None
_events: list[dict] | None = None


def load(op_library: Path) -> None:
    """PyDLL keeps the GIL during a call, so that a mark costs its thread no wait for it."""
    global _hooks
    _hooks = ctypes.PyDLL(str(op_library))
    _hooks.psdemo_perf_record.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    _hooks.psdemo_perf_record.restype = None
    _hooks.psdemo_set_thread_name.argtypes = [ctypes.c_char_p]
    _hooks.psdemo_set_thread_name.restype = None


def name_thread(name: str) -> None:
    """Names the current thread for Python and for the system."""
    threading.current_thread().name = name
    _hooks.psdemo_set_thread_name(name.encode())


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
        _hooks.psdemo_perf_record(timer.encode(), duration_ns)
        if _events is not None:
            _events.append({"name": timer, "ts": start_ns / 1000, "dur": duration_ns / 1000})


def write_trace(path: Path) -> None:
    """The Trace Event Format, which Perfetto, chrome://tracing and speedscope open. Times are CLOCK_MONOTONIC."""
    common = {"ph": "X", "pid": os.getpid(), "tid": os.getpid(), "cat": "trainer"}
    Path(path).write_text(json.dumps({"traceEvents": [{**common, **event} for event in _events or []]}) + "\n")
