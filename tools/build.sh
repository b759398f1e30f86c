#!/usr/bin/env bash
# Builds everything and stages it under build/, as if that were a prefix: bin, lib, include, share,
# wheels.
#
# Usage: build.sh TOTAL     where TOTAL is the number of steps that the caller announces.
set -euo pipefail
cd "$(dirname "$0")/.."

total=${1:-6}
stage=$PWD/build
target=${CARGO_TARGET_DIR:-$PWD/target}
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

step() {
    echo "[$1/$total] $2"
}

step 1 "looking for system packages"
tools/install-packages.sh
if ! command -v cargo >/dev/null; then
    echo "farcall: there is no Rust toolchain (cargo);" \
        "install a stable one, see https://rustup.rs" >&2
    exit 1
fi

step 2 "preparing the Python environment build/venv"
mkdir -p "$stage"/{bin,lib,libexec,include,share/farcall/routines,wheels}
tools/python-environment.sh

# One profile for daily work, tests and demonstration: everything is compiled once. `make dist` has
# another (docs/decisions/0039-a-build-to-distribute.md).
step 3 "compiling (the first time takes a few minutes)"
cargo build --quiet --release -p farcall-cli -p libfarcall -p farcall-bench -p farcall-example \
    -p farcall-sim -p farcall-wide-area

step 4 "linking libfarcall.so"
tools/link-libfarcall.sh "$target/release/libfarcall_all.a" "$stage/lib"

step 5 "staging under build/"
tools/stage.sh "$stage" "$target/release"
# Without a JDK the Java client is left out (status 2).
tools/java.sh "$stage" || [ $? -eq 2 ]

step 6 "building the Python wheel"
tools/wheel.sh "$stage" "$stage/wheels"
