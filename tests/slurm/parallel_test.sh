#!/usr/bin/env bash
# Shards under GNU parallel, merged: the table of the whole sweep, byte for byte.
#
#   parallel_test.sh TRAINYARD SOURCES    exits 77 where there is no GNU parallel
set -euo pipefail
trainyard=$(realpath "$1") sources=$(realpath "$2")

parallel --version 2>/dev/null | grep -q '^GNU parallel' ||
  { echo "skipped: there is no GNU parallel (tools/setup.sh --with-checks)"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/ty-parallel.XXXXXX")
running=
end() {
  [ -z "$running" ] || kill "$running" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM HUP
cd "$folder"
export HOME=$folder  # where it keeps files of its own

varied=(--set cluster.servers=8 --axis jobs.0.workload.global_batch=64:376:+8)
scenario=$sources/scenarios/scale/gpt3-1024.json
"$trainyard" sweep run "$scenario" "${varied[@]}" --out whole --progress never >/dev/null
[ "$(wc -l <whole/sweep.csv)" = 41 ]
# The first that begins says what the sweep is; they begin at once.
seq 0 3 | parallel --will-cite -j 2 "$trainyard" sweep run "$scenario" "${varied[@]}" --out parts \
  --shard {}/4 -j 1 --progress never &
running=$!
wait "$running"
running=
"$trainyard" sweep merge parts --complete >/dev/null
cmp whole/sweep.csv parts/sweep.csv
ls parts/shard-000{0,1,2,3}-of-0004.jsonl
