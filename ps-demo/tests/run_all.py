"""Runs every suite and prints `N passed, N failed, N skipped`; exits with 1 if anything failed."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ps_demo.process import Skip  # noqa: E402
from tests.support import build  # noqa: E402


def run_ctest() -> tuple[int, int]:
    """How many C++ tests passed and failed."""
    done = subprocess.run(
        ["ctest", "--test-dir", str(build().directory), "--output-on-failure"], capture_output=True, text=True
    )
    print(done.stdout, end="")
    summary = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
    if summary is None:
        raise RuntimeError(f"ctest printed no summary\n{done.stderr}")
    failed, total = map(int, summary.groups())
    return total - failed, failed


def run_python(names: list[str]) -> unittest.TestResult:
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(f"tests.{name}" for name in names)
    return unittest.TextTestRunner(verbosity=2).run(suite)


def main() -> int:
    passed = failed = skipped = 0
    names = sys.argv[1:]
    if not names:
        names = sorted(path.stem for path in (ROOT / "tests").glob("test_*.py"))
        try:
            passed, failed = run_ctest()
        except Skip as skip:
            print(f"skipped: ctest: {skip}")
            skipped += 1
    result = run_python(names)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    bad = len(result.failures) + len(result.errors)
    failed += bad
    skipped += len(result.skipped)
    passed += result.testsRun - bad - sum(1 for test, _ in result.skipped if isinstance(test, unittest.TestCase))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
