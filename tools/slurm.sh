#!/usr/bin/env bash
# A real Slurm on this host, for tests: slurmctld, some slurmd (one for each node that it pretends
# to have) and munged. They are unpacked below build/slurm and not installed: on a machine with an
# init system the packages would start services.
#
#   slurm.sh start FOLDER [NODES [CPUS]]   NODES nodes (4) n1, n2, ... with CPUS CPUs each (64), whatever this host has. Prints
#                                          what goes in front of PATH: sbatch, squeue, srun, ... that know this Slurm, without
#                                          any other variable. Prints nothing, and ends well, where no Slurm is to be had.
#   slurm.sh stop FOLDER                   ends its jobs and all that runs of it; FOLDER may be removed then
#   slurm.sh kill FOLDER NODE              has a node die (SIGKILL) with all that runs on it
#   slurm.sh revive FOLDER NODE            has it come back, empty
#
# FOLDER keeps its configuration (slurm.conf), sockets, logs (log/) and state. Any number of them
# run side by side: ports, key and sockets are each one's own. It runs as whoever starts it, root or
# not. SLURM_CONF_EXTRA: more lines of slurm.conf, such as PreemptMode=REQUEUE. Every wait in here
# ends after a minute at most.
#
#   bin=$(tools/slurm.sh start /tmp/s) && PATH=$bin:$PATH sbatch -n 8 --wrap 'srun hostname'; tools/slurm.sh stop /tmp/s
set -euo pipefail
repository=$(realpath "$(dirname "$0")/..")
unpacked=$repository/build/slurm
source "$repository/tools/unpack.sh"

fail() {
    echo "slurm.sh: $1" >&2
    exit 1
}

# Debian's names have a suffix that alternatives hide.
program() {
    local name
    for name in "$unpacked/usr/sbin/$1-wlm" "$unpacked/usr/sbin/$1" "$unpacked/usr/bin/$1"; do
        [ ! -x "$name" ] || { echo "$name" && return 0; }
    done
    fail "there is no $1 in $unpacked: remove that folder, and it is unpacked again"
}

# What is written to is FOLDER/slurm.conf.
configure() {
    local host ports i
    host=$(hostname -s)
    read -ra ports <<<"$(free_ports $((nodes + 1)))"
    cat <<CONF
ClusterName=farcall
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
PluginDir=$(dirname "$(find "$unpacked/usr/lib" -name auth_munge.so)")
SlurmctldPort=${ports[0]}
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
TreeWidth=65533
${SLURM_CONF_EXTRA:-}
CONF
    for ((i = 1; i <= nodes; i++)); do
        echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[i]}" \
            "CPUs=$cpus RealMemory=8000 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE" \
        "OverSubscribe=YES State=UP"
}

# No control groups: they are the machine's own, and need its init system. Slurm 23 can do without;
# before, the first version's plugin touches nothing unless it is asked to.
configure_groups() {
    case $("$(program slurmctld)" -V) in
        *' '2[0-2].*) echo CgroupPlugin=cgroup/v1 ;;
        *) echo CgroupPlugin=disabled ;;
    esac
}

# Commands that need no variables: what a test hands on is PATH alone.
write_commands() {
    local name
    mkdir -p "$folder/bin"
    for name in sbatch scancel scontrol sinfo squeue srun salloc sacct; do
        printf '#!/bin/sh\nexport SLURM_CONF=%q LD_LIBRARY_PATH=%q\nexec %q "$@"\n' \
            "$folder/slurm.conf" "$LD_LIBRARY_PATH" "$(program "$name")" >"$folder/bin/$name"
        chmod 755 "$folder/bin/$name"
    done
}

start_node() {
    mkdir -p "$folder/spool.$1"
    "$(program slurmd)" -f "$SLURM_CONF" -N "$1" -d "$(program slurmstepd)"
}

# Waits for half a minute at most until a command succeeds.
eventually() {
    local until=$((SECONDS + 30))
    while [ $SECONDS -lt $until ]; do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    return 1
}

