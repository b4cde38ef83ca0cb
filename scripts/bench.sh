#!/usr/bin/env bash
# Benchmark: what stackclock and py-spy take from the program they profile, and from the machine, side by side.
#   bench.sh [--runs 5] [--seconds 5] [--rates 100,200,1000] [--workloads mixed,sleepers] [--tools py-spy,stackclock]
# Prints a table and writes out/bench.json. Installs what it needs. Leave the machine alone while it runs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

library=$ROOT/target/bench/libworkload.so

"$ROOT/scripts/setup.sh" bench
cargo build --release --quiet
compile_library tests/targets/workload.cc "$library"
mkdir -p "$OUT"
exec "$VENV_PYTHON" scripts/bench/harm.py \
    --stackclock "$ROOT/target/release/stackclock" --py-spy "$TOOLS/venv/bin/py-spy" \
    --script tests/targets/workload.py --library "$library" --json "$OUT/bench.json" "$@"
