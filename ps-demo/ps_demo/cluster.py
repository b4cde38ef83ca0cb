"""`python3 -m ps_demo run`: starts servers and trainers, plants faults, writes the manifest, runs a command beside."""

import argparse
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

from . import manifest as manifests
from .build import ROOT, TRAINER_PYTHON, Build, ensure_built
from .faults import Fault, parse_fault
from .memcached import Memcached, run_namespace
from .process import Child, DemoError, guarded, status, stop_all
from .servers import ServerGroup, ServerOptions


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m ps_demo run", description=__doc__)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--trainers", type=int, default=1)
    parser.add_argument("--transport", default="grpc", choices=["grpc", "ofi"])
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--steps", type=int, default=0)
    limit.add_argument("--duration", type=float, default=0, help="seconds")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME[:k=v,...]")
    parser.add_argument("--perf-report-path", help="one report for all; default: one each in the run directory")
    parser.add_argument("--perf-interval-ms", type=int, default=5000)
    parser.add_argument("--perf-format", choices=["text", "jsonl"], default="text")
    parser.add_argument("--manifest", help="default: manifest.json in the run directory")
    parser.add_argument(
        "--exec",
        dest="command",
        metavar="COMMAND",
        help="run this when all are training, then stop; {manifest}, {pids} (-p PID each) and {run_dir} are filled in",
    )
    parser.add_argument("--run-dir", help="logs and reports; default: a new one under out/")
    parser.add_argument("--workers", type=int, default=4, help="threads of each server")
    parser.add_argument("--kv", default="memory", choices=["memory", "rocksdb"])
    parser.add_argument("--kv-sync", action="store_true")
    parser.add_argument("--prefetch", action="store_true")
    parser.add_argument("--startup-timeout", type=float, default=60, help="seconds for each process")
    parser.add_argument("--rpc-timeout-ms", type=int, default=60000)
    parser.add_argument("--tables", type=int, default=26)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--ofi-provider", default="shm")
    parser.add_argument("--ofi-put", default="read", choices=["read", "push"])
    parser.add_argument("--use-local-memcached", default="auto", choices=["auto", "always", "never"])
    parser.add_argument("--memcached-port", type=int, default=21211)
    parser.add_argument("trainer_arguments", nargs="*", metavar="-- TRAINER_ARGUMENT", help="passed on to each trainer")
    args = parser.parse_args(arguments)
    if args.servers < 1 or args.trainers < 1:
        parser.error("--servers and --trainers must be at least 1")
    if args.startup_timeout <= 0 or args.rpc_timeout_ms <= 0:
        parser.error("timeouts must be over 0")
    try:
        args.faults = [parse_fault(text) for text in args.fault]
    except ValueError as error:
        parser.error(str(error))
    for fault in args.faults:
        apply_needs(args, fault)
    return args


def apply_needs(args: argparse.Namespace, fault: Fault) -> None:
    """A fault that needs two ranks, or prefetching, gets them; the manifest tells."""
    args.trainers = max(args.trainers, fault.trainers)
    args.servers = max(args.servers, fault.kind.needs_servers)
    args.prefetch = args.prefetch or fault.kind.needs_prefetch
    if fault.kind.needs_rocksdb:
        args.kv = "rocksdb"


