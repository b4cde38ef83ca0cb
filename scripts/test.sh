#!/usr/bin/env bash
# Every check and every test of the project; installs what they need. Ends with `N passed, N failed`.
# Each of formatting, clippy and the docs build counts as one check; a test binary that does not finish as one failure.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

"$ROOT/scripts/setup.sh" test || exit 1

log=$ROOT/target/test.log
passed=0
failed=0
broken=()

check() {
    local name=$1
    shift
    say "$name"
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        broken+=("$name")
    fi
}

# run_tests NAME CARGO-ARGUMENTS...: adds up the `test result:` lines of all its test binaries.
run_tests() {
    local name=$1 status=0 ok bad
    shift
    say "$name"
    cargo test --no-fail-fast --quiet "$@" 2>&1 | tee "$log" || status=$?
    read -r ok bad < <(awk '/^test result:/ { ok += $4; bad += $6 } END { print ok + 0, bad + 0 }' "$log")
    # Not one test failed and still cargo did: something did not compile, or a test binary died.
    ((status != 0 && bad == 0)) && bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
    ((bad == 0)) || broken+=("$name")
}

check 'formatting' cargo fmt --all --check
check 'clippy' cargo clippy --workspace --all-targets --quiet -- -D warnings
check 'docs' env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet
run_tests 'library tests' --workspace --exclude stackclock
# These profile real processes: one at a time, so that they do not take each other's CPU.
run_tests 'end-to-end tests' --package stackclock -- --test-threads=1

((failed == 0)) || printf '\nfailed in: %s\n' "${broken[*]}"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
