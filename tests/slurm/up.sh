#!/usr/bin/env bash
# Starts a Slurm of several nodes with a CPU each on this machine: loopback only, a MUNGE key and
# socket of its own, everything in one folder. Needs root, no systemd, and no settings in /etc.
# Nothing of it outlives the process OWNER; down.sh ends it sooner.
#
#   up.sh FOLDER NODES OWNER    (then SLURM_CONF=FOLDER/slurm.conf for Slurm's commands)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
folder=$(realpath "$1") nodes=$2 owner=$3
host=$(hostname -s)
memory=$(($(awk '/MemTotal/ {print int($2 / 1024)}' /proc/meminfo) * 8 / 10 / nodes))

die() { echo "up: $*" >&2; exit 1; }

# The first of so many ports that nobody listens on.
free_ports() {
  local count=$1 try base port taken
  for try in $(seq 0 99); do
    base=$((20000 + ($$ * 16 + try * 1600) % 12000))
    taken=
    for port in $(seq "$base" $((base + count - 1))); do
      if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then taken=yes; fi
    done
    [ -n "$taken" ] || { echo "$base"; return; }
  done
  die "no free ports"
}

write_settings() {
  local port=$1 i
  cat <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/munge.socket,cred_expire=10
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=6
SlurmctldTimeout=10
KillWait=2
MinJobAge=600
MailProg=/bin/true
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
END
  for i in $(seq 1 "$nodes"); do
    echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=1" \
      "RealMemory=$memory State=UNKNOWN"
  done
  echo "PartitionName=test Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
}

start() {
  kill -0 "$owner" || die "nobody waits for it any more"
  env TRAINYARD_TEST_CLUSTER="$folder" "$@" </dev/null >>"$folder/log/start.log" 2>&1
}

chmod 755 "$folder"
mkdir -p "$folder"/{state,log,spool,munge}
chmod 755 "$folder/munge"
head -c 128 /dev/urandom >"$folder/munge/munge.key"
chmod 600 "$folder/munge/munge.key"
port=$(free_ports $((nodes + 1)))
write_settings "$port" >"$folder/slurm.conf"
export SLURM_CONF=$folder/slurm.conf

# Where the owner is killed in a way that it cannot clean up after.
(
  exec </dev/null >/dev/null 2>&1
  while kill -0 "$owner" && [ -d "$folder" ]; do sleep 1; done
  exec bash "$here/down.sh" "$folder"
) &
echo $! >"$folder/watch.pid"

start munged --key-file="$folder/munge/munge.key" --socket="$folder/munge/munge.socket" \
  --pid-file="$folder/munge/munged.pid" --log-file="$folder/munge/munged.log" \
  --seed-file="$folder/munge/munged.seed" --num-threads=2 --force
start slurmctld -c -f "$SLURM_CONF"
for i in $(seq 1 "$nodes"); do
  mkdir "$folder/spool/n$i"
  start slurmd -N "n$i" -f "$SLURM_CONF"
done
for ((i = 0; i < 100; ++i)); do
  idle=$(sinfo -h -t idle -o %D 2>/dev/null || true)
  [ "$idle" != "$nodes" ] || exit 0
  sleep 0.2
done
tail -n 20 "$folder"/log/*.log >&2
die "the nodes did not come up"
