#!/usr/bin/env bash
# Runs the fuzz loops of the test suite, with fixed seeds on stable Rust, for much longer; then the
# targets of tests/fuzz, guided by coverage and under the address sanitizer, where a nightly
# toolchain and cargo-fuzz are installed.
#
# FARCALL_FUZZ_TIMES (default 50) is how many times the rounds of the suite are done;
# FARCALL_FUZZ_SECONDS (default 60) is how long each target runs. What the targets learn is kept
# under build/fuzz, and so is an input that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

export FARCALL_FUZZ_TIMES=${FARCALL_FUZZ_TIMES:-50}
echo "fuzz loops, $FARCALL_FUZZ_TIMES times as long as in the suite"
cargo test --release --no-fail-fast -p farcall-wire -p farcall-idl -p farcall-call \
    -p farcall-kernel -p farcall-link -p farcall-platform \
    -p farcall-transport-unix -p farcall-transport-tls -p farcall-rpc-server \
    -p farcall-transactions fuzz

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "note: the fuzz targets of tests/fuzz are left out; they need a nightly toolchain" \
        "(rustup toolchain install nightly) and cargo-fuzz (cargo install cargo-fuzz)"
    exit 0
fi
seconds=${FARCALL_FUZZ_SECONDS:-60}
fuzz=(--fuzz-dir tests/fuzz)
# The versions of everything else are the workspace's.
cp Cargo.lock tests/fuzz/Cargo.lock
for target in $(cargo +nightly fuzz list "${fuzz[@]}"); do
    echo "fuzz target $target, for $seconds s"
    places=("build/fuzz/$target")
    mkdir -p "${places[0]}"
    [ "$target" = interface_files ] && places+=(protocol/idl/tests/golden/valid)
    [ "$target" = platforms ] && places+=(platforms)
    cargo +nightly fuzz run "${fuzz[@]}" --target-dir target/fuzz "$target" "${places[@]}" -- \
        -max_total_time="$seconds" -artifact_prefix="build/fuzz/$target-" \
        -verbosity=0 -print_final_stats=1
done
