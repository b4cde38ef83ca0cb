"""Builds the C++ parts if needed, and says what this machine lacks."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .process import DemoError, Skip, guarded

ROOT = Path(__file__).resolve().parent.parent
# Debian's torch is for Debian's Python only.
TRAINER_PYTHON = "/usr/bin/python3"

APT = {
    "grpc": "apt install g++ cmake ninja-build libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc",
    "torch": "apt install python3-torch python3-numpy libtorch-dev libopenblas0-pthread",
    "ofi": "apt install libfabric-dev",
    "memcached": "apt install memcached",
    "rocksdb": "apt install librocksdb-dev",
}


@dataclass(frozen=True)
class Build:
    directory: Path

    @property
    def server(self) -> Path:
        return self.directory / "ps_server"

    @property
    def benchmark(self) -> Path:
        return self.directory / "ps_transport_benchmark"

    @property
    def op_library(self) -> Path:
        return self.directory / "libpsdemo_op.so"

    def has(self, tier: str) -> bool:
        if tier == "grpc":
            return self.server.exists()
        if tier == "torch":
            return self.op_library.exists() and _has_torch()
        if tier == "memcached":
            return shutil.which("memcached") is not None
        wanted = f"PSDEMO_HAVE_{tier.upper()}:INTERNAL=ON"
        return wanted in (self.directory / "CMakeCache.txt").read_text()

    def require(self, *tiers: str) -> None:
        for tier in tiers:
            if not self.has(tier):
                raise Skip(f"the tier '{tier}' is missing: {APT[tier]}")


def _has_torch() -> bool:
    check = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return Path(TRAINER_PYTHON).exists() and subprocess.run([TRAINER_PYTHON, "-c", check]).returncode == 0


def ensure_built(quiet: bool = True) -> Build:
    """Configures and builds into build/ (or $PSDEMO_BUILD_DIR). Raises Skip without the packages of the first tier."""
    for program in ("cmake", "ninja", "c++", "protoc", "grpc_cpp_plugin"):
        if shutil.which(program) is None:
            raise Skip(f"{program} is missing: {APT['grpc']}")
    directory = Path(os.environ.get("PSDEMO_BUILD_DIR", ROOT / "build"))
    if not (directory / "build.ninja").exists():
        _run(["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(directory)], quiet)
    jobs = os.environ.get("PSDEMO_JOBS")
    _run(["ninja", "-C", str(directory), *(["-j", jobs] if jobs else [])], quiet)
    return Build(directory)


def _run(argv: list[str], quiet: bool) -> None:
    done = subprocess.run(argv, capture_output=quiet, text=True)
    if done.returncode != 0:
        raise DemoError(f"{' '.join(argv)} failed\n{(done.stdout or '') + (done.stderr or '')}")


def main() -> int:
    """Builds, and prints where to and what is missing."""

    def build() -> int:
        built = ensure_built(quiet=False)
        print(f"built: {built.directory}")
        for tier in APT:
            print(f"{tier}: {'yes' if built.has(tier) else f'no ({APT[tier]})'}")
        return 0

    return guarded(build)
