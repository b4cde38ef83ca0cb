#!/usr/bin/python3
"""Starts the parameter servers of a configuration and keeps them until Ctrl-C.

The number of servers and their shape come from --config unless given here."""

import argparse
import json
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ps_demo.build import ensure_built
from ps_demo.cluster import new_run_directory
from ps_demo.memcached import Memcached, run_namespace
from ps_demo.process import guarded
from ps_demo.servers import ServerGroup, ServerOptions

CONFIG = Path(__file__).resolve().parent / "ps_config.json"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--servers", type=int)
    parser.add_argument("--address", default="127.0.0.1:0", help="only for one server; port 0 picks a free one")
    parser.add_argument("--kv", choices=["memory", "rocksdb"], default="memory")
    parser.add_argument("--rma", action="store_true", help="with an RMA front, and memcached for its rendezvous")
    parser.add_argument("--ofi-provider", default="shm")
    parser.add_argument("--use-local-memcached", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--startup-timeout", type=float, default=60)
    args = parser.parse_args()
    if args.startup_timeout <= 0:
        parser.error("--startup-timeout must be over 0")
    try:
        args.config = json.loads(args.config.read_text())
    except (OSError, ValueError) as error:
        parser.error(f"--config: {error}")
    return args


def serve(args: argparse.Namespace) -> int:
    build = ensure_built()
    run_dir = new_run_directory()
    config = args.config
    memcached = None
    if args.rma:
        build.require("ofi")
        memcached = Memcached.obtain(
            args.use_local_memcached,
            config["memcached_port"],
            run_namespace(),
            run_dir / "memcached.log",
            args.startup_timeout,
        )
    options = ServerOptions(
        servers=args.servers or config["servers"],
        workers=config["workers"],
        tables=config["tables"],
        dim=config["dim"],
        kv=args.kv,
        address=args.address,
        ofi_provider=args.ofi_provider,
        startup_timeout=args.startup_timeout,
    )
    group = ServerGroup(options, build, run_dir, memcached)
    try:
        group.start(lambda name: run_dir / f"{name}.perf")
        print(f"servers: {','.join(group.addresses)}", flush=True)
        if memcached is not None:
            print(f"rendezvous: {memcached.address} namespace: {memcached.namespace}", flush=True)
        threading.Event().wait()
    finally:
        group.stop()
        if memcached is not None:
            memcached.release()
    return 0


if __name__ == "__main__":
    arguments = parse_arguments()
    sys.exit(guarded(lambda: serve(arguments)))
