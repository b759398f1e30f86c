# Debian packages that are unpacked below build and not installed: on a machine with an init system
# they would start services. For tools that start what is in them; such a tool says `source`.
#
#   need_packages FOLDER PROGRAM PACKAGE...   unpacks the packages, and those that they need and this machine lacks, once, unless
#                                             FOLDER/PROGRAM is there; fails where there are none
#   library_path FOLDER                       where their libraries are
#   free_ports COUNT                          ports, none of which is in use, and none that the system gives to those who ask
#                                             for any

unpack_packages() {
    local folder=$1 package wanted=() as_root=()
    shift
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    apt-cache show "$@" >/dev/null 2>&1 ||
        "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update >&2 || return 1
    for package in $(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
        --no-breaks --no-replaces --no-enhances "$@" | grep '^lib' | sort -u); do
        # A name without a version is one that others provide.
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            [ -z "$(apt-cache show "$package" 2>/dev/null)" ] || wanted+=("$package")
    done
    (cd "$folder.new" && apt-get -qq download "$@" "${wanted[@]}" >&2 &&
        for package in *.deb; do dpkg -x "$package" . || exit 1; done && rm -f ./*.deb) || return 1
    mv "$folder.new" "$folder"
}

# The second to come waits for the first.
need_packages() {
    local folder=$1 program=$1/$2
    shift 2
    [ ! -x "$program" ] || return 0
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    mkdir -p "$(dirname "$folder")"
    (flock -w 600 9 && { [ -x "$program" ] || unpack_packages "$folder" "$@"; }) 9>"$folder.lock"
}

library_path() {
    local found
    found=$(find "$1/usr/lib" "$1/lib" -name '*.so*' -printf '%h\n' 2>/dev/null |
        grep -v '/security$' | sort -u)
    tr '\n' ':' <<<"$found" | sed 's/:$//'
}

free_ports() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys
kept = []
while len(kept) < int(sys.argv[1]):
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", random.randrange(15000, 32000)))
    except OSError:
        continue
    kept.append(held)
print(*(held.getsockname()[1] for held in kept))
PYTHON
}
