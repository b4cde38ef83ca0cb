"""What a profiler does to the program it profiles; run by scripts/bench.sh.

One measurement: start the workload, let it warm up, attach the profiler (or none), and compare two truths that the
workload prints `seconds` apart (tests/targets/README.md). All variants of a round run one after the other, and rounds
are repeated, so that a machine that slows down over the minutes slows all variants alike. Reported are medians over
the rounds, each round's loss taken against the same round's run without a profiler. Each round ends with a second
run without one: its "loss" is the noise of this machine.
"""
import argparse
import functools
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# Workload: its busy and its idle C++ threads beside the Python main thread.
WORKLOADS = {"mixed": (1, 8), "sleepers": (0, 160)}
WARM_UP_S = 1.0
# A profiler that cannot finish: how long after SIGINT it is killed. Its run still counts, its files do not matter.
FINISH_S = 60.0


def parse_arguments():
    def comma_list(text):
        return text.split(",")

    def rates(text):
        return [int(rate) for rate in text.split(",")]

    parser = argparse.ArgumentParser(prog="bench.sh", description=__doc__.split("\n")[0])
    for name in ("stackclock", "py-spy", "script", "library", "json"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rates", type=rates, default=[100, 200, 1000])
    parser.add_argument("--workloads", type=comma_list, default=list(WORKLOADS))
    parser.add_argument("--tools", type=comma_list, default=["py-spy", "stackclock"])
    arguments = parser.parse_args()
    for workload in arguments.workloads:
        if workload not in WORKLOADS:
            parser.error(f"no workload {workload!r}: {', '.join(WORKLOADS)}")
    for tool in arguments.tools:
        if tool not in COMMANDS:
            parser.error(f"no tool {tool!r}: {', '.join(COMMANDS)}")
    return arguments


def stackclock(arguments, rate, pid, directory):
    output = os.path.join(directory, "out.speedscope.json")
    return [arguments.stackclock, "record", "-p", pid, "-r", str(rate), "--native", "--idle", "-o", output]


def py_spy(arguments, rate, pid, directory):
    output = os.path.join(directory, "out.speedscope.json")
    return [arguments.py_spy, "record", "-p", pid, "-r", str(rate), "--native", "--idle", "-d", "100000",
            "-f", "speedscope", "-o", output]


COMMANDS = {"py-spy": py_spy, "stackclock": stackclock}


class Workload:
    """A running tests/targets/workload.py, ended on leaving the `with` block."""

    def __init__(self, arguments, name):
        busy, idle = WORKLOADS[name]
        self.child = subprocess.Popen(
            ["/usr/bin/python3", arguments.script, arguments.library, str(busy), str(idle)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        if self.child.stdout.readline() != "ready\n":
            sys.exit("the workload did not start")
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()

    def truth(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())


def cpu_seconds(pid):
    """User and system time of a process and its finished threads so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rates_between(before, after):
    seconds = (after["wall_ns"] - before["wall_ns"]) / 1e9
    return {key: (after[key] - before[key]) / seconds for key in ("steps", "lookups", "cpu_s")}


def measure(arguments, workload_name, command):
    """Throughput of the workload, and CPU of the profiler that `command(pid, directory)` starts (None: none)."""
    with Workload(arguments, workload_name) as workload, tempfile.TemporaryDirectory() as directory:
        profiler = None
        if command:
            with open(os.path.join(directory, "log"), "w") as log:
                profiler = subprocess.Popen(command(str(workload.child.pid), directory), stdout=log, stderr=log)
        try:
            # The workload's caches, and the profiler's reading of symbols, are not what is measured here.
            time.sleep(WARM_UP_S)
            cpu_before, before = cpu_seconds(profiler.pid) if profiler else 0.0, workload.truth()
            time.sleep(arguments.seconds)
            cpu_after, after = cpu_seconds(profiler.pid) if profiler else 0.0, workload.truth()
            if profiler and profiler.poll() is not None:
                with open(os.path.join(directory, "log")) as log:
                    sys.exit(f"the profiler ended early:\n{log.read()}")
        finally:
            whole_cpu_s = finish(profiler) if profiler else 0.0
    seconds = (after["wall_ns"] - before["wall_ns"]) / 1e9
    return rates_between(before, after) | {
        "profiler_cores": (cpu_after - cpu_before) / seconds,
        # Start, end and the writing of files included.
        "profiler_cpu_s_whole": whole_cpu_s,
    }


def finish(profiler):
    """Ends a profiler as Ctrl-C does and returns the CPU time that it used in all."""
    profiler.send_signal(signal.SIGINT)
    deadline = time.monotonic() + FINISH_S
    while True:
        pid, status, usage = os.wait4(profiler.pid, os.WNOHANG)
        if pid:
            profiler.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() > deadline:
            profiler.kill()
        time.sleep(0.01)


def lost(with_profiler, without):
    """The share of throughput lost: the mean over Python and C++, where the workload has both."""
    return statistics.mean(1 - with_profiler[key] / without[key] for key in ("steps", "lookups") if without[key] > 0)


def run_round(arguments, workload):
    """All variants of one workload once: yields (workload, rate, tool) and the measurement."""
    without = measure(arguments, workload, None)

    def compare(command):
        result = measure(arguments, workload, command)
        return result | {"lost": lost(result, without), "without": without}

    for rate in arguments.rates:
        for tool in arguments.tools:
            yield (workload, rate, tool), compare(functools.partial(COMMANDS[tool], arguments, rate))
    yield (workload, None, "none"), compare(None)


def summarise(results):
    for (workload, rate, tool), runs in results.items():
        yield {
            "workload": workload, "rate_hz": rate, "tool": tool,
            "lost_median": statistics.median(run["lost"] for run in runs),
            "lost_min": min(run["lost"] for run in runs),
            "lost_max": max(run["lost"] for run in runs),
            "profiler_cores_median": statistics.median(run["profiler_cores"] for run in runs),
            "runs": runs,
        }


def print_table(rows):
    """Markdown, for BENCHMARKS.md, aligned for the terminal."""
    header = ["workload", "rate", "profiler", "target lost", "min .. max", "profiler used"]
    cells = [header] + [[
        row["workload"],
        f"{row['rate_hz']} Hz" if row["rate_hz"] else "",
        row["tool"],
        f"{row['lost_median']:.1%}",
        f"{row['lost_min']:.1%} .. {row['lost_max']:.1%}",
        f"{row['profiler_cores_median']:.1%} of a core",
    ] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * width for width in widths])
    for line in cells:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")


def version(command):
    return subprocess.run([command, "--version"], capture_output=True, text=True).stdout.strip()


def main():
    arguments = parse_arguments()
    results = {}
    for round_number in range(arguments.runs):
        for workload in arguments.workloads:
            for key, result in run_round(arguments, workload):
                results.setdefault(key, []).append(result)
                print(f"round {round_number + 1}/{arguments.runs} {key}: lost {result['lost']:.1%}, "
                      f"profiler {result['profiler_cores']:.1%} of a core", file=sys.stderr, flush=True)
    rows = list(summarise(results))
    print_table(rows)
    about = {
        "kernel": platform.release(), "cpus": os.cpu_count(), "seconds": arguments.seconds,
        "stackclock": version(arguments.stackclock), "py-spy": version(arguments.py_spy),
    }
    with open(arguments.json, "w") as file:
        json.dump({"about": about, "results": rows}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
