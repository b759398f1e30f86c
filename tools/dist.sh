#!/usr/bin/env bash
# Builds what is installed, measured and sent to other hosts, and stages it under build/dist/: with
# all crates optimized together, for x86-64 Linux with glibc 2.17, and a wheel of it. Then a smoke
# test: the demonstration on what was staged.
#
# A plain build needs the glibc of the machine it was made on; clusters have older ones. Zig's C
# compiler carries the symbol lists of old versions. Static linking is no way out: a static program
# cannot load shared libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

glibc=2.17
triple=x86_64-unknown-linux-gnu
stage=$PWD/build/dist
python=$PWD/build/venv/bin/python
target=${CARGO_TARGET_DIR:-$PWD/target}
products=$target/$triple/dist

step() {
    echo "[$1/6] $2"
}

step 1 "looking for system packages"
tools/install-packages.sh

step 2 "preparing the Python environments build/venv and build/dist/venv"
tools/python-environment.sh
"$python" -m pip install --quiet --disable-pip-version-check \
    "cargo-zigbuild>=0.19,<1" "ziglang>=0.12,<1"
if [ ! -e "$stage/venv/bin/python" ]; then
    mkdir -p "$stage"
    "$python" -m venv --without-pip "$stage/venv"
fi
# What the other environment has comes after what is installed here.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
own=$("$stage/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$packages" >"$own/build-venv.pth"

step 3 "compiling and optimizing all crates together (about ten minutes)"
PATH="$PWD/build/venv/bin:$PATH" cargo zigbuild --quiet --profile dist --target "$triple.$glibc" \
    -p farcall-cli -p libfarcall -p farcall-bench -p farcall-example -p farcall-sim \
    -p farcall-wide-area

step 4 "linking libfarcall.so"
# Rust unwinds through libgcc_s where gcc links; zig has its own unwinder, which becomes part of the
# library.
CC="$python -m ziglang cc -target x86_64-linux-gnu.$glibc" LDFLAGS=-lunwind \
    tools/link-libfarcall.sh "$products/libfarcall_all.a" "$stage/lib"

step 5 "staging under build/dist/, with a wheel"
tools/stage.sh "$stage" "$products"
for file in "$stage/bin/farcall" "$stage/lib/libfarcall.so.0"; do
    echo "    $file needs GLIBC_$("$python" tools/highest-glibc.py "$file")"
done
rm -f "$stage"/wheels/farcall-*.whl
FARCALL_STAGE=$stage "$python" -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$stage/wheels" clients/python
"$python" -m pip --python "$stage/venv/bin/python" install --quiet --disable-pip-version-check \
    --no-deps --force-reinstall "$stage"/wheels/farcall-*.whl

step 6 "smoke test: the demonstration"
FARCALL_STAGE=$stage PATH="$stage/venv/bin:$stage/bin:$PATH" "$stage/venv/bin/python" demo/run.py
