#!/usr/bin/env bash
# The Pythons that the tests find on this machine, and more of them:
#   pythons.sh             lists them
#   pythons.sh add forky   adds Debian forky's 3.14 and 3.15, in a chroot below target/ (root; 320 MB, one to two minutes)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CHROOTS=$ROOT/target/pythons
FORKY=(python3.14 python3.15)

# list: one line per version, as the tests choose them; a missing version narrows what is tested and is said.
list() {
    local minor python found
    printf '%-8s %s\n' Python found
    for minor in {6..15}; do
        found=
        for python in "$HOME"/.pyenv/versions/3.$minor.*/bin/python /usr/bin/python3.$minor \
            "$CHROOTS"/*/usr/bin/python3.$minor; do
            [[ -x $python ]] || continue
            found=yes
            printf '%-8s %s\n' "3.$minor" "${python/#$HOME\//\~/}"
        done
        [[ $found ]] || printf '%-8s not on this machine: not tested\n' "3.$minor"
    done
}

# mirror: where this machine's own packages come from, other than the security updates.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | sort -u | head -n 1
}

# add_forky: leaves nothing half-made; a chroot that is complete stays as it is.
add_forky() {
    local chroot=$CHROOTS/forky making=$CHROOTS/forky.making python
    [[ -d $chroot ]] && return
    ((EUID == 0)) || fail 'only root can make a chroot'
    command -v debootstrap >/dev/null || {
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends debootstrap
    }
    say "making a chroot of Debian forky with ${FORKY[*]}"
    rm -rf "$making"
    mkdir -p "$CHROOTS"
    # Debian 12's debootstrap has no script of forky's name; sid's is the same.
    debootstrap --variant=minbase --include="$(IFS=,; echo "${FORKY[*]}")" forky "$making" "$(mirror)" sid
    for python in "${FORKY[@]}"; do
        chroot "$making" "$python" -c 'import sys; print(sys.version)'
    done
    mv "$making" "$chroot"
}

case ${1:-} in
    '') ;;
    add) [[ ${2:-} == forky ]] || fail "pythons.sh can add forky, not '${2:-}'"; add_forky ;;
    *) fail "pythons.sh knows add, not '$1'" ;;
esac
list
