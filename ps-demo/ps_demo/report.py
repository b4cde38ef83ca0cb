"""Reads the timer report that the server and the trainer append to, and sums it up."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Timer:
    count: int
    mean_us: float
    p50_us: float
    p99_us: float
    max_us: float

    @property
    def total_us(self) -> float:
        return self.count * self.mean_us


@dataclass(frozen=True)
class Window:
    window: int
    role: str
    pid: int
    end_unix: float
    span_ms: int
    timers: dict[str, Timer]


_HEADER = re.compile(r"# window=(\d+) role=(\S+) pid=(\d+) end_unix=([\d.]+) span_ms=(\d+)$")
_TIMER = re.compile(r"(\S.*?)\s+count=(\d+) mean_us=([\d.]+) p50_us=([\d.]+) p99_us=([\d.]+) max_us=([\d.]+)$")


def read_report(path: Path) -> list[Window]:
    """All windows of a report, text or JSON lines. Raises ValueError on a line that belongs to neither."""
    windows = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if line.startswith("{"):
            windows.append(_window_from_json(line))
        elif header := _HEADER.match(line):
            window, role, pid, end_unix, span_ms = header.groups()
            windows.append(Window(int(window), role, int(pid), float(end_unix), int(span_ms), {}))
        elif (timer := _TIMER.match(line)) and windows:
            name, count, *figures = timer.groups()
            windows[-1].timers[name] = Timer(int(count), *map(float, figures))
        elif line:
            raise ValueError(f"{path}:{number}: not a line of a timer report: {line!r}")
    return windows


def _window_from_json(line: str) -> Window:
    fields = json.loads(line)
    timers = {name: Timer(**figures) for name, figures in fields.pop("timers").items()}
    return Window(timers=timers, **fields)


def share(windows: list[Window], timers: tuple[str, ...]) -> float:
    """Time in any of `timers` over the windows' length: what one thread that runs them all would show."""
    span_us = sum(window.span_ms for window in windows) * 1000.0
    total_us = sum(window.timers[name].total_us for window in windows for name in timers if name in window.timers)
    return total_us / span_us if span_us else 0.0


def format_summary(windows: list[Window]) -> str:
    """One line per timer over all windows of each process."""
    lines = []
    for role, pid in sorted({(window.role, window.pid) for window in windows}):
        own = [window for window in windows if window.pid == pid]
        lines.append(f"{role} pid {pid}: {len(own)} windows")
        for name in sorted({name for window in own for name in window.timers}):
            timers = [window.timers[name] for window in own if name in window.timers]
            count = sum(timer.count for timer in timers)
            mean_us = sum(timer.total_us for timer in timers) / count
            worst_us = max(timer.max_us for timer in timers)
            lines.append(
                f"  {name:36} count={count:<8} mean_us={mean_us:<10.1f} max_us={worst_us:<10.1f} "
                f"share={share(own, (name,)):6.1%}"
            )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    if not arguments:
        print("usage: python3 -m ps_demo report FILE...", file=sys.stderr)
        return 2
    try:
        print(format_summary([window for path in arguments for window in read_report(Path(path))]))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
