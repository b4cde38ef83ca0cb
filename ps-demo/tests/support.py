"""What the tests share: the build, skips per tier, one-server fixtures."""

import functools
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ps_demo.build import TRAINER_PYTHON, Build, ensure_built  # noqa: E402
from ps_demo.memcached import Memcached  # noqa: E402
from ps_demo.process import Skip  # noqa: E402
from ps_demo.servers import ServerGroup, ServerOptions  # noqa: E402

RUN_TIMEOUT = 120


@functools.cache
def build() -> Build:
    return ensure_built()


def require(*tiers: str) -> Build:
    """The build; skips the test, with the line that installs what is missing."""
    try:
        built = build()
        built.require(*tiers)
    except Skip as skip:
        raise unittest.SkipTest(str(skip)) from None
    return built


class TierTest(unittest.TestCase):
    """A test case of some tiers, with a run directory of its own."""

    TIERS: tuple[str, ...] = ("grpc",)

    @classmethod
    def setUpClass(cls) -> None:
        cls.build = require(*cls.TIERS)

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="psdemo-test-", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.run_dir = Path(directory.name)

    def servers(self, memcached: Memcached | None = None, extra_options: dict | None = None) -> ServerGroup:
        options = ServerOptions(perf_interval_ms=60000, startup_timeout=30, **(extra_options or {}))
        group = ServerGroup(options, self.build, self.run_dir, memcached)
        group.start(lambda name: self.run_dir / f"{name}.perf")
        self.addCleanup(group.stop)
        return group

    def benchmark(self, *flags: str) -> subprocess.CompletedProcess:
        return run([str(self.build.benchmark), *flags])

    def command(self, address: str, *words: str) -> subprocess.CompletedProcess:
        return run([str(self.build.directory / "ps_command"), address, *words])

    def stats(self, address: str) -> dict[str, int]:
        """The server's counters."""
        text = self.command(address, "stats").stdout
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", text)}


def run(argv: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(argv, capture_output=True, text=True, timeout=RUN_TIMEOUT, **options)


def run_demo(*arguments: str) -> subprocess.CompletedProcess:
    return run([TRAINER_PYTHON, "-m", "ps_demo", *arguments], cwd=ROOT)
