#!/usr/bin/env bash
# Installs what the other scripts need, on Debian 12: `setup.sh [demo|bench|test]` (default: test, which is everything).
# Idempotent, and quick when all is there. Needs root only when a Debian package is missing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PY_SPY='py-spy>=0.4,<0.5'
SPEEDSCOPE=speedscope@1
PLAYWRIGHT=playwright-core@1

case ${1:-test} in
    demo)  packages=(g++ python3 python3-venv); wheels=(numpy) ;;
    bench) packages=(g++ python3 python3-venv); wheels=(numpy "$PY_SPY") ;;
    test)  packages=(g++ xz-utils dwz python3 python3-venv redis-server redis-tools tmux chromium golang-go); wheels=(numpy "$PY_SPY") ;;
    *)     fail "setup.sh knows demo, bench and test, not '$1'" ;;
esac

debian_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || fail "Debian packages are missing and only root can install them: ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -q
    # Services must not be started by their installation: the tests start their own.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# A virtual environment of Debian's own Python, so that nothing outside target/ changes.
python_environment() {
    [[ -x $VENV_PYTHON ]] || /usr/bin/python3 -m venv "$TOOLS/venv"
    local stamp=$TOOLS/venv/installed wheel
    for wheel in "$@"; do
        grep -qxF "$wheel" "$stamp" 2>/dev/null && continue
        say "installing $wheel into target/test-tools/venv"
        "$VENV_PYTHON" -m pip install --quiet --disable-pip-version-check "$wheel"
        echo "$wheel" >>"$stamp"
    done
}

# The real speedscope and a driver for Debian's Chromium, for the test that opens our files with them.
node_modules() {
    command -v npm >/dev/null || debian_packages nodejs npm
    local wanted="$SPEEDSCOPE $PLAYWRIGHT"
    [[ $(cat "$TOOLS/npm-installed" 2>/dev/null) == "$wanted" ]] && return
    say "installing $wanted into target/test-tools/node_modules"
    npm install --prefix "$TOOLS" --no-audit --no-fund --loglevel=error "$SPEEDSCOPE" "$PLAYWRIGHT"
    echo "$wanted" >"$TOOLS/npm-installed"
}

# Which Pythons the tests will find here. A missing one narrows what is tested and is said, not an error.
python_table() {
    local version python
    printf '\n%-8s %s\n' Python found >&2
    for version in 3.8 3.9 3.10 3.11 3.12 3.13; do
        for python in "$HOME"/.pyenv/versions/"$version".*/bin/python /usr/bin/python"$version"; do
            [[ -x $python ]] && printf '%-8s %s\n' "$version" "${python/#$HOME/\~}" >&2 && continue 2
        done
        printf '%-8s not on this machine: not tested\n' "$version" >&2
    done
}

debian_packages "${packages[@]}"
mkdir -p "$TOOLS"
python_environment "${wheels[@]}"
if [[ ${1:-test} == test ]]; then
    node_modules
    python_table
fi
