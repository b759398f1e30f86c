#!/usr/bin/env bash
# Builds binary and library for x86-64 Linux with glibc 2.17, and a wheel from them. Result:
# build/portable/.
#
# A plain build needs the glibc of the machine it was made on; clusters have older ones. Zig's C
# compiler carries the symbol lists of old versions. Static linking is no way out: a static program
# cannot load shared libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

glibc=2.17
triple=x86_64-unknown-linux-gnu
stage=$PWD/build/portable
python=$PWD/build/venv/bin/python
target=${CARGO_TARGET_DIR:-$PWD/target}

tools/python-environment.sh
"$python" -m pip install --quiet --disable-pip-version-check "cargo-zigbuild>=0.19,<1" "ziglang>=0.12,<1"
export PATH="$PWD/build/venv/bin:$PATH"

cargo zigbuild --release --target "$triple.$glibc" -p farcall-cli -p libfarcall
mkdir -p "$stage"/{bin,lib,include,wheels}
install -m 755 "$target/$triple/release/farcall" "$stage/bin/farcall"
find clients/c/include clients/gridrpc/include -name '*.h' -exec install -m 644 {} "$stage/include/" \; 2>/dev/null || true
# Rust unwinds through libgcc_s where gcc links; zig has its own unwinder, which becomes part of the
# library.
CC="$python -m ziglang cc -target x86_64-linux-gnu.$glibc" LDFLAGS=-lunwind \
    tools/link-libfarcall.sh "$target/$triple/release/libfarcall_all.a" "$stage/lib"

for file in "$stage/bin/farcall" "$stage/lib/libfarcall.so.0"; do
    echo "$file needs GLIBC_$("$python" tools/highest-glibc.py "$file")"
done
if [ -e clients/python/pyproject.toml ]; then
    FARCALL_STAGE=$stage "$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
        --wheel-dir "$stage/wheels" clients/python
fi
