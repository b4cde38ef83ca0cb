#!/bin/sh
# Installs the packages of ps-demo's tiers (Debian 12). Usage: setup.sh [grpc] [torch] [ofi] [rocksdb]; default: all.
set -eu

grpc="g++ cmake ninja-build libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc"
torch="python3-torch python3-numpy libtorch-dev libopenblas0-pthread"
ofi="libfabric-dev memcached"
rocksdb="librocksdb-dev"

packages=""
for tier in "${@:-all}"; do
    case "$tier" in
        all) packages="$grpc $torch $ofi $rocksdb" ;;
        grpc) packages="$packages $grpc" ;;
        torch) packages="$packages $grpc $torch" ;;
        ofi) packages="$packages $grpc $ofi" ;;
        rocksdb) packages="$packages $grpc $rocksdb" ;;
        *) echo "usage: $0 [grpc] [torch] [ofi] [rocksdb]" >&2; exit 2 ;;
    esac
done

missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
$sudo apt-get update
# RUNLEVEL: memcached must not be started as a service; the demo starts its own. The list is a list of words.
# shellcheck disable=SC2086
$sudo env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
