#!/bin/sh
# From nothing to a profile of the whole demo: installs the packages, builds, starts a parameter server and two trainer
# ranks, records all of them with stackclock, and says where their wall time went. --fault NAME plants a bottleneck and
# sets what should be found beside what was found; --help lists the rest.
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh grpc torch
(cd .. && cargo build --release --quiet)
exec /usr/bin/python3 -m ps_demo demo "$@"
