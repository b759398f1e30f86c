#!/usr/bin/env bash
# Prints where an sshd is: the system's own, or one that is unpacked below build/sshd. It is not
# installed: on a machine with an init system the package would open port 22. Prints nothing where
# there is none to be had. Run by root it keeps those who are not let in yet apart as the user sshd,
# whom the package would make: so does this.
set -euo pipefail
cd "$(dirname "$0")/.."

own=build/sshd/usr/sbin/sshd
find_one() {
    local place
    for place in /usr/sbin/sshd "$own"; do
        [ -x "$place" ] && realpath "$place" && return 0
    done
    return 1
}

make_user() {
    [ "$(id -u)" -ne 0 ] || has_user ||
        flock tools useradd --system --no-create-home --home-dir /run/sshd \
            --shell /usr/sbin/nologin sshd >&2 || has_user
}

has_user() {
    getent passwd sshd >/dev/null
}

unpack() {
    mkdir -p build/sshd
    (cd build/sshd && apt-get -qq download openssh-server &&
        dpkg -x openssh-server_*.deb . && rm -f ./*.deb) >&2
}

find_one && { make_user || true; } && exit 0
command -v apt-get >/dev/null || exit 0
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
# Whoever comes second waits for the first.
mkdir -p build
(
    flock -w 600 9
    find_one >/dev/null || unpack || {
        "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update >&2 && unpack
    }
) 9>build/sshd.lock || exit 0
make_user || true
find_one || true
