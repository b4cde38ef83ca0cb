"""The memcached that carries the rendezvous of the RMA transport: the one that runs already, or one of our own."""

import os
import shutil
import socket
from pathlib import Path

from .build import APT
from .process import Child, DemoError, Skip, status, stop_all

PROBE_TIMEOUT_SECONDS = 1.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_namespace() -> str:
    """A prefix for rendezvous keys that no other run uses at the same time."""
    return f"psdemo-{os.getpid()}"


def request(port: int, text: str) -> str:
    """One command and its first reply. Raises OSError if nothing answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=PROBE_TIMEOUT_SECONDS) as connection:
        connection.sendall(text.encode() + b"\r\n")
        reply = b""
        while not reply.endswith(b"\r\n"):
            part = connection.recv(4096)
            if not part:
                raise ConnectionError("closed by the peer")
            reply += part
        return reply.decode(errors="replace")


def answers(port: int) -> bool:
    """Whether a memcached answers a `get` there; anything else that listens does not count."""
    try:
        reply = request(port, "get psdemo-probe")
    except OSError:
        return False
    return reply.startswith(("END", "VALUE"))


class Memcached:
    def __init__(self, port: int, namespace: str, child: Child | None):
        self.port = port
        self.namespace = namespace
        self._child = child  # None: somebody else's

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @classmethod
    def obtain(cls, mode: str, port: int, namespace: str, log: Path, timeout: float) -> "Memcached":
        """`mode` is auto (use the one on `port`, else start one), always (start one) or never (only use)."""
        status("memcached-wait", f"mode={mode} port={port}")
        if mode != "always" and answers(port):
            memcached = cls(port, namespace, None)
            memcached.reset_namespace()
            status("memcached-ready", f"{memcached.address} (running already)")
            return memcached
        if mode == "never":
            raise DemoError(
                f"no memcached answers on 127.0.0.1:{port}",
                f"start one (memcached -l 127.0.0.1 -p {port}), or give --use-local-memcached=auto",
            )
        return cls._start(port, namespace, log, timeout)

    @classmethod
    def _start(cls, port: int, namespace: str, log: Path, timeout: float) -> "Memcached":
        program = shutil.which("memcached")
        if program is None:
            raise Skip(f"the tier 'memcached' is missing: {APT['memcached']}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                port = free_port()
        # -vv prints a line once the port is open; -u matters only for root.
        child = Child("memcached", [program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody", "-vv"], log)
        try:
            child.wait_for_line(r"server listening", timeout)
            if not answers(port):
                raise DemoError(f"memcached on 127.0.0.1:{port} does not answer")
        except BaseException:
            stop_all([child])
            raise
        status("memcached-ready", f"127.0.0.1:{port} pid={child.pid} (ours)")
        return cls(port, namespace, child)

    def reset_namespace(self) -> None:
        """Forgets what an earlier run of the same name left behind."""
        request(self.port, f"delete {self.namespace}:servers")

    def server_flags(self, index: int, servers: int, provider: str) -> list[str]:
        return [
            f"--ofi_rendezvous={self.address}",
            f"--ofi_namespace={self.namespace}",
            f"--ofi_provider={provider}",
            f"--ofi_index={index}",
            f"--ofi_servers={servers}",
        ]

    def release(self) -> None:
        if self._child is not None:
            stop_all([self._child])
