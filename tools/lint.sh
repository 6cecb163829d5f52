#!/usr/bin/env bash
# The rules that no compiler checks: which folder may include which, which file may know which
# library, and how long a source file may be. Prints each violation; exits 1 if there is one.
#
#   tools/lint.sh [ROOT]
set -euo pipefail
cd "${1:-"$(dirname "${BASH_SOURCE[0]}")/.."}"

mapfile -t files < <(find . \
  \( -name '.?*' -o -path './build*' -o -path './out*' -o -name node_modules \) -prune -o -type f \
  \( -name '*.[ch]pp' -o -name '*.sh' -o -name '*.js' -o -name '*.mjs' -o -name '*.py' \
  -o -name '*.cmake' -o -name CMakeLists.txt \) -printf '%P\n' | sort)
[ ${#files[@]} -gt 0 ] || { echo "lint: no source files under $PWD" >&2; exit 1; }

awk -v max_lines=500 '
function fail(line, text) { printf "%s:%d: %s\n", FILENAME, line, text; failed = 1 }
function too_long() { if (lines > max_lines) printf "%s: %d lines, at most %d\n", last, lines, max_lines }

BEGIN {
  # What the sources of a folder may include.
  split("sim models topologies reports tools tests", folders)
  for (i in folders) known[folders[i]] = 1
  allowed["sim"] = " sim "
  allowed["models"] = " models sim "
  allowed["topologies"] = " topologies sim "
  allowed["reports"] = " reports sim "
  allowed["tools"] = " tools reports topologies models sim "

  # Which sources may include the headers of a library; tests may use any.
  only["simgrid"] = only["xbt"] = "^sim/simgrid_[^/]*$"
  only["nlohmann"] = "^sim/json(_stream)?[.][ch]pp$"
  only["CLI"] = "^tools/"
  only["muParser.h"] = "^tools/sweep/expression[.]cpp$"
  only["sqlite3.h"] = "^tools/sweep/table[.]cpp$"
  only["google/protobuf"] = only["chakra.pb.h"] = "^models/workloads/trace_chakra[^/]*$"
  only["valijson"] = "^tests/"
  only["gtest"] = only["gmock"] = only["benchmark"] = only["boost"] = "^tests/"
}

FNR == 1 {
  if (lines > max_lines) failed = 1
  too_long()
  last = FILENAME
  folder = FILENAME
  sub("/.*", "", folder)
}
{ lines = FNR }

/^[ \t]*#[ \t]*include[ \t]*["<]/ && FILENAME ~ /[.][ch]pp$/ && folder != "tests" {
  header = $0
  sub(/^[^"<]*["<]/, "", header)
  sub(/[">].*/, "", header)
  top = header
  sub("/.*", "", top)
  if (known[top]) {
    if (index(allowed[folder], " " top " ") == 0) fail(FNR, folder " must not include " header)
  } else if ($0 ~ /"/) {
    fail(FNR, "\"" header "\": name our headers from the root (\"sim/error.hpp\"), others in <>")
  }
  for (library in only)
    if (index(header "/", library "/") == 1 && FILENAME !~ only[library])
      fail(FNR, "only " only[library] " may include " header)
}

END {
  if (lines > max_lines) failed = 1
  too_long()
  exit failed
}
' "${files[@]}"
