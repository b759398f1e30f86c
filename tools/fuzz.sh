#!/usr/bin/env bash
# Runs the fuzz loops of the test suite, with fixed seeds on stable Rust, for much longer.
#
# FARCALL_FUZZ_TIMES (default 50) is how many times the rounds of the suite are done.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

export FARCALL_FUZZ_TIMES=${FARCALL_FUZZ_TIMES:-50}
echo "fuzz loops, $FARCALL_FUZZ_TIMES times as long as in the suite"
cargo test --release --no-fail-fast -p farcall-wire -p farcall-idl -p farcall-call \
    -p farcall-kernel -p farcall-link \
    -p farcall-transport-unix -p farcall-transport-tls -p farcall-rpc-server fuzz
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "note: no nightly toolchain here, so the loops ran without the address sanitizer;" \
        "make test runs C parts under it"
fi
