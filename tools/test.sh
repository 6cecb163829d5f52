#!/usr/bin/env bash
# Everything that must hold before a change goes in: set-up, tools/check.sh, then the tests, whose
# summary by ctest comes last. Runs all of it even where a part fails, and then exits non-zero.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh --with-checks
checks=passed
bash tools/check.sh || checks=failed
status=0
ctest --test-dir build -j "$(nproc)" --output-on-failure || status=$?
if [ $checks = failed ]; then
  echo "test: tools/check.sh failed, see above" >&2
  exit 1
fi
exit $status
