#!/usr/bin/env bash
# A sweep of 500 variants on a Slurm of four nodes, of which two are lost midway: one dies, one is
# cut off while its processes hold their files. Its table must be that of an undisturbed sweep on
# this machine. The names in it are as bad as names get, and must be no more than names.
#
#   sweep_test.sh TRAINYARD SOURCES    exits 77 where there is no Slurm to start
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
trainyard=$(realpath "$1") sources=$(realpath "$2")

skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root can start Slurm's daemons"
for program in munged slurmctld slurmd sbatch; do
  command -v "$program" >/dev/null || skip "there is no $program (tools/setup.sh --with-checks)"
done
getent hosts "$(hostname -s)" >/dev/null || skip "the name of this host has no address"

folder=$(mktemp -d "${TMPDIR:-/tmp}/ty-slurm.XXXXXX")
end() {
  local status=$?
  trap '' INT TERM HUP
  [ $status = 0 ] || tail -n 40 "$folder"/log/slurmctld.log "$out"/slurm/*.out || true
  bash "$here/down.sh" "$folder" || status=1
  rm -rf "$folder"
  exit $status
}
trap end EXIT
trap 'exit 1' INT TERM HUP

begun=$SECONDS
say() { printf '%3d s: %s\n' $((SECONDS - begun)) "$*"; }
fail() { say "FAILED: $*"; exit 1; }
# Waits until a condition holds, at most so many seconds.
await() {
  local patience=$1 end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "not within $patience s: $*"
    sleep 0.1
  done
}

mkdir "$folder/it's"
cd "$folder/it's"
bad=$'$(touch pwned) `touch pwned` "; touch pwned #\n#SBATCH --array=0 hetjob & <img src=x>'
out="$folder/it's/$bad"
cat >sweep.json <<'END'
{"name": "</script><img src=x onerror=alert(1)> $(touch pwned)\n\"; touch pwned; hetjob '`touch pwned`",
 "scenario": "scenario.json", "seeds": 10,
 "axes": [{"path": "jobs.0.workload.global_batch", "from": 64, "to": 260, "step": 4}]}
END
cat >scenario.json <<END
{"extends": "$sources/scenarios/scale/gpt3-1024.json",
 "engine": {"fold": "off"}, "cluster": {"servers": 16}}
END

bash "$here/up.sh" "$folder" 4 $$
export SLURM_CONF=$folder/slurm.conf
say "four nodes are up"

# shellcheck disable=SC2016  # nobody is to expand it
env TRAINYARD_TEST_CLUSTER="$folder" "$trainyard" sweep submit sweep.json --slurm --out "$out" \
  --partition test --time 10 --sbatch 'comment=$(touch pwned) "two words"' >said
cat said
array=$(sed -n 's/^job \([0-9]*\): an array of 16 shards$/\1/p' said)
merge=$(sed -n 's/^job \([0-9]*\): merges.*/\1/p' said)
if [ -z "$array" ] || [ -z "$merge" ]; then fail "not 16 shards, four for each node, and a merge"; fi
# shellcheck disable=SC2016
scontrol -o show job "$merge" | grep -qF ' Comment=$(touch pwned) "two words" ' ||
  fail "an option did not come through: $(scontrol show job "$merge")"
! "$trainyard" sweep submit sweep.json --slurm --out "$out" 2>said || fail "submitted twice"
grep -q "job $array of this folder is in the queue yet" said || fail "$(cat said)"

# The processes of a node's tasks: of the program, its simulations among them.
tasks_on() {
  local process
  # shellcheck disable=SC2013  # words are what there is
  for process in $(grep -lzxF "TRAINYARD_TEST_CLUSTER=$folder" /proc/[0-9]*/environ 2>/dev/null); do
    if grep -qzxF "SLURMD_NODENAME=$1" "$process" && grep -qz '^SLURM_ARRAY_TASK_ID=' "$process" &&
      [ "$(readlink "${process%environ}exe")" = "$trainyard" ]; then
      process=${process#/proc/}
      echo "${process%/environ}"
    fi
  done 2>/dev/null
}
environment_of() { sed -z -n "s/^$2=//p" "/proc/$1/environ" | tr -d '\0'; }
parent_of() { sed -n 's/^PPid:\t//p' "/proc/$1/status"; }
# A zombie is gone, too.
is_gone() { ! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null; }
# The task whose simulations the others are.
first_task_on() {
  local process
  for process in $(tasks_on "$1"); do
    if [ "$(cat "/proc/$(parent_of "$process")/comm")" = slurmstepd ]; then echo "$process"; fi
  done 2>/dev/null
}
shard_file() { printf '%s/shard-%04d-of-0016.%s.jsonl' "$out" "$1" "$2"; }
rows_of() {
  local file
  file=$(shard_file "$1" "$2")
  [ ! -e "$file" ] || wc -l <"$file"
}
# Whether a task on the node has begun and is far from its end: a shard has some 31 variants.
is_midway() {
  local task rows
  task=$(first_task_on "$1")
  [ -n "$task" ] || return 1
  rows=$(rows_of "$(environment_of "$task" SLURM_ARRAY_TASK_ID)" "$array.0")
  [ "${rows:-0}" -ge 3 ] && [ "$rows" -le 20 ]
}
# Ends the daemons of a node, and sends its tasks a signal: KILL as when it loses its power, STOP as
# when it hangs or nobody reaches it.
declare -A lost=() task_of=()
lose_node() {
  local task daemon
  await 60 is_midway "$1"
  task=$(first_task_on "$1")
  daemon=$(parent_of "$task")
  lost[$1]=$(environment_of "$task" SLURM_ARRAY_TASK_ID)
  task_of[$1]=$task
  kill -9 "$(cat "$folder/slurmd.$1.pid")" "$daemon"
  # Not stopped while its parent dies: the kernel would send it SIGHUP.
  await 10 is_gone "$daemon"
  kill "-$2" "$task"
  say "node $1 is lost with shard ${lost[$1]} at $(rows_of "${lost[$1]}" "$array.0") rows"
}

lose_node n2 KILL
lose_node n3 STOP
"$trainyard" sweep status "$out" >said
head -n 6 said
grep -q "^Slurm job $array (array): .*RUNNING" said || fail "status says nothing of the array"
grep -q "^Slurm job $merge (merge): 1 PENDING" said || fail "status says nothing of the merge"

"$trainyard" sweep run sweep.json --out undisturbed --progress never >/dev/null
say "the undisturbed sweep is done here"
state_of() { scontrol -o show job "$1" | grep -o 'JobState=[A-Z_]*' | sort | uniq -c; }
has_ended() { [[ $(state_of "$merge") =~ (COMPLETED|FAILED|CANCELLED) ]]; }
await 200 has_ended
say "Slurm is done"

[[ $(state_of "$array") =~ ^\ *16\ JobState=COMPLETED$ ]] || fail "the shards: $(state_of "$array")"
[[ $(state_of "$merge") =~ COMPLETED ]] || fail "the merge: $(scontrol show job "$merge")"
[ "$(wc -l <undisturbed/sweep.csv)" = 501 ] || fail "the undisturbed sweep has not 500 variants"
cmp undisturbed/sweep.csv "$out/sweep.csv" || fail "the tables differ"
for node in n2 n3; do
  shard=${lost[$node]}
  grep -q "^shard $shard of 16 on n[14], .* restart 1$" "$out/slurm/run-${array}_$shard.out" ||
    fail "shard $shard was not started again elsewhere"
  [ "$(rows_of "$shard" "$array.1")" -gt 0 ] || fail "the second task of shard $shard did nothing"
done
# What the first task had done was not done again.
first=$(rows_of "${lost[n2]}" "$array.0") second=$(rows_of "${lost[n2]}" "$array.1")
all=$(cat "$(shard_file "${lost[n2]}" "$array.0")" "$(shard_file "${lost[n2]}" "$array.1")" |
  grep -o '^{"id":"[0-9a-f]*"' | sort -u | wc -l)
[ "$((first + second))" = "$all" ] || fail "$first and $second rows for $all variants"
say "shards ${lost[*]} were started again and went on where they were: $first + $second variants"

# The node that was cut off comes back and works on, although its shard is done.
! is_gone "${task_of[n3]}" || fail "the task that was cut off is gone"
is_gone "${task_of[n2]}" || fail "the task that was killed is not"
before=$(rows_of "${lost[n3]}" "$array.0")
kill -CONT "${task_of[n3]}"
await 60 is_gone "${task_of[n3]}"
[ "$(rows_of "${lost[n3]}" "$array.0")" -gt "$before" ] || fail "the task that was cut off did nothing"
"$trainyard" sweep merge "$out" --complete >/dev/null
cmp undisturbed/sweep.csv "$out/sweep.csv" || fail "the tables differ after all"
[ -z "$(find "$folder" -name pwned)" ] || fail "a name was taken for a command"
say "the task that was cut off came back and harmed nothing"
