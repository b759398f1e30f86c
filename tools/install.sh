#!/usr/bin/env bash
# Copies what is staged to a prefix. Usage: install.sh STAGE PREFIX
set -euo pipefail

stage=$1
prefix=$2

install -d "$prefix"/{bin,lib/pkgconfig,libexec,include}
install -d "$prefix"/share/farcall/{routines/by-name,platforms,fortran}
install -m 755 "$stage/bin/farcall" "$prefix/bin/"
install -m 755 "$stage"/libexec/{farcall-lean,libfarcall-lean.so,farcall-sim} "$prefix/libexec/"
install -m 755 "$stage/lib/libfarcall.so.0" "$prefix/lib/"
ln -sfn libfarcall.so.0 "$prefix/lib/libfarcall.so"
find "$stage/include" \( -name '*.h' -o -name '*.inc' -o -name '*.mod' \) \
    -exec install -m 644 {} "$prefix/include/" \;
install -m 644 "$stage/lib/libfarcall_fortran.a" "$prefix/lib/"
install -m 644 "$stage/lib/pkgconfig"/*.pc "$prefix/lib/pkgconfig/"
install -m 644 "$stage/share/farcall/fortran"/* "$prefix/share/farcall/fortran/"
routines=share/farcall/routines
find "$stage/$routines" -maxdepth 1 -type f -exec install -m 644 {} "$prefix/$routines/" \;
(cd "$stage" && find "$routines/by-name" -type f ! -path '*/__pycache__/*' \
    -exec install -D -m 644 {} "$prefix/{}" \;)
install -m 644 "$stage/share/farcall/platforms"/*.toml "$prefix/share/farcall/platforms/"
install -D -t "$prefix/libexec/wide-area" -m 755 "$stage/libexec/wide-area"/*
# What `make java` has built; it finds the library from there.
if [ -e "$stage/share/java/farcall.jar" ]; then
    install -D -m 644 "$stage/share/java/farcall.jar" "$prefix/share/java/farcall.jar"
fi
(cd "$stage/share" &&
    find man bash-completion zsh fish -type f -exec install -D -m 644 {} "$prefix/share/{}" \;)
"$(dirname "$0")/ng/stage.sh" "$prefix"
echo "installed in $prefix"
