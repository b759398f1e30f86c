#!/usr/bin/env bash
# A real Grid Engine on this host, for tests: sge_qmaster, and one node whose sge_execd has many
# slots, whatever this host has. They are unpacked below build/gridengine and not installed: on a
# machine with an init system the packages would start services.
#
#   gridengine.sh start FOLDER [SLOTS]   prints what goes in front of PATH: qsub, qstat, ... that know this Grid Engine, without
#                                        any other variable. Prints nothing, and ends well, where there is no package. It has one
#                                        queue, main.q, and one parallel environment, slots (1000)
#   gridengine.sh stop FOLDER            ends its jobs and all that runs of it; FOLDER may be removed then
#
# FOLDER keeps its configuration, logs (messages of spool/) and state. Any number of them run side
# by side, as the user that starts them, root or not. Every wait in here ends after a minute at most.
#
#   bin=$(tools/gridengine.sh start /tmp/g) && PATH=$bin:$PATH qsub -b y hostname; tools/gridengine.sh stop /tmp/g
set -euo pipefail
repository=$(realpath "$(dirname "$0")/..")
unpacked=$repository/build/gridengine
source "$repository/tools/unpack.sh"
host=$(hostname)

fail() {
    echo "gridengine.sh: $1" >&2
    exit 1
}

# The spooling library is looked for in the folder that the package installs it to, and nowhere
# else: without that folder in its name, it is looked for in LD_LIBRARY_PATH.
free_from_folder() {
    python3 - "$unpacked/usr/lib/gridengine" <<'PYTHON'
import pathlib, sys
old = b"/usr/lib/gridengine/%s%s"
for file in pathlib.Path(sys.argv[1]).iterdir():
    text = file.read_bytes() if file.is_file() else b""
    if old in text:
        file.write_bytes(text.replace(old, b"%s%s".ljust(len(old), b"\0")))
PYTHON
}

configure() {
    local spool=$folder/cell/spool programs=$unpacked/usr/lib/gridengine
    mkdir -p "$folder"/{bin,cell/common,execd,utilbin,lib,programs} "$spool/qmaster/job_scripts"
    ln -sfn "$programs" "$folder/utilbin/lx-amd64"
    ln -sfn "$programs" "$folder/lib/lx-amd64"
    ln -sfn "$programs" "$folder/programs/lx-amd64"
    ln -sfn "$unpacked/usr/share/gridengine/util" "$folder/util"
    cat >"$folder/cell/common/bootstrap" <<CONF
admin_user              none
default_domain          none
ignore_fqdn             false
spooling_method         classic
spooling_lib            libspoolc
spooling_params         $folder/cell/common;$spool/qmaster
binary_path             $folder/programs
qmaster_spool_dir       $spool/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
CONF
    echo "$host" >"$folder/cell/common/act_qmaster"
    echo "$host localhost" >"$folder/cell/common/host_aliases"
    sed "s#/var/spool/gridengine/execd#$folder/execd#; s/^min_\([ug]id\).*/min_\1 0/
        s/^load_report_time.*/load_report_time 00:00:01/
        s/flush_time=[0-9:]*/flush_time=00:00:01/" \
        "$unpacked/usr/share/gridengine/default-configuration" >"$folder/configuration"
}

# Commands that need no variables: what a test hands on is PATH alone.
write_commands() {
    local name
    for name in qsub qstat qdel qacct qrsh qconf qhost qmod; do
        {
            echo '#!/bin/sh'
            printf 'export SGE_ROOT=%q SGE_CELL=cell SGE_ARCH=lx-amd64 SGE_QMASTER_PORT=%q' \
                "$folder" "$SGE_QMASTER_PORT"
            printf ' SGE_EXECD_PORT=%q LD_LIBRARY_PATH=%q\n' "$SGE_EXECD_PORT" "$LD_LIBRARY_PATH"
            printf 'exec %q "$@"\n' "$unpacked/usr/lib/gridengine/$name"
        } >"$folder/bin/$name"
        chmod 755 "$folder/bin/$name"
    done
}

# Waits for half a minute at most until a command succeeds.
eventually() {
    local until=$((SECONDS + 30))
    while [ $SECONDS -lt $until ]; do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    return 1
}

