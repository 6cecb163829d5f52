#!/usr/bin/env bash
# Runs a browser test; exits 77, which ctest takes for skipped, where node is missing.
#
#   tests/browser/run.sh TEST.mjs BUILD_FOLDER
set -euo pipefail
command -v node >/dev/null || { echo "skipped: there is no node"; exit 77; }
exec timeout 280 node "$@"
