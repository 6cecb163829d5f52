#!/usr/bin/env bash
# Makes this checkout ready: installs what is missing (Debian 12 or a relative of it), configures and
# builds into build/. Does nothing that is done already. Progress and errors go to stderr, everything
# that the called programs print to setup.log in the build folder.
#
#   tools/setup.sh [--with-checks] [--sanitize | --fuzz] [TARGET…]    (targets of the build; all by default)
#
# The chart library of the HTML report comes by npm, as package-lock.json pins it. --with-checks also
# installs what tools/check.sh, tools/bench.sh, the browser tests and tests/slurm need. --sanitize builds with ASan and UBSan into
# build-asan/, without the command line: its headers take the better part of a minute each there.
# --fuzz installs clang and builds the fuzzers of tools/fuzz.sh into build-fuzz/.
# With TRAINYARD_NO_INSTALL=1 nothing is ever installed: for machines that get packages another way.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$root/build
settings=()
modules=build npm_settings=(--omit=dev)
started=$SECONDS

has() { # whether there is a command of one of these names
  local name
  for name in "$@"; do ! command -v "$name" >/dev/null || return 0; done
  return 1
}

packages=(g++ cmake ninja-build pkg-config ccache git ca-certificates libsimgrid-dev
  libboost-graph-dev nlohmann-json3-dev libfmt-dev libcli11-dev libvalijson-dev libgtest-dev
  libgmock-dev libbenchmark-dev libssl-dev libmuparser-dev libsqlite3-dev zlib1g-dev
  protobuf-compiler libprotobuf-dev)
# Debian's npm cannot stand beside a node of another origin: only where there is none.
has npm || packages+=(nodejs npm)
while [[ ${1:-} == --* ]]; do
  case $1 in
    --with-checks)
      packages+=(clang-format-14 clang-tidy-14 python3
        slurmctld slurmd slurm-client munge parallel shellcheck)
      modules=all npm_settings=()
      has chromium chromium-browser google-chrome || packages+=(chromium)
      ;;
    --sanitize) build=$root/build-asan settings=(-D TRAINYARD_SANITIZE=ON -D TRAINYARD_CLI=OFF) ;;
    --fuzz)
      packages+=(clang-14 libclang-rt-14-dev)
      build=$root/build-fuzz settings=(-D TRAINYARD_FUZZ=ON -D CMAKE_CXX_COMPILER=clang++-14)
      ;;
    *) echo "usage: tools/setup.sh [--with-checks] [--sanitize | --fuzz] [TARGET…]" >&2; exit 2 ;;
  esac
  shift
done
log=$build/setup.log

exec 3>&2  # the caller's stderr, also where a command's output goes to the log
say() { printf 'setup: %s\n' "$*" >&3; }
die() { say "$@"; exit 1; }

# Runs a command with its output in the log; where it fails, shows the end of that output and ends.
logged() {
  local what=$1 from
  shift
  from=$(($(wc -c <"$log") + 1))
  printf '$ %s\n' "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null && return
  tail -c "+$from" "$log" | tail -n 40 >&2
  die "$what (the last lines are above, all of it is in $log)"
}

missing_packages() {
  # One line per installed package; what is asked for and not listed is missing.
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    grep -qxF "installed $package" <<<"$installed" || printf '%s\n' "$package"
  done
}

install_packages() {
  local as_root=() missing
  [ -z "${TRAINYARD_NO_INSTALL:-}" ] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die "this is no Debian-like system (no apt-get): install the equivalents of ${packages[*]}," \
      "then run again with TRAINYARD_NO_INSTALL=1"
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "cannot install ${missing[*]}: neither root nor sudo; have them installed, then run again"
    as_root=(sudo)
    # Without a terminal sudo must not wait for a password that nobody can type.
    { [ -t 0 ] && sudo -v; } || sudo -n true 2>/dev/null ||
      die "cannot install ${missing[*]}: sudo needs a password; have them installed, then run again"
  fi
  # Of services only the programs are wanted: nothing is to start, with systemd or without.
  # shellcheck disable=SC2016  # for the shell of root
  local quietly='policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
      trap "rm -f $policy" EXIT
      trap "exit 1" HUP INT TERM
      printf "#!/bin/sh\nexit 101\n" >$policy && chmod 755 $policy
    fi
    "$@"'
  as_root+=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C sh -c "$quietly" sh apt-get
    -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  say "installing ${#missing[@]} packages: ${missing[*]}"
  # An update that fails in part may still do: the installation decides.
  "${as_root[@]}" update >>"$log" 2>&1 </dev/null || say "apt-get update failed, see $log"
  "${as_root[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    die "the installation failed: no network, no room, or not Debian 12?" \
      "$(grep '^E: ' "$log" | tail -n 1) (all of it is in $log)"
}

# The chart library, and with --with-checks all that package-lock.json pins. A stamp says what is there.
install_modules() {
  local stamp=$root/node_modules/.trainyard lock have=
  lock=$(sha256sum <"$root/package-lock.json")
  [ ! -e "$stamp" ] || have=$(<"$stamp")
  case $have in "all $lock" | "$modules $lock") return 0 ;; esac
  if [ -n "${TRAINYARD_NO_INSTALL:-}" ]; then
    [ -e "$root/node_modules/echarts" ] ||
      die "node_modules is missing: run npm ci --ignore-scripts in $root, then this again"
    return 0
  fi
  say "installing the chart library"
  logged "npm ci failed: no network?" npm ci --prefix "$root" --ignore-scripts --no-audit --no-fund \
    "${npm_settings[@]}"
  printf '%s' "$modules $lock" >"$stamp"
}

configure() {
  local cache=$build/CMakeCache.txt fresh=()
  if [ -e "$cache" ]; then
    # A folder that was copied, moved or made by another generator is of no use to CMake.
    if grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" &&
      grep -qxF CMAKE_GENERATOR:INTERNAL=Ninja "$cache"; then
      [ ! -e "$build/build.ninja" ] || return 0  # ninja itself configures again where it must
    else
      fresh=(--fresh)
    fi
  fi
  say "configuring $(basename "$build")"
  logged "the configuration failed" cmake "${fresh[@]}" -S "$root" -B "$build" -G Ninja \
    "${settings[@]}"
}

# A line for each tenth of a long build.
compile() {
  local line tenths=0
  cmake --build "$build" -j "$(nproc)" ${1:+--target "$@"} 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    if ((BASH_REMATCH[2] > 20 && BASH_REMATCH[1] * 10 / BASH_REMATCH[2] > tenths)); then
      tenths=$((BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
      say "built ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} after $((SECONDS - started)) s"
    fi
  done
}

if ! { mkdir -p "$build" && touch "$log"; } 2>/dev/null; then
  die "cannot write to $build: made by another user, or a read-only disk"
fi
: >"$log"
install_packages
install_modules
configure
say "building $(basename "$build") with $(nproc) jobs"
logged "the build failed" compile "$@"
say "ready after $((SECONDS - started)) s"
