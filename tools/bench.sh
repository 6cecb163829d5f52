#!/usr/bin/env bash
# What simulations cost: processor time and memory of whole runs of scenarios/scale, against bars,
# the stock SimGrid executor and an empty SimGrid engine; then the cost of one model on 256 to
# 131,072 GPUs, and of sweeps. Sets up, builds, measures one process at a time (some minutes; 3 GB of memory).
#
#   tools/bench.sh [--quick] [--case NAME] [--sweep] [--csv FILE] [--update-docs]
#
# --quick: small cases once each, and only whether their results agree: what the tests run.
# --case: that case alone. --sweep: the sweeps alone. --csv: the cost curve also into FILE. --update-docs: table and curve also
# into docs/performance.md and docs/performance.csv.
# Exits 1 where a result is wrong, and unless --quick where a bar is not kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh --with-checks trainyard empty_engine
exec python3 -B tools/bench.py --build build "$@"
