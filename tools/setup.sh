#!/usr/bin/env bash
# Makes this checkout ready: installs what is missing (Debian 12 or a relative of it), configures and
# builds into build/. Does nothing that is done already. Progress and errors go to stderr, everything
# that the called programs print to setup.log in the build folder.
#
#   tools/setup.sh [--with-checks] [--sanitize] [TARGET…]    (targets of the build; all by default)
#
# --with-checks also installs what tools/check.sh and tools/bench.sh need. --sanitize builds with ASan and UBSan into
# build-asan/, without the command line: its headers take the better part of a minute each there.
# With TRAINYARD_NO_INSTALL=1 nothing is ever installed: for machines that get packages another way.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$root/build
settings=()
started=$SECONDS

packages=(g++ cmake ninja-build pkg-config ccache git ca-certificates libsimgrid-dev
  libboost-graph-dev nlohmann-json3-dev libfmt-dev libcli11-dev libvalijson-dev libgtest-dev
  libgmock-dev libbenchmark-dev libssl-dev)
while [[ ${1:-} == --* ]]; do
  case $1 in
    --with-checks) packages+=(clang-format-14 clang-tidy-14 python3) ;;
    --sanitize) build=$root/build-asan settings=(-D TRAINYARD_SANITIZE=ON -D TRAINYARD_CLI=OFF) ;;
    *) echo "usage: tools/setup.sh [--with-checks] [--sanitize] [TARGET…]" >&2; exit 2 ;;
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
  as_root+=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o DPkg::Lock::Timeout=300
    -o Acquire::Retries=3)
  say "installing ${#missing[@]} packages: ${missing[*]}"
  # An update that fails in part may still do: the installation decides.
  "${as_root[@]}" update >>"$log" 2>&1 </dev/null || say "apt-get update failed, see $log"
  "${as_root[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    die "the installation failed: no network, no room, or not Debian 12?" \
      "$(grep '^E: ' "$log" | tail -n 1) (all of it is in $log)"
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
configure
say "building $(basename "$build") with $(nproc) jobs"
logged "the build failed" compile "$@"
say "ready after $((SECONDS - started)) s"