class Cluster:
    """All processes of one run."""

    def __init__(self, args: argparse.Namespace, build: Build):
        self.args = args
        self.build = build
        self.run_dir = Path(args.run_dir).resolve() if args.run_dir else new_run_directory()
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self.memcached: Memcached | None = None
        self.servers: ServerGroup | None = None
        self.trainers: list[Child] = []

    def start(self) -> None:
        args = self.args
        if args.transport == "ofi":
            self.memcached = Memcached.obtain(
                args.use_local_memcached,
                args.memcached_port,
                run_namespace(),
                self.run_dir / "memcached.log",
                args.startup_timeout,
            )
        options = ServerOptions(
            servers=args.servers,
            workers=args.workers,
            tables=args.tables,
            dim=args.dim,
            kv=args.kv,
            kv_sync=args.kv_sync,
            perf_interval_ms=args.perf_interval_ms,
            perf_format=args.perf_format,
            faults=[fault.text for fault in args.faults if fault.kind.side == "server"],
            ofi_provider=args.ofi_provider,
            startup_timeout=args.startup_timeout,
        )
        self.servers = ServerGroup(options, self.build, self.run_dir, self.memcached)
        self.servers.start(self.report_path)
        for rank in range(args.trainers):
            name = f"trainer-{rank}"
            log = self.run_dir / f"{name}.log"
            self.trainers.append(Child(name, self._trainer_argv(rank), log, self._trainer_environment(rank)))
        for trainer in self.trainers:
            status("startup-wait", f"{trainer.name} pid={trainer.pid}")
            trainer.wait_for_line(r"TRAINER ready", args.startup_timeout)
        for fault in args.faults:
            self._wait_for_fault(fault)

    def _wait_for_fault(self, fault: Fault) -> None:
        """A hang must have happened before anybody looks at it."""
        pattern = fault.kind.begins_with
        if not pattern:
            return
        status("fault-wait", fault.text)
        if fault.kind.side == "server":
            # One worker of the first server hangs for each client.
            self.servers.children[0].wait_for_line(pattern, self.args.startup_timeout, times=self.args.trainers)
        else:
            self.trainers[fault.parameters["rank"]].wait_for_line(pattern, self.args.startup_timeout)

    def processes(self) -> list[tuple[str, int, Child]]:
        return [("ps", i, child) for i, child in enumerate(self.servers.children)] + [
            ("trainer", i, child) for i, child in enumerate(self.trainers)
        ]

    def report_path(self, name: str) -> Path:
        return Path(self.args.perf_report_path) if self.args.perf_report_path else self.run_dir / f"{name}.perf"

    def check_alive(self) -> None:
        """Raises DemoError if a process has ended before it was told to."""
        for _, _, child in self.processes():
            code = child.wait(0)
            if code is not None:
                raise DemoError(f"{child.name} ended with code {code} before the end of the run\n{child.tail()}")

    def stop(self) -> dict[str, int]:
        codes = stop_all(self.trainers)  # first, while their servers still answer
        if self.servers is not None:
            codes.update(self.servers.stop())
        if self.memcached is not None:
            self.memcached.release()
        return codes

    def _trainer_argv(self, rank: int) -> list[str]:
        args = self.args
        argv = [
            TRAINER_PYTHON,
            "-m",
            "ps_demo",
            "trainer",
            f"--op-library={self.build.op_library}",
            f"--servers={','.join(self.servers.addresses)}",
            f"--transport={args.transport}",
            f"--rank={rank}",
            f"--world-size={args.trainers}",
            f"--group-file={self.run_dir / 'group'}",
            f"--steps={args.steps}",
            f"--duration={args.duration}",
            f"--tables={args.tables}",
            f"--dim={args.dim}",
            f"--rpc-timeout-ms={args.rpc_timeout_ms}",
        ]
        if args.prefetch:
            argv.append("--prefetch")
        if self.memcached is not None:
            argv += [
                f"--ofi-rendezvous={self.memcached.address}",
                f"--ofi-namespace={self.memcached.namespace}",
                f"--ofi-provider={args.ofi_provider}",
                f"--ofi-put={args.ofi_put}",
            ]
        for fault in args.faults:
            if fault.kind.side == "trainer":
                argv.append(f"--fault={fault.text}")
            elif fault.kind.side == "client":
                argv.append(f"--op-fault={fault.text}")
                if fault.kind.name == "device-query":
                    # The device must be a file on a real filesystem, the same for all processes.
                    argv[-1] += f",file={self.build.directory / 'device-query.bin'}"
        return argv + args.trainer_arguments

    def _trainer_environment(self, rank: int) -> dict[str, str]:
        threads = next((f.parameters["threads"] for f in self.args.faults if f.kind.name == "blas-spin"), 1)
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": "1",
            "RECSTORE_PERF_REPORT_PATH": str(self.report_path(f"trainer-{rank}")),
            "RECSTORE_PERF_INTERVAL_MS": str(self.args.perf_interval_ms),
            "RECSTORE_PERF_FORMAT": self.args.perf_format,
        }


def new_run_directory() -> Path:
    parent = ROOT / "out"
    parent.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=time.strftime("run-%Y%m%dT%H%M%S-"), dir=parent))


def run_command(command: str, cluster: Cluster, manifest: Path) -> int:
    pids = " ".join(f"-p {child.pid}" for _, _, child in cluster.processes())
    argv = shlex.split(command.format(manifest=manifest, pids=pids, run_dir=cluster.run_dir))
    status("exec", shlex.join(argv))
    try:
        return subprocess.run(argv).returncode
    except FileNotFoundError:
        raise DemoError(f"--exec: there is no program '{argv[0]}'") from None


def wait_for_trainers(cluster: Cluster) -> None:
    """Until the last trainer has ended by itself. Raises DemoError when one fails."""
    for trainer in cluster.trainers:
        code = trainer.wait(None)
        if code != 0:
            raise DemoError(f"{trainer.name} ended with code {code}\n{trainer.tail()}")


def print_results(cluster: Cluster, codes: dict[str, int]) -> None:
    for trainer in cluster.trainers:
        done = trainer.find(r"TRAINER done (.*)")
        print(f"{trainer.name}: {done.group(1) if done else f'no result, exit code {codes[trainer.name]}'}")


def run(args: argparse.Namespace) -> int:
    build = ensure_built()
    build.require("grpc", "torch")
    if args.kv == "rocksdb":
        build.require("rocksdb")
    if args.transport != "grpc":
        build.require(args.transport)
    cluster = Cluster(args, build)
    code = 0
    try:
        cluster.start()
        path = Path(args.manifest) if args.manifest else cluster.run_dir / "manifest.json"
        manifest = manifests.describe(cluster)
        manifests.write(path, manifest)
        print(f"manifest: {path}", flush=True)
        if args.command:
            start_unix = time.time()
            code = run_command(args.command, cluster, path)
            manifest["exec"] = {"start_unix": start_unix, "end_unix": time.time()}
            manifests.write(path, manifest)
            cluster.check_alive()
        else:
            wait_for_trainers(cluster)
    finally:
        codes = cluster.stop()
    print_results(cluster, codes)
    return code


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return guarded(lambda: run(args))