# A star behind the state is a node that does not answer.
is_up() {
    timeout 10 "$folder/bin/sinfo" -h -N -n "$1" -o %T | grep -qxE 'idle|mixed|allocated|completing'
}

all_up() {
    for ((i = 1; i <= nodes; i++)); do is_up "n$i" || return 1; done
}

start_all() {
    local i
    mkdir -m 700 -p "$folder/state" "$folder/log" "$folder/munge"
    [ -s "$folder/munge/key" ] || (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
    "$(program munged)" --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" \
        --num-threads=2 --pid-file="$folder/munged.pid" --log-file="$folder/munge/log" \
        --seed-file="$folder/munge/seed" >&2
    configure >"$SLURM_CONF"
    configure_groups >"$folder/cgroup.conf"
    write_commands
    "$(program slurmctld)" -f "$SLURM_CONF" >&2
    for ((i = 1; i <= nodes; i++)); do start_node "n$i" >&2; done
    eventually all_up
}

# The processes one of whose variables looks like this.
marked() {
    { grep -lzx -e "$1" /proc/[0-9]*/environ 2>/dev/null || true; } | cut -d/ -f3 | sort
}

# The processes of jobs, of one node or of any (.*).
in_jobs() {
    comm -12 <(marked "SLURMD_NODENAME=$1") <(marked "SLURM_CONF=$SLURM_CONF")
}

# The daemons that write this log: a node's, and one for each step on it, whose variables nobody can
# read.
logging() {
    { find /proc/[0-9]*/fd -lname "$folder/log/$1" 2>/dev/null || true; } | cut -d/ -f3
}

# Everything that runs on a node: its daemons, and the jobs' own processes.
on_node() {
    logging "$1.log"
    in_jobs "$1"
}

stop_all() {
    local file pid pids=()
    [ ! -x "$folder/bin/scancel" ] ||
        timeout 20 "$folder/bin/scancel" --full --user="$(id -un)" >/dev/null 2>&1 || true
    for ((try = 0; try < 50; try++)); do
        [ -n "$(timeout 10 "$folder/bin/squeue" -h 2>/dev/null)" ] || break
        sleep 0.1
    done
    for file in "$folder"/*.pid; do
        [ -s "$file" ] || continue
        pid=$(<"$file")
        # A number that another process has by now is none of ours.
        grep -qzxF "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" 2>/dev/null || continue
        kill "$pid" 2>/dev/null && pids+=("$pid")
    done
    for ((try = 0; try < 100; try++)); do
        [ ${#pids[@]} -gt 0 ] && kill -0 "${pids[@]}" 2>/dev/null || break
        sleep 0.1
    done
    for pid in "${pids[@]}" $(logging '*') $(in_jobs '.*'); do
        kill -9 "$pid" 2>/dev/null || true
    done
    rm -f "$folder"/*.pid "$folder"/munge.socket*
}

[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/!p}' "$0" >&2 && exit 2; }
action=$1
[ "$action" != start ] || mkdir -p "$2"
folder=$(realpath "$2")
[ ${#folder} -le 70 ] ||
    fail "$folder is too long for the sockets in it: take a folder of at most 70 characters"
need_packages "$unpacked" usr/bin/sbatch slurmctld slurmd slurm-client slurm-wlm-basic-plugins \
    munge || { [ "$action" = start ] && exit 0; } || fail "there is no Slurm"
export SLURM_CONF=$folder/slurm.conf LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(library_path "$unpacked")
case $action in
    start)
        nodes=${3:-4} cpus=${4:-64}
        for attempt in 1 2 3; do
            # Another program may have taken a port meanwhile.
            ! start_all || { echo "$folder/bin" && exit 0; }
            stop_all
        done
        fail "it does not start: see $folder/log"
        ;;
    stop) stop_all ;;
    kill)
        for pid in $(on_node "$3"); do kill -9 "$pid" 2>/dev/null || true; done
        rm -f "$folder/$3.pid"
        ;;
    revive)
        start_node "$3" >&2 && eventually is_up "$3" ||
            fail "$3 does not come back: see $folder/log"
        ;;
    *) fail "there is no $action; there are start, stop, kill and revive" ;;
esac
