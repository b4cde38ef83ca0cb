"""The trainer and the runner that starts it."""

import itertools
import json
import os
import re
import signal
import subprocess
import unittest

from ps_demo.process import Child
from ps_demo.report import read_report, share
from tests.support import ROOT, TRAINER_PYTHON, TierTest, run, run_demo


class TrainerTest(TierTest):
    TIERS = ("grpc", "torch")

    def demo(self, *flags: str) -> subprocess.CompletedProcess:
        return run_demo("run", f"--run-dir={self.run_dir}", "--perf-interval-ms=60000", *flags)

    def results(self, done: subprocess.CompletedProcess) -> list[dict[str, float]]:
        """The figures of each rank."""
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = re.findall(r"(?m)^trainer-\d+: (rank=.*)$", done.stdout)
        return [{name: float(value) for name, value in re.findall(r"(\S+)=(\S+)", line)} for line in lines]


class Training(TrainerTest):
    def test_the_loss_falls_and_the_timers_nest(self):
        (result,) = self.results(self.demo("--steps=600", "--perf-format=jsonl"))
        self.assertEqual(result["steps"], 600)
        self.assertLess(result["last_loss"], result["first_loss"] - 0.05)
        windows = read_report(self.run_dir / "trainer-0.perf")
        self.assertEqual({window.role for window in windows}, {"trainer"})

        def total_us(name: str) -> float:
            return sum(window.timers[name].total_us for window in windows if name in window.timers)

        for op, steps in (("EmbRead", 600), ("EmbUpdate", 600), ("EmbWrite", 8)):
            count = sum(w.timers[f"OP.{op}.Total"].count for w in windows if f"OP.{op}.Total" in w.timers)
            self.assertEqual(count, steps)
        for chain in (
            (
                "OP.EmbWrite.Total",
                "OP.EmbWrite.Call",
                "ClientOp.EmbWrite.Total",
                "Client.PutParameter.Total",
                "Client.PutParameter.RPC",
            ),
            (
                "OP.EmbRead.Total",
                "ClientOp.EmbRead.Total",
                "Client.GetParameter.Total",
                "Client.GetParameter.AsyncWait",
            ),
            (
                "OP.EmbUpdate.Total",
                "OP.EmbUpdate.Call",
                "ClientOp.EmbUpdate.Total",
                "Client.UpdateParameter.Total",
                "Client.UpdateParameter.RPC",
            ),
            ("Client.PutParameter.Total", "Client.PutParameter.Serialize"),
            ("Client.GetParameter.Total", "Client.GetParameter.Serialize"),
            ("ClientOp.EmbWrite.Total", "ClientOp.EmbWrite.BuildVector"),
            ("OP.EmbRead.Total", "OP.EmbRead.ToCPUKeys"),
        ):
            for outer, inner in itertools.pairwise(chain):
                self.assertGreater(total_us(outer), total_us(inner), f"{outer} encloses {inner}")
                self.assertGreater(total_us(inner), 0, inner)
        server = read_report(self.run_dir / "ps-0.perf")
        handled_us = sum(
            w.timers["PS.GetParameter.Handle"].total_us for w in server if "PS.GetParameter.Handle" in w.timers
        )
        self.assertGreater(total_us("Client.GetParameter.Total"), handled_us)

    def test_prefetching_reads_on_another_thread(self):
        (result,) = self.results(
            self.demo(
                "--steps=300",
                "--prefetch",
                "--",
                "--prefetch-depth=3",
                "--fuse-k=2",
                f"--trace-file={self.run_dir / 'trace.json'}",
            )
        )
        self.assertLess(result["last_loss"], result["first_loss"])
        manifest = json.loads((self.run_dir / "manifest.json").read_text())
        trainer = next(process for process in manifest["processes"] if process["role"] == "trainer")
        self.assertIn("ps-io", trainer["threads"])
        windows = read_report(self.run_dir / "trainer-0.perf")
        reads = sum(w.timers["ClientOp.EmbRead.Total"].count for w in windows)
        self.assertLessEqual(abs(reads - 150), 4)  # two batches share a read; a few are read ahead
        events = json.loads((self.run_dir / "trace.json").read_text())["traceEvents"]
        self.assertEqual(sum(event["name"] == "Trainer.Step.Total" for event in events), 300)

    def test_ranks_train_together_on_several_servers(self):
        results = self.results(self.demo("--duration=3", "--trainers=2", "--servers=2"))
        self.assertEqual(len(results), 2)
        self.assertEqual(results[0]["steps"], results[1]["steps"])
        rows = [share(read_report(self.run_dir / f"ps-{i}.perf"), ("KV BatchGet",)) for i in range(2)]
        self.assertTrue(all(value > 0 for value in rows))

    def test_an_update_is_what_sgd_says(self):
        address = self.servers().addresses[0]
        script = f"""
import torch
torch.ops.load_library({str(self.build.op_library)!r})
ops = torch.ops.psdemo
try:
    ops.emb_read(torch.tensor([1]))
except RuntimeError as error:
    assert "init first" in str(error)
ops.init("grpc", [{address!r}], 16, 5000, [])
keys = torch.tensor([(3 << 32) + 5, 7, 9])
rows = torch.randn(3, 16)
ops.emb_write(keys, rows)
assert torch.equal(ops.emb_read(keys.flip(0)), rows.flip(0))
gradient = torch.randn(3, 16)
ops.emb_update(keys, gradient, 0.5)
assert torch.allclose(ops.emb_read(keys), rows - 0.5 * gradient)
ticket = ops.emb_update_async(keys, gradient, -0.5)
assert ops.wait(ticket).numel() == 0
assert torch.allclose(ops.wait(ops.emb_read_async(keys)), rows, atol=1e-6)
assert ops.emb_read(torch.empty(0, dtype=torch.int64)).shape == (0, 16)
for call, part in (
    (lambda: ops.wait(ticket), "no job has ticket"),
    (lambda: ops.emb_read(torch.tensor([1.0])), "1-d int64"),
    (lambda: ops.emb_write(keys, rows[:2]), "for 3 keys"),
    (lambda: ops.emb_read(torch.tensor([99 << 32])), "unknown table 99"),
    (lambda: ops.wait(ops.emb_read_async(torch.tensor([99 << 32]))), "unknown table 99"),
):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        assert part in str(error), str(error)
    else:
        raise AssertionError(part)
ops.fini()
print("all is well")
"""
        done = run([TRAINER_PYTHON, "-c", script])
        self.assertIn("all is well", done.stdout, done.stderr)


