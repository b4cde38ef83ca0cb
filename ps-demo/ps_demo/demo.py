"""`python3 -m ps_demo demo`: records all processes at once with stackclock, and says where their wall time went."""

import argparse
import shutil
from pathlib import Path

from . import cluster, findings
from .build import ROOT
from .process import guarded


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m ps_demo demo", description=__doc__)
    parser.add_argument("--stackclock", type=Path, default=ROOT.parent / "target" / "release" / "stackclock")
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="where the pictures go")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--trainers", type=int, default=2)
    parser.add_argument("--fault", action="append", default=[], metavar="NAME[:k=v,...]")
    args = parser.parse_args(arguments)
    if shutil.which(args.stackclock) is None:
        parser.error(f"--stackclock: there is no program {args.stackclock} (cargo build --release)")
    return args


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    name = "-".join(["ps-demo", *(fault.partition(":")[0] for fault in args.fault)])
    outputs = [out / f"{name}.{ending}" for ending in ("svg", "speedscope.json", "folded")]
    manifest = out / f"{name}.manifest.json"
    record = f"{args.stackclock.resolve()} record {{pids}} --idle -t -d {args.seconds:g}"
    run_arguments = cluster.parse_arguments(
        [
            f"--servers={args.servers}",
            f"--trainers={args.trainers}",
            "--perf-interval-ms=500",
            f"--manifest={manifest}",
            *(f"--fault={fault}" for fault in args.fault),
            "--exec",
            record + "".join(f" -o {output}" for output in outputs),
        ]
    )
    code = guarded(lambda: cluster.run(run_arguments))
    if code != 0:
        return code
    print("\n".join(f"wrote {output}" for output in outputs) + "\n")
    return findings.main([f"--manifest={manifest}", f"--folded={outputs[-1]}"])
