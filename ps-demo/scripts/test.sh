#!/bin/sh
# All tests of ps-demo: C++ unit tests through ctest, then the Python suites. A tier that this machine lacks is skipped,
# with the line that installs it. Arguments, if any, are the Python suites to run: test.sh test_server test_ofi
set -u
cd "$(dirname "$0")/.."
exec /usr/bin/python3 tests/run_all.py "$@"
