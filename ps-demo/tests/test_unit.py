"""What needs no C++: fault texts, timer reports, child processes."""

import json
import sys
import tempfile
import time
import unittest
from pathlib import Path

from ps_demo.faults import KINDS, parse_fault
from ps_demo.memcached import answers, free_port
from ps_demo.process import Child, StartupFailure, stop_all
from ps_demo.report import format_summary, read_report, share
from tests import support  # noqa: F401 (sets the module path)

TEXT_REPORT = """\
# window=1 role=trainer pid=42 end_unix=1795145656.057 span_ms=2000
KV BatchGet                          count=10 mean_us=1000.0 p50_us=900.0 p99_us=2000.0 max_us=2000.0
OP.EmbRead.Total                     count=2 mean_us=100000.0 p50_us=90000.0 p99_us=110000.0 max_us=110000.0

# window=2 role=trainer pid=42 end_unix=1795145658.057 span_ms=2000
OP.EmbRead.Total                     count=2 mean_us=300000.0 p50_us=90000.0 p99_us=510000.0 max_us=510000.0

"""


class Faults(unittest.TestCase):
    def test_defaults_and_given_values(self):
        self.assertEqual(parse_fault("shard-lock").parameters, {"hold_us": 2000})
        self.assertEqual(parse_fault("gil-loader:mult=3").parameters, {"threads": 4, "mult": 3})
        self.assertEqual(parse_fault("hot-shard:skew=0.5").text, "hot-shard:skew=0.5")

    def test_a_rank_that_misbehaves_exists_and_is_not_alone(self):
        self.assertEqual(parse_fault("hang-rank").trainers, 3)
        self.assertEqual(parse_fault("slow-rank:rank=0").trainers, 2)
        self.assertEqual(parse_fault("shard-lock").trainers, 4)

    def test_wrong_texts_are_refused_by_name(self):
        for text, part in (
            ("no-such", "unknown fault 'no-such'"),
            ("slow-rank:rnk=1", "'rnk=1' is not key=value with a known key (rank, ms)"),
            ("slow-rank:ms", "'ms' is not"),
            ("slow-rank:ms=abc", "ms=abc is not of type int"),
            ("slow-rank:ms=-1", "ms=-1 is negative"),
        ):
            with self.assertRaises(ValueError) as raised:
                parse_fault(text)
            self.assertIn(part, str(raised.exception))

    def test_every_fault_says_what_a_profile_shows(self):
        for name in KINDS:
            findings = parse_fault(name).findings()
            self.assertTrue(findings, name)
            for finding in findings:
                self.assertLess(finding["minimum_share"], finding["maximum_share"])
                self.assertIn(finding["state"], ("on-cpu", "off-cpu", "gil-wait", "any"))
            json.dumps(findings)


class Reports(unittest.TestCase):
    def read(self, text: str):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            return read_report(Path(file.name))

    def test_text(self):
        windows = self.read(TEXT_REPORT)
        self.assertEqual([window.window for window in windows], [1, 2])
        self.assertEqual(windows[0].timers["KV BatchGet"].count, 10)
        self.assertAlmostEqual(share(windows, ("OP.EmbRead.Total",)), 0.8 / 4)

    def test_json_lines_say_the_same(self):
        window = {
            "window": 1,
            "role": "ps",
            "pid": 7,
            "end_unix": 1.5,
            "span_ms": 1000,
            "timers": {"KV BatchGet": {"count": 4, "mean_us": 50000.0, "p50_us": 1, "p99_us": 1, "max_us": 1}},
        }
        windows = self.read(json.dumps(window) + "\n")
        self.assertAlmostEqual(share(windows, ("KV BatchGet",)), 0.2)
        self.assertIn("ps pid 7: 1 windows", format_summary(windows))

    def test_a_foreign_line_is_named(self):
        with self.assertRaisesRegex(ValueError, ":2: not a line of a timer report: 'hello'"):
            self.read(TEXT_REPORT.splitlines()[0] + "\nhello\n")


class Children(unittest.TestCase):
    def start(self, script: str) -> Child:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        child = Child("child", [sys.executable, "-u", "-c", script], Path(directory.name) / "log")
        self.addCleanup(stop_all, [child], 0)
        return child

    def test_a_line_is_awaited(self):
        child = self.start("print('hello'); print('ready 17'); input()")
        self.assertEqual(child.wait_for_line(r"ready (\d+)", 30).group(1), "17")

    def test_a_crash_is_told_from_a_timeout(self):
        with self.assertRaises(StartupFailure) as raised:
            self.start("import sys; print('cannot open'); sys.exit(3)").wait_for_line("ready", 30)
        self.assertEqual(raised.exception.phase, "startup-crash")
        self.assertIn("ended with code 3", str(raised.exception))
        self.assertIn("cannot open", raised.exception.child.tail())
        with self.assertRaises(StartupFailure) as raised:
            self.start("import time; time.sleep(60)").wait_for_line("ready", 0.2)
        self.assertEqual(raised.exception.phase, "startup-timeout")

    def test_a_child_that_ignores_sigterm_is_killed_after_the_grace(self):
        child = self.start(
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); time.sleep(60)"
        )
        child.wait_for_line("ready", 30)
        start = time.monotonic()
        self.assertEqual(stop_all([child], grace=0.5), {"child": -9})
        self.assertLess(time.monotonic() - start, 10)


class MemcachedProbe(unittest.TestCase):
    def test_nothing_answers_on_a_free_port(self):
        self.assertFalse(answers(free_port()))


if __name__ == "__main__":
    unittest.main()
