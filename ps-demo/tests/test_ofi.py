"""The RMA transport and its rendezvous."""

import signal
import socket
import time
import unittest

from ps_demo.memcached import Memcached, answers, free_port
from ps_demo.process import DemoError
from tests.support import ROOT, TierTest, run, run_demo

PROVIDERS = ("shm", "tcp;ofi_rxm")
TIMEOUT_MS = 1500


class OfiTest(TierTest):
    TIERS = ("grpc", "ofi", "memcached")

    def memcached(self, mode: str = "always", port: int | None = None) -> Memcached:
        memcached = Memcached.obtain(mode, port or free_port(), f"test-{self.id()}", self.run_dir / "memcached.log", 10)
        self.addCleanup(memcached.release)
        return memcached

    def ofi_flags(self, memcached: Memcached, provider: str) -> list[str]:
        return [
            "--transport=ofi",
            f"--ofi_rendezvous={memcached.address}",
            f"--ofi_namespace={memcached.namespace}",
            f"--ofi_provider={provider}",
            f"--timeout_ms={TIMEOUT_MS}",
        ]


class Transfers(OfiTest):
    def test_rows_arrive_byte_for_byte_in_each_mode(self):
        for provider in PROVIDERS:
            memcached = self.memcached()
            group = self.servers(memcached, {"servers": 2, "ofi_provider": provider})
            for put in ("read", "push"):
                with self.subTest(provider=provider, put=put):
                    # The benchmark itself compares what it read with what it wrote.
                    done = self.benchmark(
                        *self.ofi_flags(memcached, provider),
                        f"--ofi_put={put}",
                        "--iterations=5",
                        "--rounds=4",
                        "--warmup-rounds=0",
                        "--batch-keys=2000",
                    )
                    self.assertEqual(done.returncode, 0, done.stderr)
            stats = [self.stats(address) for address in group.addresses]
            self.assertEqual([(s["gets"], s["puts"]) for s in stats], [(40, 40)] * 2)
            self.assertEqual(sum(s["rows"] for s in stats), 2000)
            group.stop()

    def test_limits_are_refused_by_name(self):
        memcached = self.memcached()
        self.servers(memcached)
        flags = self.ofi_flags(memcached, "shm")
        self.assertIn(
            "batch of 20000 keys is over --ofi_slot_keys=16384", self.benchmark(*flags, "--batch-keys=20000").stderr
        )
        self.assertIn("dimension 8, but the tables have --dim=16", self.benchmark(*flags, "--dim=8").stderr)

    def test_a_killed_server_is_an_error_within_the_timeout(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                memcached = self.memcached()
                group = self.servers(memcached, {"ofi_provider": provider})
                group.children[0].process.send_signal(signal.SIGKILL)
                group.children[0].wait(10)
                start = time.monotonic()
                done = self.benchmark(*self.ofi_flags(memcached, provider))
                self.assertEqual(done.returncode, 1)
                self.assertIn("error: server 0: libfabric: ", done.stderr)
                self.assertLess(time.monotonic() - start, TIMEOUT_MS / 1000 + 5)
                group.stop()

    def test_a_provider_that_is_not_there_is_named(self):
        memcached = self.memcached()
        done = run([str(self.build.server), *memcached.server_flags(0, 1, "verbs")])
        if done.returncode == 0:
            self.skipTest("this machine has verbs hardware")
        self.assertIn("libfabric has no provider 'verbs'", done.stderr)


class Rendezvous(OfiTest):
    def test_no_memcached_is_an_error_with_its_address(self):
        port = free_port()
        done = self.benchmark("--transport=ofi", f"--ofi_rendezvous=127.0.0.1:{port}")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"error: rendezvous: memcached 127.0.0.1:{port}: Connection refused", done.stderr)

    def test_no_server_is_an_error_after_the_timeout(self):
        memcached = self.memcached()
        done = self.benchmark(*self.ofi_flags(memcached, "shm"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"no {memcached.namespace}:servers in memcached", done.stderr)

    def test_auto_uses_the_one_that_runs_and_leaves_it_running(self):
        ours = self.memcached()
        found = self.memcached("auto", ours.port)
        self.assertEqual(found.port, ours.port)
        found.release()
        self.assertTrue(answers(ours.port))
        ours.release()
        self.assertFalse(answers(ours.port))

    def test_a_port_taken_by_something_else_is_left_alone(self):
        with socket.socket() as stranger:
            stranger.bind(("127.0.0.1", 0))
            stranger.listen()
            taken = stranger.getsockname()[1]
            for mode in ("auto", "always"):
                self.assertNotEqual(self.memcached(mode, taken).port, taken)

    def test_never_fails_with_the_hint(self):
        with self.assertRaises(DemoError) as raised:
            self.memcached("never", free_port())
        self.assertIn("no memcached answers", str(raised.exception))
        self.assertIn("--use-local-memcached=auto", raised.exception.help)


class Runner(OfiTest):
    def runner(self, *flags: str):
        return run(["/usr/bin/python3", str(ROOT / "scripts/run_transport_benchmarks.py"), *flags])

    def test_one_table_and_skips_for_what_is_not_there(self):
        done = self.runner(
            "--iterations=5",
            "--rounds=2",
            "--warmup-rounds=0",
            "--ofi-providers=shm,verbs",
            "--report-mode=summary",
            f"--memcached-port={free_port()}",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("ofi/shm/read", "ofi/shm/push", "grpc"):
            self.assertRegex(done.stdout, rf"(?m)^{name}\s+\d+")
        self.assertRegex(done.stdout, r"(?m)^ofi/verbs/read\s+(skipped: libfabric has no provider|\d+)")
        self.assertIn("phase=memcached-ready", done.stderr)
        self.assertIn("phase=startup-wait", done.stderr)

    def test_timeouts_are_honoured_and_must_be_over_zero(self):
        done = self.runner("--ofi-only", "--ofi-providers=shm", "--benchmark-timeout=0.2", "--rounds=100000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not end within 0.2 s", done.stderr)
        self.assertIn("last lines of ps-0", done.stderr)
        self.assertEqual(self.runner("--startup-timeout=0").returncode, 2)

    def test_never_without_memcached_fails(self):
        done = self.runner("--ofi-only", "--use-local-memcached=never", f"--memcached-port={free_port()}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("phase=memcached-wait", done.stderr)
        self.assertIn("help: start one", done.stderr)


class Training(OfiTest):
    TIERS = ("grpc", "torch", "ofi", "memcached")

    def test_the_trainer_runs_over_rma(self):
        done = run_demo(
            "run",
            "--transport=ofi",
            "--steps=30",
            "--servers=2",
            "--prefetch",
            f"--memcached-port={free_port()}",
            f"--run-dir={self.run_dir}",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("trainer-0: rank=0 steps=30", done.stdout)


if __name__ == "__main__":
    unittest.main()
