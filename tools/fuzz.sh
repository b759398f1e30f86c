#!/usr/bin/env bash
# Runs the fuzz tests: with cargo-fuzz where a nightly toolchain has it, else the fixed-seed loops of the test suite.
#
# FARCALL_FUZZ_SECONDS (default 60) is the time for each cargo-fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

if [ -d fuzz ] && cargo +nightly fuzz --version >/dev/null 2>&1; then
    for target in $(cargo +nightly fuzz list); do
        cargo +nightly fuzz run "$target" -- -max_total_time="${FARCALL_FUZZ_SECONDS:-60}"
    done
else
    echo "note: no cargo-fuzz with a nightly toolchain; running the fixed-seed loops"
    cargo test --release --workspace fuzz
fi
