#!/usr/bin/env bash
# Fuzzes the readers of traces with libFuzzer, ASan and UBSan: bytes are whatever they are, and a
# reader reads them or refuses them. Exits 1 where one did something else, and says how to see it.
#
#   tools/fuzz.sh [SECONDS for each, 600 by default] [NAME…]    (all by default: jsonl, goal, …)
#
# Begins from tests/fuzz/corpus/NAME and what earlier runs found new, which is kept in out/fuzz/NAME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=600
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi
bash tools/setup.sh --fuzz
if [ $# -eq 0 ]; then
  mapfile -t names < <(find build-fuzz/tests/fuzz -maxdepth 1 -name 'fuzz_*' -type f -printf '%f\n' |
    sed 's/^fuzz_//' | sort)
  set -- "${names[@]}"
fi

findings=0 summary=()
for name in "$@"; do
  program=build-fuzz/tests/fuzz/fuzz_$name
  [ -x "$program" ] || { echo "fuzz: there is no target $name" >&2; exit 2; }
  work=out/fuzz/$name found=out/fuzz/$name.findings
  mkdir -p "$work" "$found"
  options=(-max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -max_len=65536
    -print_final_stats=1 -artifact_prefix="$found/")
  [ ! -e "tests/fuzz/$name.dict" ] || options+=(-dict="tests/fuzz/$name.dict")
  echo "fuzz: $name for $seconds s" >&2
  verdict=nothing
  if ! "$program" "${options[@]}" "$work" "tests/fuzz/corpus/$name" >"$found/log" 2>&1; then
    verdict="A FINDING"
    findings=$((findings + 1))
    grep -E 'ERROR|runtime error|terminate|what\(\)|SUMMARY|Test unit written' "$found/log" >&2 ||
      tail -n 20 "$found/log" >&2
    unit=$(sed -n 's/.*Test unit written to //p' "$found/log" | tail -n 1)
    echo "fuzz: $program $unit shows it again; mended, it goes to tests/fuzz/corpus/$name" >&2
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$found/log" | tail -n 1)
  summary+=("$(printf '%-12s %12s runs %7s edges   %s' "$name" "${runs:-?}" "${edges:-?}" "$verdict")")
done
printf '%s\n' "${summary[@]}"
[ "$findings" = 0 ]
