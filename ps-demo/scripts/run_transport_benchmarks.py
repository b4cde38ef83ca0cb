#!/usr/bin/python3
"""Runs ps_transport_benchmark over each transport that is built, one after the other, and prints one table.

Each run has a server of its own. On a machine with few cores the RMA transport competes with itself, since server and
client poll: with two busy cores a write over shm was seen to go from 4 us to 1.6 ms. Compare on an idle machine."""

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ps_demo.build import Build, ensure_built
from ps_demo.cluster import new_run_directory
from ps_demo.memcached import Memcached, run_namespace
from ps_demo.process import DemoError, Skip, StartupFailure, guarded, status
from ps_demo.servers import ServerGroup, ServerOptions

CONFIG = Path(__file__).resolve().parent / "ps_config.json"
COLUMNS = ("mean_us", "p50_us", "p95_us", "p99_us", "ops/s", "key_ops/s")


@dataclass(frozen=True)
class Case:
    transport: str
    provider: str = ""
    put: str = ""

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.transport, self.provider, self.put)))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--servers", type=int, help="default: from the config")
    parser.add_argument("--ofi-only", action="store_true")
    parser.add_argument("--ofi-providers", default="shm,tcp;ofi_rxm")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--warmup-rounds", type=int, default=2)
    parser.add_argument("--batch-keys", type=int, default=500)
    parser.add_argument("--report-mode", choices=["summary", "per_round", "both"], default="both")
    parser.add_argument("--use-local-memcached", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--memcached-port", type=int, help="default: from the config")
    parser.add_argument("--startup-timeout", type=float, default=30, help="seconds")
    parser.add_argument("--benchmark-timeout", type=float, default=300, help="seconds for each transport")
    parser.add_argument("--rpc-report-dir", type=Path, help="keep an Average/Max/Min report of each run here")
    parser.add_argument(
        "--show-runner-logs", action="store_true", help="show what the servers printed, also on success"
    )
    parser.add_argument(
        "--compare", nargs=2, metavar=("BEFORE", "AFTER"), help="compare two such reports; runs nothing"
    )
    args = parser.parse_args()
    for name in ("startup_timeout", "benchmark_timeout"):
        if getattr(args, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be over 0")
    try:
        args.config = json.loads(args.config.read_text())
    except (OSError, ValueError) as error:
        parser.error(f"--config: {error}")
    return args


def cases(args: argparse.Namespace) -> list[Case]:
    ofi = [Case("ofi", provider, put) for provider in args.ofi_providers.split(",") for put in ("read", "push")]
    return ofi if args.ofi_only else [*ofi, Case("grpc")]


def run_case(case: Case, args: argparse.Namespace, build: Build, run_dir: Path) -> str:
    """The benchmark's output. Raises Skip when this machine lacks something, DemoError when it fails."""
    if case.transport != "grpc":
        build.require(case.transport)
    run_dir.mkdir(parents=True, exist_ok=True)
    memcached = None
    if case.transport == "ofi":
        memcached = Memcached.obtain(
            args.use_local_memcached,
            args.memcached_port or args.config["memcached_port"],
            run_namespace(),
            run_dir / "memcached.log",
            args.startup_timeout,
        )
    options = ServerOptions(
        servers=args.servers or args.config["servers"],
        workers=args.config["workers"],
        tables=args.config["tables"],
        dim=args.config["dim"],
        ofi_provider=case.provider,
        startup_timeout=args.startup_timeout,
    )
    group = ServerGroup(options, build, run_dir, memcached)
    try:
        group.start(lambda name: run_dir / f"{name}.perf")
        return run_benchmark(case, args, build, group, run_dir)
    except StartupFailure as failure:
        if failure.child.find("-FI_ENODATA"):
            raise Skip(f"libfabric has no provider '{case.provider}' here") from None
        raise
    finally:
        group.stop()
        if memcached is not None:
            memcached.release()
        if args.show_runner_logs:
            for server in group.children:
                print(f"{server.name}:\n{server.tail()}", file=sys.stderr)


def run_benchmark(case: Case, args: argparse.Namespace, build: Build, group: ServerGroup, run_dir: Path) -> str:
    report_dir = args.rpc_report_dir or run_dir
    report_dir.mkdir(parents=True, exist_ok=True)
    rpc_report = report_dir / f"{re.sub('[^a-z]+', '-', case.name)}.rpc"
    argv = [
        str(build.benchmark),
        f"--transport={case.transport}",
        f"--servers={','.join(group.addresses)}",
        f"--dim={group.options.dim}",
        f"--iterations={args.iterations}",
        f"--rounds={args.rounds}",
        f"--warmup_rounds={args.warmup_rounds}",
        f"--batch_keys={args.batch_keys}",
        "--report_mode=both",
        f"--rpc_report={rpc_report}",
    ]
    if group.memcached is not None:
        argv += [
            f"--ofi_rendezvous={group.memcached.address}",
            f"--ofi_namespace={group.memcached.namespace}",
            f"--ofi_provider={case.provider}",
            f"--ofi_put={case.put}",
        ]
    status("benchmark", case.name)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=args.benchmark_timeout)
    except subprocess.TimeoutExpired:
        raise DemoError(troubleshooting(case, group, f"did not end within {args.benchmark_timeout:g} s")) from None
    if done.returncode != 0:
        raise DemoError(troubleshooting(case, group, done.stderr.strip()))
    return done.stdout


def troubleshooting(case: Case, group: ServerGroup, what: str) -> str:
    logs = "\n".join(f"last lines of {server.name} ({server.log}):\n{server.tail()}" for server in group.children)
    return f"{case.name}: {what}\n{logs}"


def summary_fields(output: str) -> dict[str, str]:
    line = next(line for line in output.splitlines() if " summary " in line)
    return dict(re.findall(r"(\S+)=(\S+)", line))


def print_table(results: dict[str, dict[str, str]], skipped: dict[str, str]) -> None:
    print(f"{'phase=measure':24}" + "".join(f"{column:>14}" for column in COLUMNS))
    for name, fields in results.items():
        print(f"{name:24}" + "".join(f"{fields[column]:>14}" for column in COLUMNS))
    for name, reason in skipped.items():
        print(f"{name:24}  skipped: {reason}")


def run(args: argparse.Namespace) -> int:
    build = ensure_built()
    if args.compare:
        return subprocess.run([str(build.benchmark), "--compare", *args.compare]).returncode
    results: dict[str, dict[str, str]] = {}
    skipped: dict[str, str] = {}
    run_dir = new_run_directory()
    for case in cases(args):
        try:
            output = run_case(case, args, build, run_dir / re.sub("[^a-z]+", "-", case.name))
        except Skip as skip:
            skipped[case.name] = str(skip)
            continue
        results[case.name] = summary_fields(output)
        if args.report_mode != "summary":
            print("\n".join(line for line in output.splitlines() if " round=" in line))
    if args.report_mode != "per_round":
        print_table(results, skipped)
        if args.rounds < 20:
            print("note: percentiles are nearest-rank over the rounds, so p95 and p99 are the slowest round")
    if not results:
        raise Skip("no transport could run")
    return 0


if __name__ == "__main__":
    arguments = parse_arguments()
    sys.exit(guarded(lambda: run(arguments)))
