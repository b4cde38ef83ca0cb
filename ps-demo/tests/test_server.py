"""The first tier: server, gRPC client, benchmark, commands."""

import re
import signal
import unittest

from ps_demo.process import StartupFailure
from ps_demo.report import read_report
from tests.support import TierTest, run


class Benchmark(TierTest):
    def test_counts_of_client_server_and_timers_agree(self):
        group = self.servers()
        done = self.benchmark(
            f"--servers={group.addresses[0]}",
            "--iterations=20",
            "--rounds=3",
            "--warmup-rounds=1",
            "--report-mode=both",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            len(re.findall(r"transport=grpc phase=warmup round=\d/1 elapsed_us=\d+$", done.stdout, re.M)), 1
        )
        rounds = [int(us) for us in re.findall(r"phase=measure round=\d/3 elapsed_us=(\d+)", done.stdout)]
        self.assertEqual(len(rounds), 3)
        summary = dict(re.findall(r"(\S+)=(\S+)", next(line for line in done.stdout.splitlines() if "summary" in line)))
        self.assertAlmostEqual(float(summary["mean_us"]), sum(rounds) / 3, delta=2)
        self.assertEqual(int(summary["p50_us"]), sorted(rounds)[1])
        self.assertEqual(int(summary["p99_us"]), max(rounds))
        self.assertAlmostEqual(float(summary["ops/s"]), 40 / (float(summary["mean_us"]) / 1e6), delta=5)
        self.assertAlmostEqual(float(summary["key_ops/s"]), 500 * float(summary["ops/s"]), delta=500)
        stats = self.stats(group.addresses[0])
        self.assertEqual((stats["gets"], stats["puts"], stats["rows"], stats["refused"]), (80, 80, 500, 0))
        self.assertEqual(group.stop(), {"ps-0": 0})
        timers = [window.timers for window in read_report(self.run_dir / "ps-0.perf")]
        for name in ("PS.PutParameter.Handle", "PS.PutParameter.KVPutAll", "PS.GetParameter.Handle", "KV BatchGet"):
            self.assertEqual(sum(window[name].count for window in timers if name in window), 80, name)

    def test_several_servers_share_the_keys(self):
        group = self.servers(extra_options={"servers": 3})
        done = self.benchmark(
            f"--servers={','.join(group.addresses)}", "--iterations=5", "--rounds=1", "--batch-keys=3000"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [self.stats(address)["rows"] for address in group.addresses]
        self.assertEqual(sum(rows), 3000)
        self.assertTrue(all(800 < count < 1200 for count in rows), rows)

    def test_two_reports_are_compared(self):
        group = self.servers()
        before, after = self.run_dir / "before", self.run_dir / "after"
        before.write_text("rpc=Get count=2 avg_us=200.0 max_us=400.0 min_us=100.0\n")
        after.write_text("rpc=Get count=2 avg_us=150.0 max_us=100.0 min_us=110.0\n")
        done = self.benchmark("--compare", str(before), str(after))
        self.assertEqual(
            [line.split()[-1] for line in done.stdout.splitlines()[1:]], ["25.0%", "75.0%", "-10.0%"], done.stdout
        )
        done = self.benchmark(
            f"--servers={group.addresses[0]}", "--iterations=5", "--rounds=2", f"--rpc-report={after}"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            re.findall(r"rpc=(\w+) count=(\d+)", after.read_text()), [("Get", "10"), ("Put", "10"), ("step", "10")]
        )
        self.assertIn("has no rpc=", self.benchmark("--compare", str(after), str(before)).stderr)
        self.assertIn("not a line of an RPC report", self.benchmark("--compare", __file__, str(before)).stderr)

    def test_a_dead_server_is_an_error_with_its_address(self):
        group = self.servers()
        group.children[0].process.send_signal(signal.SIGKILL)
        group.children[0].wait(10)
        done = self.benchmark(f"--servers={group.addresses[0]}")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"error: server {group.addresses[0]}: ", done.stderr)

    def test_a_hung_server_is_an_error_after_the_timeout(self):
        group = self.servers(extra_options={"faults": ["hang-server:after=3"]})
        done = self.benchmark(f"--servers={group.addresses[0]}", "--timeout-ms=500")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Deadline Exceeded", done.stderr)
        group.children[0].wait_for_line("PS hangs", 10)


