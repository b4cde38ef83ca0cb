"""The manifest of a run: which process is what, which faults are on, and what a right profile shows."""

import json
import os
from pathlib import Path


def thread_names(pid: int) -> list[str]:
    names = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda path: int(path.name)):
        try:
            names.append((task / "comm").read_text().strip())
        except FileNotFoundError:  # the thread has just ended
            continue
    return names


def describe(cluster) -> dict:
    processes = []
    for role, rank, child in cluster.processes():
        processes.append(
            {
                "name": child.name,
                "pid": child.pid,
                "role": role,
                "rank": rank,
                "argv": child.argv,
                "address": cluster.servers.addresses[rank] if role == "ps" else None,
                "threads": thread_names(child.pid),
                "report": str(cluster.report_path(child.name)),
                "log": str(child.log),
            }
        )
    return {
        "version": 1,
        "run_dir": str(cluster.run_dir),
        "transport": cluster.args.transport,
        "perf_interval_ms": cluster.args.perf_interval_ms,
        "processes": processes,
        "faults": [fault.text for fault in cluster.args.faults],
        "findings": [finding for fault in cluster.args.faults for finding in fault.findings()],
        "exec": None,  # or when --exec ran: start_unix and end_unix
    }


def write(path: Path, manifest: dict) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(manifest, indent=2) + "\n")
    os.replace(temporary, path)
