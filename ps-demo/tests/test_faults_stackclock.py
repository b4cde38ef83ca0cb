"""What stackclock makes of each planted fault: 8 s with it, 8 s without.

With the fault every finding of the manifest must be found, within its bounds, and as large as the timers say; without
it at least one must be missing, so that the findings can be told from a healthy run. Runs where stackclock is built:
$STACKCLOCK, or the repository's target directory."""

import json
import os
import unittest
from pathlib import Path

from ps_demo.cluster import parse_arguments
from ps_demo.faults import Finding, parse_fault
from ps_demo.findings import Verdict, format_verdicts, judge, judge_all, read_folded, share_with_root
from tests.support import ROOT, TierTest, run_demo

SECONDS = float(os.environ.get("PSDEMO_PROFILE_SECONDS", "8"))


def stackclock() -> Path:
    candidates = [Path(os.environ["STACKCLOCK"])] if "STACKCLOCK" in os.environ else []
    candidates += [ROOT.parent / "target" / profile / "stackclock" for profile in ("release", "debug")]
    for path in candidates:
        if path.exists():
            return path
    raise unittest.SkipTest("stackclock is not built: cargo build --release")


class FaultTest(TierTest):
    TIERS = ("grpc", "torch")

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.stackclock = stackclock()

    def record(self, name: str, *flags: str) -> tuple[dict, list]:
        """The manifest and the samples of one run."""
        directory = self.run_dir / name
        folded = directory / "out.folded"
        done = run_demo(
            "run",
            f"--run-dir={directory}",
            "--perf-interval-ms=500",
            *flags,
            "--exec",
            f"{self.stackclock} record {{pids}} --idle -t -d {SECONDS} -o {folded}",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((directory / "manifest.json").read_text()), read_folded(folded)

    def check(self, text: str, *flags: str) -> None:
        manifest, samples = self.record("with", f"--fault={text}", *flags)
        verdicts = judge_all(manifest, samples)
        table = format_verdicts(verdicts)
        print(table)
        for _, verdict in verdicts:
            self.assertTrue(verdict.within_bounds, f"out of bounds\n{table}")
            self.assertTrue(verdict.agrees, f"the timers say otherwise\n{table}")
        self.assertFalse(self.is_complete(text, *flags), f"a healthy run shows all of {text} too")

    def is_complete(self, text: str, *flags: str) -> bool:
        """Whether a run of the same shape without the fault shows all of its findings."""
        shape = parse_arguments([f"--fault={text}", *flags])
        prefetch = ["--prefetch"] if shape.prefetch else []
        manifest, samples = self.record(
            "without", f"--servers={shape.servers}", f"--trainers={shape.trainers}", f"--kv={shape.kv}", *prefetch
        )
        findings = [dict(fields) for fields in parse_fault(text).findings()]
        verdicts: list[Verdict] = [
            judge(Finding(**{key: value for key, value in fields.items() if key != "fault"}), manifest, samples)
            for fields in findings
        ]
        return all(verdict.within_bounds for verdict in verdicts)


class Faults(FaultTest):
    def test_shard_lock(self):
        self.check("shard-lock")

    def test_device_query(self):
        self.check("device-query")

    def test_gil_loader(self):
        self.check("gil-loader")

    def test_slow_rank(self):
        self.check("slow-rank")

    def test_hang_rank(self):
        self.check("hang-rank")

    def test_hang_server(self):
        self.check("hang-server")

    def test_blas_spin(self):
        self.check("blas-spin")

    def test_nested_vector(self):
        self.check("nested-vector")

    def test_hot_shard(self):
        self.check("hot-shard", "--trainers=2")


class Hangs(FaultTest):
    """One dump of all processes shows who hangs, and where."""

    def dump(self, fault: str) -> tuple[dict, dict[tuple[str, int], list[dict]]]:
        """The manifest, and the threads of each (role, rank)."""
        path = self.run_dir / "dump.json"
        done = run_demo(
            "run",
            f"--run-dir={self.run_dir}",
            f"--fault={fault}",
            "--exec",
            f"sh -c '{self.stackclock} dump --json {{pids}} > {path}'",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        manifest = json.loads((self.run_dir / "manifest.json").read_text())
        threads = {process["pid"]: process["threads"] for process in json.loads(path.read_text())["processes"]}
        return manifest, {(p["role"], p["rank"]): threads[p["pid"]] for p in manifest["processes"]}

    def functions(self, thread: dict) -> str:
        self.assertEqual(thread["state"], "blocked", thread["name"])
        return " ".join(frame["function"] for frame in thread["frames"])

    def main_of(self, manifest: dict, threads: dict, role: str, rank: int) -> str:
        pid = next(p["pid"] for p in manifest["processes"] if (p["role"], p["rank"]) == (role, rank))
        return self.functions(next(thread for thread in threads[role, rank] if thread["tid"] == pid))

    def test_a_hung_rank(self):
        manifest, threads = self.dump("hang-rank:rank=1")
        self.assertIn("hang_here", self.main_of(manifest, threads, "trainer", 1))
        self.assertIn("all_reduce", self.main_of(manifest, threads, "trainer", 0))

    def test_a_hung_server(self):
        manifest, threads = self.dump("hang-server")
        workers = [thread for thread in threads["ps", 0] if thread["name"].startswith("ps-worker-")]
        stuck = [worker for worker in workers if "Handlers::Common" in self.functions(worker)]
        self.assertEqual((len(workers), len(stuck)), (4, 1))
        self.assertIn("mutex_lock", self.functions(stuck[0]))
        self.assertIn("epoll_wait", self.main_of(manifest, threads, "trainer", 0))


class WalSync(FaultTest):
    TIERS = ("grpc", "torch", "rocksdb")

    def test_wal_sync(self):
        self.check("wal-sync")


class Healthy(FaultTest):
    def test_stacks_reach_their_roots_and_the_timers_agree(self):
        manifest, samples = self.record("healthy", "--trainers=1")
        self.assertGreater(share_with_root(samples), 0.99)
        for role, thread, frames, timers in (
            ("trainer", "main", (r"EmbRead",), ("OP.EmbRead.Total",)),
            ("trainer", "main", (r"EmbUpdate",), ("OP.EmbUpdate.Total",)),
            ("ps", r"ps-worker-\d+", (r"Handlers::Get",), ("PS.GetParameter.Handle",)),
            ("ps", r"ps-worker-\d+", (r"Handlers::Update",), ("PS.UpdateParameter.Handle",)),
        ):
            verdict = judge(Finding(role, thread, frames, "any", 0.0, 1.0, "", timers=timers), manifest, samples)
            self.assertIsNotNone(verdict.timers_share)
            self.assertGreater(verdict.share, 0, frames)
            self.assertTrue(verdict.agrees, f"{frames}: {verdict}")


if __name__ == "__main__":
    unittest.main()
