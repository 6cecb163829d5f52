#!/usr/bin/env bash
# Style, lints, clang-tidy, the sanitized tests, and whether sanitized and release builds agree.
# Runs all of them; exits non-zero if one failed.
#
#   tools/check.sh [lint] [format] [tidy] [sanitize] [agree]    (all by default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=$(nproc)
cache=build/tidy-cache

lint() { bash tools/lint.sh; }

# The C++ files of the project that match a name pattern, from the root.
sources() {
  find . \( -name '.?*' -o -path './build*' -o -path './out*' -o -name node_modules \) -prune -o \
    -name "$1" -printf '%P\n' | sort
}

format() { sources '*.[ch]pp' | xargs -P "$jobs" -n 16 clang-format-14 --dry-run -Werror; }

# Prints "KEY SOURCE" for each source outside tests/. The key is a hash of all that the verdict
# depends on: the source, those of our headers that it includes (as the build recorded them), the
# settings of tidy and of the compiler.
tidy_keys() {
  local settings source hash
  declare -A hashes=()
  settings=$(cat .clang-tidy CMakeLists.txt | sha256sum)
  while read -r hash source; do
    hashes[$source]=$hash
  done < <(sources '*.[ch]pp' | xargs sha256sum)
  ninja -C build -t deps |
    awk -v root="$PWD/" '
      /^[^ ].*: #deps/ { if (line) print line; line = ""; next }
      { sub(/^ */, "") }
      index($0, root) == 1 && !index($0, root "build/") { line = line substr($0, length(root) + 1) "\t" }
      END { if (line) print line }' |
    while IFS=$'\t' read -r -a files; do
      source=${files[0]}
      # Not the tests, the generated sources, nor what was deleted since it was built.
      [[ $source != tests/* && $source == *.cpp && -e $source ]] || continue
      for file in "${files[@]}"; do printf '%s %s\n' "${hashes[$file]:-}" "$file"; done |
        sha256sum - <(printf %s "$settings") | sha256sum | sed "s| .*| $source|"
    done
}

# Shows nothing but findings, whole and after one another although several sources run at a time.
tidy_one() {
  local key=$1 source=$2 output
  # The build's flags are GCC's; its warnings are the build's affair.
  if output=$(clang-tidy-14 -p build --quiet --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-error "$source" 2>&1); then
    touch "$cache/$key"
  else
    grep -v ' warnings\? generated\.$' <<<"$output"
    return 1
  fi
}

tidy() {
  local keys unknown todo key source
  mkdir -p "$cache"
  keys=$(tidy_keys) || return 1
  unknown=$(sources '*.cpp' | grep -v '^tests/' |
    comm -23 - <(cut -d ' ' -f 2 <<<"$keys" | sort))
  [ -z "$unknown" ] || { echo "check: no part of the build: $unknown" >&2; return 1; }
  todo=$(while read -r key source; do
    [ -e "$cache/$key" ] || printf '%s %s\n' "$key" "$source"
  done <<<"$keys")
  [ -n "$todo" ] || return 0
  echo "check: tidying $(wc -l <<<"$todo") sources" >&2
  export -f tidy_one
  export cache
  xargs -P "$jobs" -L 1 bash -c 'tidy_one "$@"' tidy_one <<<"$todo"
}

# Tests named …Slow… are left to the plain build.
sanitize() {
  bash tools/setup.sh --sanitize || return 1
  ctest --test-dir build-asan -j "$jobs" -E Slow --output-on-failure >build-asan/ctest.log 2>&1 &&
    { grep 'tests passed' build-asan/ctest.log; return 0; }
  grep -vE '^ *Start |   Passed ' build-asan/ctest.log
  return 1
}

# Result for result, to the byte, builds of different optimization find the same: nothing depends
# on what the standard leaves open. Where a result comes from may differ.
agree() {
  local scenario sets failed=0
  bash tools/setup.sh trainyard && bash tools/setup.sh --sanitize result_json || return 1
  while read -r scenario sets; do
    # shellcheck disable=SC2046,SC2086  # a word for each
    diff <(build/trainyard run "scenarios/scale/$scenario.json" --format json \
      $(printf -- '--set %s ' $sets) | without_provenance) \
      <(build-asan/tests/result_json "scenarios/scale/$scenario.json" $sets | without_provenance) ||
      { echo "check: $scenario with $sets: < release, > sanitized" >&2; failed=1; }
  done <<'END'
random-4096 jobs.0.workload.messages=256
gpt3-1024 cluster.servers=8 jobs.0.workload.global_batch=32 engine.fold=off
gpt3-1024-tp cluster.servers=32 jobs.0.workload.global_batch=128
ring-1024-steps cluster.servers=4
END
  return $failed
}
without_provenance() { sed '/^  "provenance": {/,/^  }/d'; }

bash tools/setup.sh --with-checks
[ $# -gt 0 ] || set -- lint format tidy sanitize agree
failed=()
for step in "$@"; do
  started=$SECONDS
  verdict=passed
  "$step" || { verdict=FAILED; failed+=("$step"); }
  echo "check: $step $verdict after $((SECONDS - started)) s" >&2
done
[ ${#failed[@]} -eq 0 ] || { echo "check: failed: ${failed[*]}" >&2; exit 1; }
