#!/usr/bin/env bash
# Compiles the Fortran library, libfarcall_fortran.a and farcall.mod, and stages it with its
# sources, from which other compilers make their own: a .mod is its compiler's alone.
#
# Usage: fortran.sh STAGE      FC as for make.
set -euo pipefail

stage=$(realpath "$1")
cd "$(dirname "$0")/../clients/fortran/src"
read -r -a fortran <<<"${FC:-gfortran}"
sources=$stage/share/farcall/fortran
mkdir -p "$stage"/{lib/pkgconfig,include} "$sources"
install -C -m 644 ./* "$sources/"
install -C -m 644 ../include/*.inc "$stage/include/"
install -C -m 644 ../farcall-fortran.pc "$stage/lib/pkgconfig/"

# Up to date: no source is newer, and no header that they include.
archive=$stage/lib/libfarcall_fortran.a
if [ -e "$archive" ] && [ -e "$stage/include/farcall.mod" ] && \
    [ -z "$(find . "$stage"/include/{farcall,grpc,ninf}*.h -newer "$archive" \
        -print -quit 2>/dev/null)" ]; then
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${fortran[@]}" -c -O2 -fPIC -std=f2018 -J "$work" -o "$work/farcall_module.o" farcall.f90
for source in *.c; do
    # By the same driver, whose ISO_Fortran_binding.h says how its descriptors lie.
    "${fortran[@]}" -c -O2 -fPIC -std=gnu11 -Wall -Wextra -I "$stage/include" \
        -o "$work/${source%.c}.o" "$source"
done
rm -f "$work/new.a"
ar rcs "$work/new.a" "$work"/*.o
install -m 644 "$work/farcall.mod" "$stage/include/farcall.mod"
install -m 644 "$work/new.a" "$archive"
