#!/usr/bin/env bash
# Installs the system packages that Farcall's build, demonstration and tests need, if any is
# missing.
#
# On a Debian-like system, as root or with sudo, apt installs them. Elsewhere it says exactly what
# to install and fails.
#
# Usage: install-packages.sh [tests]     with `tests`, also the libraries that only tests call
set -euo pipefail

missing=()

# need PACKAGE COMMAND...: the package is missing when the command fails.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

has_library() {
    # Not `grep -q`: it would close the pipe early, and ldconfig's broken pipe would look like a
    # missing library.
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | grep "[[:space:]]$1 " >/dev/null
}

# A compiler without the C library's headers and start files is of no use, so compile something.
can_compile() {
    local folder status=0
    folder=$(mktemp -d)
    printf 'int main(void) { return 0; }\n' >"$folder/main.c"
    cc -o "$folder/main" "$folder/main.c" || status=$?
    rm -rf "$folder"
    return "$status"
}

can_include() {
    printf '#include <%s>\n' "$1" | cc -E -o /dev/null -
}

can_make_environments() {
    python3 -c 'import ensurepip, venv'
}

need gcc can_compile
need libc6-dev can_compile
need g++ command -v c++
need gfortran command -v gfortran
need python3 command -v python3
need python3-venv can_make_environments
need libopenblas0-pthread has_library libopenblas.so.0
need liblapack3 has_library liblapack.so.3
if [ "${1:-}" = tests ]; then
    need curl command -v curl
    need etcd-server command -v etcd
    need openssl command -v openssl
    need openssh-client command -v ssh
    need libwrap0 has_library libwrap.so.0
    need tcsh command -v csh
    need strace command -v strace
    need valgrind command -v valgrind
    need openmpi-bin command -v mpirun
    need libopenmpi-dev command -v mpicc
    need libscalapack-openmpi-dev has_library libscalapack-openmpi.so
    need libfftw3-dev can_include fftw3.h
    need libsuitesparse-dev can_include suitesparse/umfpack.h
    # Without a JDK that is new enough, which Debian 12 does not have, the Java client is left out
    # (java.sh).
    if "${BASH_SOURCE[0]%/*}/find-jdk.sh" >/dev/null; then
        need maven command -v mvn
    fi
fi

if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

advise() {
    echo "farcall: $1" >&2
    echo "farcall: install these packages (Debian's names) and run the command again:" >&2
    echo "    apt-get install ${missing[*]}" >&2
    exit 1
}

command -v apt-get >/dev/null ||
    advise "some packages are missing, and this is no Debian-like system"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || [ -t 0 ] ||
        advise "some packages are missing, and there are no rights to install them"
    command -v sudo >/dev/null || advise "some packages are missing, and there is no sudo"
    as_root=(sudo)
fi

echo "installing: ${missing[*]}"
# Other package tools may be at work on a fresh machine: wait for their lock instead of failing.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -y)
"${apt[@]}" update -qq || advise "apt-get update failed"
"${apt[@]}" install -qq --no-install-recommends "${missing[@]}" || advise "apt-get install failed"
