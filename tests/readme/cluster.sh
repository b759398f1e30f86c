# Sourced by hidden blocks of the pages: a host `cluster` that ssh reaches, in the folder ./cluster.
# Its sshd is a real one; where there is none to be had, a shell of this host stands for it.
root=$(cd -P build/.. && pwd)
mkdir -p -m 700 cluster cluster/home cluster/run
place=$PWD/cluster
# CLUSTER_ENVIRONMENT: more variables there, NAME=VALUE with blanks between.
far="HOME=$place/home XDG_RUNTIME_DIR=$place/run ${CLUSTER_ENVIRONMENT:-}"
sshd=$("$root/tools/sshd.sh")
if [ -n "$sshd" ]; then
    for name in host key; do
        ssh-keygen -q -t ed25519 -N '' -f "$place/$name"
    done
    sshd_port=$(python -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    printf '%s\n' "Port $sshd_port" "ListenAddress 127.0.0.1" "HostKey $place/host" \
        "AuthorizedKeysFile $place/key.pub" \
        "PidFile none" "StrictModes no" "UsePAM no" "PasswordAuthentication no" \
        "PermitRootLogin yes" \
        "SetEnv $far XDG_CACHE_HOME=$place/home/.cache" >"$place/sshd.conf"
    printf '%s\n' "Host cluster second" " HostName 127.0.0.1" " Port $sshd_port" \
        " IdentityFile $place/key" " IdentitiesOnly yes" " UserKnownHostsFile $place/known" \
        " StrictHostKeyChecking accept-new" " LogLevel ERROR" >"$place/config"
    # Where root's sshd keeps those apart who are not let in yet.
    mkdir -p /run/sshd 2>/dev/null || true
    "$sshd" -D -f "$place/sshd.conf" -E "$place/log" </dev/null >/dev/null 2>&1 &
    printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$place/config" >"$place/ssh"
    for attempt in $(seq 100); do
        ssh-keyscan -T 1 -p "$sshd_port" 127.0.0.1 2>/dev/null | grep -q . && break
        sleep 0.1
    done
else
    printf '#!/bin/sh\nfor command; do :; done\ncd %s\nexec env %s sh -c "$command"\n' \
        "$place/home" "$far" >"$place/ssh"
fi
chmod 700 "$place/ssh"
# Nothing is to stay behind a page: no shared connection, and no server for long.
export FARCALL_SSH=$place/ssh FARCALL_SSH_SHARE=0 FARCALL_LINGER=10