fill_database() {
    local programs=$unpacked/usr/lib/gridengine
    local resources=$unpacked/usr/share/gridengine/util/resources
    "$programs/spoolinit" classic libspoolc "$folder/cell/common;$folder/cell/spool/qmaster" init &&
    "$programs/spooldefaults.bin" configuration "$folder/configuration" &&
    "$programs/spooldefaults.bin" complexes "$resources/centry" &&
    "$programs/spooldefaults.bin" usersets "$resources/usersets" &&
    "$programs/spooldefaults.bin" managers "$(id -un)"
}

# One queue with all slots, and an environment that a job of several slots names.
add_queue() {
    "$folder/bin/qconf" -sq | sed "s/^qname .*/qname main.q/; s/^hostlist .*/hostlist $host/
        s/^slots .*/slots $slots/; s/^pe_list .*/pe_list slots/
        s/^load_thresholds .*/load_thresholds NONE/
        s#^shell .*#shell /bin/sh#" >"$folder/queue"
    cat >"$folder/environment" <<CONF
pe_name            slots
slots              1000
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    \$fill_up
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
CONF
    "$folder/bin/qconf" -ssconf | sed 's/^schedule_interval .*/schedule_interval 0:0:1/
        s/^flush_submit_sec .*/flush_submit_sec 1/; s/^flush_finish_sec .*/flush_finish_sec 1/
        s/^job_load_adjustments .*/job_load_adjustments NONE/' >"$folder/scheduler"
    "$folder/bin/qconf" -as "$host" &&
    "$folder/bin/qconf" -Ap "$folder/environment" &&
    "$folder/bin/qconf" -Aq "$folder/queue" &&
    "$folder/bin/qconf" -Msconf "$folder/scheduler"
}

is_up() {
    timeout 10 "$folder/bin/qstat" -f | grep -E '^main.q@.* [0-9.]+ +lx-amd64 *$'
}

start_all() {
    read -r SGE_QMASTER_PORT SGE_EXECD_PORT <<<"$(free_ports 2)"
    export SGE_QMASTER_PORT SGE_EXECD_PORT
    configure
    write_commands
    fill_database >&2 || return 1
    "$unpacked/usr/lib/gridengine/sge_qmaster" >&2
    eventually timeout 10 "$folder/bin/qconf" -sh || return 1
    "$folder/bin/qconf" -ah "$host" >&2 || true
    "$unpacked/usr/lib/gridengine/sge_execd" >&2
    add_queue >&2 && eventually is_up
}

# The processes one of whose variables is this Grid Engine's.
marked() {
    { grep -lzxF "SGE_ROOT=$folder" /proc/[0-9]*/environ 2>/dev/null || true; } | cut -d/ -f3
}

is_empty() {
    [ -z "$(timeout 10 "$folder/bin/qstat" -u '*')" ]
}

stop_all() {
    local pid
    if [ -x "$folder/bin/qdel" ]; then
        timeout 20 "$folder/bin/qdel" -u '*' >/dev/null 2>&1 || true
        eventually is_empty || true
    fi
    for pid in $(marked); do
        [ "$pid" = $$ ] || kill "$pid" 2>/dev/null || true
    done
    for ((try = 0; try < 50; try++)); do
        [ "$(marked | grep -vcx $$)" -gt 0 ] || break
        sleep 0.1
    done
    for pid in $(marked); do
        [ "$pid" = $$ ] || kill -9 "$pid" 2>/dev/null || true
    done
}

[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/!p}' "$0" >&2 && exit 2; }
action=$1
[ "$action" != start ] || mkdir -p "$2"
folder=$(realpath "$2")
need_packages "$unpacked" usr/lib/gridengine/sge_qmaster gridengine-master gridengine-exec \
    gridengine-client gridengine-common || { [ "$action" = start ] && exit 0; } ||
    fail "there is no Grid Engine"
free_from_folder
slots=${3:-1000}
case $action in
    start)
        export SGE_ROOT=$folder SGE_CELL=cell SGE_ARCH=lx-amd64 LD_LIBRARY_PATH
        LD_LIBRARY_PATH=$(library_path "$unpacked")
        for attempt in 1 2 3; do
            # Another program may have taken a port meanwhile.
            ! start_all || { echo "$folder/bin" && exit 0; }
            stop_all
        done
        fail "it does not start: see $folder/cell/spool/qmaster/messages"
        ;;
    stop) stop_all ;;
    *) fail "there is no $action; there are start and stop" ;;
esac