class Requests(TierTest):
    def test_bad_requests_are_refused_and_nothing_is_stored(self):
        address = self.servers().addresses[0]
        for flags, part in (
            (("--dim=8",), "dimension 8, but the tables have --dim=16"),
            (("--batch-keys=70000",), "batch of 70000 keys is over --max_batch_keys=65536"),
        ):
            done = self.benchmark(f"--servers={address}", *flags)
            self.assertEqual(done.returncode, 1)
            self.assertIn(part, done.stderr)
        self.assertEqual((self.stats(address)["rows"], self.stats(address)["refused"]), (0, 2))

    def test_checkpoint_and_restore(self):
        group = self.servers()
        address = group.addresses[0]
        self.benchmark(f"--servers={address}", "--iterations=1", "--rounds=1")
        done = self.command(address, "checkpoint", "rows.ckpt")
        self.assertEqual(done.stdout.strip(), str(self.run_dir / "rows.ckpt"), done.stderr)
        for name in ("../rows", "", ".hidden"):
            self.assertIn("is not a plain file name", self.command(address, "checkpoint", name).stderr)
        restored = run([str(self.build.server), "--restore", str(self.run_dir / "rows.ckpt"), "--dim=8"])
        self.assertEqual(restored.returncode, 1)
        self.assertIn("has dimension 16, the server 8", restored.stderr)

    def test_commands(self):
        group = self.servers()
        address = group.addresses[0]
        self.assertIn("dim=16", self.command(address, "ready").stdout)
        self.assertEqual(self.command(address, "fault_on", "shard-lock:hold_us=100").returncode, 0)
        self.assertIn("faults=shard-lock", self.command(address, "stats").stdout)
        self.assertEqual(self.command(address, "fault_off", "shard-lock").returncode, 0)
        self.assertIn("no server fault 'x'", self.command(address, "fault_on", "x").stderr)
        self.assertEqual(self.command(address, "quit").returncode, 0)
        self.assertEqual(group.children[0].wait(10), 0)
        self.assertTrue(group.children[0].find("PS stopped"))


class Startup(TierTest):
    def test_a_taken_port_is_named(self):
        address = self.servers().addresses[0]
        with self.assertRaises(StartupFailure) as raised:
            self.servers(extra_options={"address": address})
        self.assertEqual(raised.exception.phase, "startup-crash")
        self.assertIn(f"cannot listen on {address} (is the port taken?)", raised.exception.child.tail())

    def test_usage_errors_exit_with_2(self):
        for flags, part in (
            (["--no-such"], "unknown flag '--no_such'"),
            (["--workers=0"], "--workers=0 is not a whole number from 1 to 256"),
            (["stray"], "unexpected argument 'stray'"),
            (["--dim"], "--dim needs a value"),
        ):
            done = run([str(self.build.server), *flags])
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn(part, done.stderr)

    def test_threads_are_named(self):
        group = self.servers(extra_options={"workers": 3})
        from ps_demo.manifest import thread_names

        names = thread_names(group.children[0].pid)
        self.assertEqual(
            sorted(n for n in names if n.startswith("ps-worker")), ["ps-worker-0", "ps-worker-1", "ps-worker-2"]
        )
        self.assertIn("perf-report", names)


class RocksDb(TierTest):
    TIERS = ("grpc", "rocksdb")

    def test_rows_survive_a_restart(self):
        group = self.servers(extra_options={"kv": "rocksdb", "kv_sync": True})
        done = self.benchmark(f"--servers={group.addresses[0]}", "--iterations=3", "--rounds=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.command(group.addresses[0], "checkpoint", "copy").returncode, 0)
        self.assertTrue((self.run_dir / "copy" / "CURRENT").exists())
        self.assertEqual(group.stop(), {"ps-0": 0})
        again = self.servers(extra_options={"kv": "rocksdb"})
        self.assertEqual(self.stats(again.addresses[0])["rows"], 500)


if __name__ == "__main__":
    unittest.main()
