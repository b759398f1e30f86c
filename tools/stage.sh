#!/usr/bin/env bash
# Stages what was compiled, as if the folder were a prefix: bin, lib, libexec, include, share.
#
# Usage: stage.sh STAGE PRODUCTS     libfarcall.so is in STAGE/lib already; PRODUCTS is cargo's
# folder of one profile.
set -euo pipefail
cd "$(dirname "$0")/.."

stage=$1
products=$2
mkdir -p "$stage"/{bin,lib,libexec,include,share/farcall/routines,wheels}

# A running binary cannot be written to; install replaces it instead, and only if it differs (-C),
# so that what was made from it stays up to date.
install -C -m 755 "$products/farcall" "$stage/bin/farcall"
# What is brought to hosts that lack it: without what debuggers read.
if [ "$stage/bin/farcall" -nt "$stage/libexec/farcall-lean" ]; then
    strip -o "$stage/libexec/farcall-lean.new" "$stage/bin/farcall"
    mv -f "$stage/libexec/farcall-lean.new" "$stage/libexec/farcall-lean"
fi
if [ "$stage/lib/libfarcall.so.0" -nt "$stage/libexec/libfarcall-lean.so" ]; then
    strip -o "$stage/libexec/libfarcall-lean.new" "$stage/lib/libfarcall.so.0"
    mv -f "$stage/libexec/libfarcall-lean.new" "$stage/libexec/libfarcall-lean.so"
fi
find clients/c/include clients/gridrpc/include -name '*.h' \
    -exec install -C -m 644 {} "$stage/include/" \; 2>/dev/null || true
tools/fortran.sh "$stage"
# Libraries under the GPL are served when they are named, and not by default (docs/licences.md); so
# are Python modules, which need an interpreter.
for library in routines/*/; do
    case $library in
        routines/fftw/ | routines/umfpack/ | routines/gallery/ | routines/tables/)
            place=$stage/share/farcall/routines/by-name
            ;;
        *) place=$stage/share/farcall/routines ;;
    esac
    find "$library" -type f ! -name 'test_*' ! -name conftest.py ! -path '*/__pycache__/*' \
        -printf '%P\n' |
        while read -r file; do install -C -D -m 644 "$library$file" "$place/$file"; done
done

# What wide-area programs run on: found by bare name.
for platform in platforms/*.toml; do
    install -C -D -m 644 "$platform" "$stage/share/farcall/$platform"
done

# What Makefiles written for Ninf-G know as $NG_DIR.
tools/ng/stage.sh "$stage"

# What shells complete, and the manual, come from the command itself.
"$stage/bin/farcall" man "$stage/share/man/man1"
for place in bash:bash-completion/completions/farcall zsh:zsh/site-functions/_farcall \
    fish:fish/vendor_completions.d/farcall.fish; do
    mkdir -p "$stage/share/$(dirname "${place#*:}")"
    "$stage/bin/farcall" completions "${place%%:*}" >"$stage/share/${place#*:}"
done

# The programs of the wide-area study, which `farcall run` finds by their bare names.
mkdir -p "$stage/libexec/wide-area"
for program in apps/wide-area/src/bin/*.rs; do
    name=$(basename "$program" .rs)
    install -C -m 755 "$products/$name" "$stage/libexec/wide-area/$name"
done

# What `farcall sim` becomes.
install -C -m 755 "$products/farcall-sim" "$stage/libexec/farcall-sim"

# The clients that `make bench` measures, and the README's example in Rust.
install -C -m 755 "$products/farcall-bench-client" "$stage/libexec/farcall-bench-client"
install -C -m 755 "$products/farcall-bench-rawtls" "$stage/libexec/farcall-bench-rawtls"
install -C -m 755 "$products/farcall-example" "$stage/libexec/farcall-example"
for client in c:main.c grpc:grpc.c; do
    "${CC:-cc}" -O2 -std=gnu11 -I"$stage/include" \
        -o "$stage/libexec/farcall-bench-client-${client%%:*}" \
        "bench/clients/c/${client#*:}" -L"$stage/lib" "-Wl,-rpath,$stage/lib" -lfarcall
done

read -r -a fortran <<<"${FC:-gfortran}"
"${fortran[@]}" -O2 -I"$stage/include" -o "$stage/libexec/farcall-bench-client-fortran" \
    bench/clients/fortran/main.f90 bench/clients/fortran/native.c \
    -L"$stage/lib" "-Wl,-rpath,$stage/lib" -lfarcall_fortran -lfarcall
