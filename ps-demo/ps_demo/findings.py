"""Sets a profile beside the manifest of the run it was taken in: is what should be found found, and how much of it?

The profile is folded text with threads (`stackclock record --idle -t -o FILE.folded`): one stack a line, root first,
with its weight in microseconds at the end. The first frames name the process and the thread, the last one is the
thread's state unless it runs:

    process 12:"ps_server ...";thread (15): ps-worker-0;...;futex_wait (futex-internal.h:146);[blocked: futex] 452397
"""

import argparse
import json
import math
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from .faults import Finding
from .report import read_report, share

SAMPLE_US = 10_000  # of a recording at the default rate, 100 Hz
STARTUP_SECONDS = 0.5  # from the command's start to its first sample, at most
AGREEMENT_POINTS = 0.05
AGREEMENT_SIGMAS = 3

# Threads of gRPC and of the timers, which do next to nothing: one row for all of them.
IDLE_HELPERS = (
    "default-executo",
    "event_engine",
    "grpc_global_tim",
    "perf-report",
    "resolver-execut",
    "timer_manager",
)

_PROCESS = re.compile(r"process (\d+)")
_THREAD = re.compile(r"thread \((\d+)\): ?(.*)")


@dataclass(frozen=True)
class Sample:
    pid: int
    tid: int
    thread: str
    frames: tuple[str, ...]
    state: str  # "on-cpu", "off-cpu" or "gil-wait"
    weight_us: int


def state_of(frame: str) -> str | None:
    """What a state frame says; None for a frame that is code, since a running thread has no state frame."""
    if frame.startswith("[blocked: ") or frame in ("[uninterruptible]", "[stopped]"):
        return "off-cpu"
    return {"[gil]": "gil-wait", "[runnable]": "on-cpu"}.get(frame)


def read_folded(path: Path) -> list[Sample]:
    """Raises ValueError on a line that is not a stack of a named thread with its weight."""
    samples = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        stack, _, weight = line.rpartition(" ")
        root, _, rest = stack.partition(";thread (")
        frames = ("thread (" + rest).split(";")
        process, thread = _PROCESS.match(root), _THREAD.match(frames[0])
        if process is None or thread is None or not weight.isdigit():
            raise ValueError(f"{path}:{number}: not a stack with process, thread and weight: {line[:120]!r}")
        state = state_of(frames[-1])
        samples.append(
            Sample(
                int(process.group(1)),
                int(thread.group(1)),
                thread.group(2),
                tuple(frames[1:]),
                state or "on-cpu",
                int(weight),
            )
        )
    return samples


@dataclass(frozen=True)
class Verdict:
    finding: Finding
    share: float  # with the finding's state, which its bounds are about
    share_any_state: float  # which a timer is about
    timers_share: float | None
    tolerance: float

    @property
    def within_bounds(self) -> bool:
        return self.finding.minimum_share <= self.share <= self.finding.maximum_share

    @property
    def agrees(self) -> bool:
        return self.timers_share is None or abs(self.share_any_state - self.timers_share) <= self.tolerance


def processes_of(finding: Finding, manifest: dict) -> list[dict]:
    return [
        process
        for process in manifest["processes"]
        if process["role"] == finding.role
        and (finding.rank is None or process["rank"] == finding.rank)
        and (finding.other_ranks is None or process["rank"] != finding.other_ranks)
    ]


def judge(finding: Finding, manifest: dict, samples: list[Sample]) -> Verdict:
    processes = processes_of(finding, manifest)
    pids = {process["pid"] for process in processes}
    of_threads = [
        sample
        for sample in samples
        if sample.pid in pids
        and (sample.tid == sample.pid if finding.thread == "main" else re.fullmatch(finding.thread, sample.thread))
    ]
    total_us = sum(sample.weight_us for sample in of_threads)
    matching = [
        sample
        for sample in of_threads
        if all(any(re.search(pattern, frame) for frame in sample.frames) for pattern in finding.frames)
    ]
    in_state = [sample for sample in matching if finding.state in ("any", sample.state)]

    def share_of(part: list[Sample]) -> float:
        return sum(sample.weight_us for sample in part) / total_us if total_us else 0.0

    threads = len({(sample.pid, sample.tid) for sample in of_threads})
    recorded_s = total_us / max(1, threads) / 1e6
    timers_share = timers_of(finding, manifest, processes, recorded_s) if finding.timers and threads else None
    if timers_share is not None:
        timers_share /= threads
    share_any_state = share_of(matching)
    sigma = math.sqrt(share_any_state * (1 - share_any_state) / max(1.0, total_us / SAMPLE_US))
    return Verdict(
        finding, share_of(in_state), share_any_state, timers_share, max(AGREEMENT_POINTS, AGREEMENT_SIGMAS * sigma)
    )