class Failures(TrainerTest):
    def test_a_killed_server_ends_the_run_with_a_message(self):
        script = self.run_dir / "kill.py"
        script.write_text(
            "import json, os, select, signal, sys\n"
            "pid = json.load(open(sys.argv[1]))['processes'][0]['pid']\n"
            "pidfd = os.pidfd_open(pid)\n"
            "os.kill(pid, signal.SIGKILL)\n"
            "select.select([pidfd], [], [])\n"
        )
        done = self.demo("--trainers=2", "--exec", f"{TRAINER_PYTHON} {script} {{manifest}}")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("error: ps-0 ended with code -9 before the end of the run", done.stderr)
        logs = [(self.run_dir / f"trainer-{rank}.log").read_text() for rank in range(2)]
        self.assertTrue(any("error: trainer rank" in log for log in logs), logs)

    def test_the_exec_status_is_passed_on(self):
        done = self.demo("--exec", "sh -c 'exit 7'")
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_a_missing_program_is_named(self):
        done = self.demo("--exec", "no-such-program {pids}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no program 'no-such-program'", done.stderr)

    def test_usage_errors(self):
        for flags, part in (
            (["--fault=nothing"], "unknown fault 'nothing'"),
            (["--servers=0"], "at least 1"),
            (["--startup-timeout=0"], "over 0"),
        ):
            done = self.demo(*flags)
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)

    def test_children_die_with_a_killed_runner(self):
        argv = [TRAINER_PYTHON, "-m", "ps_demo", "run", f"--run-dir={self.run_dir}"]
        runner = Child("runner", argv, self.run_dir / "runner.log", {**os.environ, "PYTHONPATH": str(ROOT)})
        self.addCleanup(runner.finish_stop, 0)
        runner.wait_for_line("manifest: ", 60)
        manifest = json.loads((self.run_dir / "manifest.json").read_text())
        # A pidfd becomes readable when its process has ended.
        import select

        pidfds = [os.pidfd_open(process["pid"]) for process in manifest["processes"]]
        runner.process.send_signal(signal.SIGKILL)
        for pidfd in pidfds:
            self.assertTrue(select.select([pidfd], [], [], 10)[0])
            os.close(pidfd)


class Faults(TrainerTest):
    """Each fault does what it says, by the timers; what a profiler makes of it is tested in test_faults_stackclock."""

    def timers(self, role: str, name: str, *flags: str) -> float:
        self.results(self.demo("--duration=3", *flags))
        paths = sorted(self.run_dir.glob(f"{role}-*.perf"))
        return sum(share(read_report(path), (name,)) for path in paths)

    def test_shard_lock(self):
        self.assertGreater(self.timers("ps", "Fault.ShardLock.Wait", "--fault=shard-lock"), 0.1)

    def test_device_query(self):
        self.assertGreater(self.timers("trainer", "Fault.DeviceQuery.Total", "--fault=device-query"), 0.2)

    def test_slow_rank(self):
        self.assertGreater(self.timers("trainer", "Fault.SlowRank.Sleep", "--fault=slow-rank"), 0.3)

    def test_nested_vector(self):
        self.assertGreater(self.timers("trainer", "ClientOp.EmbUpdate.BuildVector", "--fault=nested-vector"), 0.02)

    def test_hot_shard(self):
        self.results(self.demo("--duration=3", "--fault=hot-shard"))
        hot, cold = (share(read_report(self.run_dir / f"ps-{i}.perf"), ("PS.GetParameter.Handle",)) for i in range(2))
        self.assertGreater(hot, 3 * cold)


if __name__ == "__main__":
    unittest.main()
