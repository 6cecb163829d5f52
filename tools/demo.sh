#!/usr/bin/env bash
# From a bare Debian 12 to the report: sets up, compares the traditional with the DPU design, the
# values that public measurements support beside them, audits the claim, and prints on the last line
# where the HTML report is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/setup.sh trainyard
build/trainyard compare --audit scenarios/claim/{traditional,dpu}.json \
  scenarios/evidence/{traditional,rdma,dpu}.json --out out/demo
report=$(pwd -P)/out/demo/report.html
[ -s "$report" ] || { echo "demo: the comparison wrote no $report" >&2; exit 1; }
printf '\nReport: %s\n' "$report"