def timers_of(finding: Finding, manifest: dict, processes: list[dict], recorded_s: float) -> float | None:
    """The timers' share of one thread's time, from the windows that lie inside the recording; None if there are none.

    The command works before its first sample and after its last one, and slows the others down by that."""
    start_unix = manifest["exec"]["start_unix"] + STARTUP_SECONDS
    end_unix = manifest["exec"]["start_unix"] + recorded_s
    total = 0.0
    for process in processes:
        windows = [
            window
            for window in read_report(Path(process["report"]))
            if window.pid == process["pid"]
            and window.end_unix <= end_unix
            and window.end_unix - window.span_ms / 1000 >= start_unix
        ]
        if not windows:
            return None
        total += share(windows, finding.timers)
    return total


def judge_all(manifest: dict, samples: list[Sample]) -> list[tuple[str, Verdict]]:
    """Every finding of the run's faults with its verdict."""
    verdicts = []
    for fields in manifest["findings"]:
        fields = dict(fields)
        fault = fields.pop("fault")
        verdicts.append((fault, judge(Finding(**fields), manifest, samples)))
    return verdicts


def share_with_root(samples: list[Sample]) -> float:
    """The share of time whose stack reaches the thread's root."""
    root = re.compile(r"(_start|clone3?|start_thread)\b")
    rooted_us = sum(sample.weight_us for sample in samples if sample.frames and root.match(sample.frames[0]))
    return rooted_us / max(1, sum(sample.weight_us for sample in samples))


def format_verdicts(verdicts: list[tuple[str, Verdict]]) -> str:
    lines = [f"{'expected':>12} {'found':>7} {'timers':>7}  finding"]
    for fault, verdict in verdicts:
        finding = verdict.finding
        bounds = f"{finding.minimum_share * 100:g}-{finding.maximum_share * 100:g}%"
        timers = "-" if verdict.timers_share is None else f"{verdict.timers_share:.1%}"
        ok = "ok  " if verdict.within_bounds and verdict.agrees else "FAIL"
        who = f"{finding.role}{'' if finding.rank is None else f' {finding.rank}'}/{finding.thread}"
        where = f"{who}: {' -> '.join(finding.frames)}, {finding.state}"
        lines.append(f"{bounds:>12} {verdict.share:>7.1%} {timers:>7}  {ok} {fault}: {finding.means} ({where})")
    return "\n".join(lines)


def format_processes(manifest: dict, samples: list[Sample]) -> str:
    """Where the wall time of each process went, thread by thread: threads of one kind are taken together."""
    lines = []
    for process in manifest["processes"]:
        by_name: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            if sample.pid == process["pid"]:
                by_name[_row_of(sample)].append(sample)
        lines.append(f"{process['name']} (pid {process['pid']})")
        lines.append(f"  {'thread':18}{'count':>6}{'on CPU':>9}{'GIL':>9}{'off CPU':>9}  most time in")
        for name, own in sorted(by_name.items(), key=lambda item: -_busy_us(item[1])):
            total_us = sum(sample.weight_us for sample in own)
            states = [sum(s.weight_us for s in own if s.state == state) for state in ("on-cpu", "gil-wait", "off-cpu")]
            if total_us:
                shares = "".join(f"{value / total_us:>9.1%}" for value in states)
                lines.append(f"  {name:18}{len({s.tid for s in own}):>6}{shares}  {_top_frame(own)}")
    return "\n".join(lines)


def _row_of(sample: Sample) -> str:
    if sample.tid == sample.pid:
        return "main"
    if sample.thread in IDLE_HELPERS:
        return "(helpers)"
    return re.sub(r"-\d+$", "-*", sample.thread)


def _busy_us(samples: list[Sample]) -> int:
    return sum(sample.weight_us for sample in samples if sample.state != "off-cpu")


def _top_frame(samples: list[Sample]) -> str:
    """The innermost frame that is code and has a source line, or else the innermost, by weight."""
    weights: dict[str, int] = defaultdict(int)
    for sample in samples:
        code = [frame for frame in sample.frames if state_of(frame) is None]
        own = [frame for frame in code if re.search(r"\.(py|cc|h):\d+\)$", frame)]
        weights[(own or code or ["?"])[-1]] += sample.weight_us
    return max(weights, key=weights.get)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m ps_demo check", description=__doc__.splitlines()[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--folded", type=Path, required=True)
    args = parser.parse_args(arguments)
    try:
        manifest = json.loads(args.manifest.read_text())
        samples = read_folded(args.folded)
        print(format_processes(manifest, samples))
        if not manifest["findings"]:
            return 0
        verdicts = judge_all(manifest, samples)
    except (OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"\n{format_verdicts(verdicts)}")
    return 0 if all(verdict.within_bounds and verdict.agrees for _, verdict in verdicts) else 1
