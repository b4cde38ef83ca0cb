"""A group of parameter servers: started together, ready together, stopped together."""

from dataclasses import dataclass, field
from pathlib import Path

from .build import Build
from .memcached import Memcached
from .process import Child, status, stop_all


@dataclass
class ServerOptions:
    servers: int = 1
    workers: int = 4
    tables: int = 26
    dim: int = 16
    kv: str = "memory"
    kv_sync: bool = False
    address: str = "127.0.0.1:0"  # port 0: each server picks a free one
    perf_interval_ms: int = 5000
    perf_format: str = "text"
    faults: list[str] = field(default_factory=list)
    ofi_provider: str = "shm"
    startup_timeout: float = 60


class ServerGroup:
    def __init__(self, options: ServerOptions, build: Build, run_dir: Path, memcached: Memcached | None = None):
        self.options = options
        self.build = build
        self.run_dir = run_dir
        self.memcached = memcached  # with it, the servers have an RMA front too
        self.children: list[Child] = []
        self.addresses: list[str] = []

    def start(self, report_path) -> None:
        """`report_path(name)` is where that server appends its timers. Raises StartupFailure, with all stopped."""
        try:
            for index in range(self.options.servers):
                name = f"ps-{index}"
                argv = self._argv(index, report_path(name))
                self.children.append(Child(name, argv, self.run_dir / f"{name}.log"))
            for server in self.children:
                status("startup-wait", f"{server.name} pid={server.pid}")
                ready = server.wait_for_line(r"PS ready address=(\S+)", self.options.startup_timeout)
                self.addresses.append(ready.group(1))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> dict[str, int]:
        codes = stop_all(self.children)
        if self.memcached is not None:
            self._remove_shared_memory()
        return codes

    def _argv(self, index: int, report: Path) -> list[str]:
        options = self.options
        argv = [
            str(self.build.server),
            f"--address={options.address}",
            f"--workers={options.workers}",
            f"--tables={options.tables}",
            f"--dim={options.dim}",
            f"--kv={options.kv}",
            f"--perf_report_path={report}",
            f"--perf_interval_ms={options.perf_interval_ms}",
            f"--perf_format={options.perf_format}",
            f"--checkpoint_dir={self.run_dir}",
        ]
        if options.kv == "rocksdb":
            argv.append(f"--kv_path={self.run_dir / f'rocksdb-{index}'}")
        if options.kv_sync:
            argv.append("--kv_sync")
        if self.memcached is not None:
            argv += self.memcached.server_flags(index, options.servers, options.ofi_provider)
        return argv + [f"--fault={fault}" for fault in options.faults]

    def _remove_shared_memory(self) -> None:
        """What libfabric's provider shm leaves behind in a process that was killed."""
        for child in self.children:
            for path in Path("/dev/shm").glob(f"{child.pid}:*"):
                path.unlink(missing_ok=True)
