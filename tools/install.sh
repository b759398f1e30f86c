#!/usr/bin/env bash
# Copies what is staged to a prefix. Usage: install.sh STAGE PREFIX
set -euo pipefail

stage=$1
prefix=$2

install -d "$prefix"/{bin,lib,include,share/farcall/routines}
install -m 755 "$stage/bin/farcall" "$prefix/bin/"
install -m 755 "$stage/lib/libfarcall.so.0" "$prefix/lib/"
ln -sfn libfarcall.so.0 "$prefix/lib/libfarcall.so"
find "$stage/include" -name '*.h' -exec install -m 644 {} "$prefix/include/" \;
find "$stage/share/farcall/routines" -type f -exec install -m 644 {} "$prefix/share/farcall/routines/" \;
echo "installed in $prefix"
