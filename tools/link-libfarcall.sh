#!/usr/bin/env bash
# Links libfarcall.so from the Rust static library and the C parts of the client (docs/decisions/0002).
#
# Usage: link-libfarcall.sh libfarcall_all.a FOLDER      CC chooses the compiler, as for make.
# Rust cannot define C variadic functions, and a cdylib does not export symbols of C objects linked into it. So cc links
# the whole archive, and a version script says which symbols are the interface.
set -euo pipefail

archive=$1
folder=$2
cd "$(dirname "$0")/.."
read -r -a cc <<<"${CC:-cc}"
map=clients/c/libfarcall.map
mkdir -p "$folder"

# The variadic entry points and whatever else is C. There may be none yet.
sources=()
for source in clients/c/src/*.c; do
    [ -e "$source" ] && sources+=("$source")
done

options=(-shared -fPIC -O2 -std=gnu11 -Iclients/c/include -Wl,-soname,libfarcall.so.0 -Wl,-z,relro -Wl,-z,now)
[ -e "$map" ] && options+=("-Wl,--version-script=$map")

# Written beside and moved over: a program that has the old library mapped keeps it.
new=$folder/.libfarcall.so.new
"${cc[@]}" "${options[@]}" -o "$new" "${sources[@]}" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    -lpthread -ldl -lm
mv -f "$new" "$folder/libfarcall.so.0"
ln -sfn libfarcall.so.0 "$folder/libfarcall.so"
