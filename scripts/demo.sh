#!/usr/bin/env bash
# Shows stackclock at work on a Python + C++ process, from nothing: installs what is needed, builds, records a small
# trainer twice, and leaves the results in out/. DEMO_SECONDS (5) is the length of each recording.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
trap stop_children EXIT

seconds=${DEMO_SECONDS:-5}
stackclock=$ROOT/target/release/stackclock
library=target/demo/libtrainer.so

"$ROOT/scripts/setup.sh" demo
say 'building'
cargo build --release --quiet
compile_library scripts/demo/trainer.cc "$library"
mkdir -p "$OUT"

say 'starting the trainer: a Python main thread and loader, numpy, and a C++ library with five threads'
# One BLAS thread, so that the demo shows the same picture on a laptop and on a large server.
coproc TRAINER { OPENBLAS_NUM_THREADS=1 exec "$VENV_PYTHON" scripts/demo/trainer.py "$library" 2>"$OUT/demo-trainer.log"; }
pid=$TRAINER_PID
CHILDREN+=("$pid")
read -r line <&"${TRAINER[0]}" || fail "the trainer did not start: $(cat "$OUT/demo-trainer.log")"
[[ $line == ready ]] || fail "the trainer said '$line', not 'ready'"

say "recording $seconds s of CPU time: who computes, and who would like to?"
"$stackclock" record -p "$pid" -d "$seconds" -o "$OUT/demo-cpu.svg" -o "$OUT/demo-cpu.speedscope.json"

say "recording $seconds s of the whole wall clock (--idle): who waits, and for what?"
"$stackclock" record -p "$pid" -d "$seconds" --idle -o "$OUT/demo-wall.svg" -o "$OUT/demo-wall.speedscope.json"

say 'the ten functions with most wall-clock time of their own'
"$stackclock" report --sort self --limit 10 "$OUT/demo-wall.speedscope.json"

cat <<END

What to look at:
  out/demo-cpu.svg               open in a browser: where the CPU time goes, Python and C++ in one stack
  out/demo-wall.svg              the same with waiting, in colours of its own: [blocked: futex], [gil], ...
  out/demo-*.speedscope.json     one timeline for each thread: drop it on https://www.speedscope.app
In the wall picture, compare the main thread's \`embed\` (waiting for the C++ threads) with the \`emb-gather\` threads
(computing), and find the thread that waits in epoll.
END
