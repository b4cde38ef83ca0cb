# Shared by the scripts in this folder: `source "$(dirname "$0")/lib.sh"`.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/target/test-tools   # what setup.sh installs for this project alone
OUT=$ROOT/out                   # what demo.sh and bench.sh leave behind
VENV_PYTHON=$TOOLS/venv/bin/python

say() { printf '\n== %s\n' "$*" >&2; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# compile_library SOURCE OUTPUT: a shared C++ library with debug information, built when the source is newer.
compile_library() {
    [[ $2 -nt $1 ]] && return
    mkdir -p "$(dirname "$2")"
    g++ -O2 -g -shared -fPIC -pthread -o "$2" "$1"
}

# Every process started by a script is recorded here and stopped when the script ends, however it ends.
CHILDREN=()

stop_children() {
    local pid
    for pid in "${CHILDREN[@]}"; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || true
    done
}
