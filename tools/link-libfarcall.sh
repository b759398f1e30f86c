#!/usr/bin/env bash
# Links libfarcall.so from the Rust static library and the C parts of the client
# (docs/decisions/0002).
#
# Usage: link-libfarcall.sh libfarcall_all.a FOLDER      CC and LDFLAGS as for make. Rust cannot
# define C variadic functions, and a cdylib does not export symbols of C objects linked into it. So
# cc links the whole archive, and a version script says which symbols are the interface.
set -euo pipefail

archive=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/.."
read -r -a cc <<<"${CC:-cc}"
read -r -a last <<<"${LDFLAGS:-}" || true
map=clients/c/libfarcall.map

# The variadic entry points and whatever else is C. There may be none yet.
sources=()
for source in clients/c/src/*.c clients/gridrpc/src/*.c; do
    [ -e "$source" ] && sources+=("$source")
done

# Whoever comes second waits for the first, and finds it done.
exec 9>"$folder/.libfarcall.lock"
flock 9

# Up to date: neither the archive nor the client's C side is newer.
if [ -e "$folder/libfarcall.so.0" ] && \
    [ -z "$(find "$archive" clients/c clients/gridrpc tools/link-libfarcall.sh -type f \
        -newer "$folder/libfarcall.so.0" -print -quit)" ]; then
    exit 0
fi

options=(-shared -fPIC -O2 -std=gnu11 -Iclients/c/include -Iclients/c/src -Iclients/gridrpc/include
    -Wl,-soname,libfarcall.so.0 -Wl,-z,relro -Wl,-z,now)
# A symbol that nobody has is an error here, and not when a user loads the library.
options+=(-Wl,-z,defs)
[ -e "$map" ] && options+=("-Wl,--version-script=$map")

# Written beside and moved over: a program that has the old library mapped keeps it.
new=$folder/.libfarcall.so.new
"${cc[@]}" "${options[@]}" -o "$new" "${sources[@]}" \
    -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    -lpthread -ldl -lm "${last[@]}"
mv -f "$new" "$folder/libfarcall.so.0"
ln -sfn libfarcall.so.0 "$folder/libfarcall.so"
