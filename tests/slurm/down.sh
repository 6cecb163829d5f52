#!/usr/bin/env bash
# Ends the cluster that up.sh started in a folder and everything that runs on it: whatever has the
# folder in its environment, as up.sh and the test put it there.
#
#   down.sh FOLDER
set -uo pipefail
folder=$(realpath -m "$1")

if watch=$(cat "$folder/watch.pid" 2>/dev/null) && [ "$watch" != $$ ]; then
  kill "$watch" 2>/dev/null
fi
for ((i = 0; i < 50; ++i)); do
  left=
  # shellcheck disable=SC2013  # words are what there is
  for process in $(grep -lzxF "TRAINYARD_TEST_CLUSTER=$folder" /proc/[0-9]*/environ 2>/dev/null); do
    process=${process#/proc/}
    process=${process%/environ}
    if [ "$process" != $$ ] && kill -9 "$process" 2>/dev/null; then left=yes; fi
  done
  [ -n "$left" ] || exit 0
  sleep 0.1
done
echo "down: processes of $folder do not end" >&2
exit 1
