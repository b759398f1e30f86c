#!/usr/bin/env bash
# Plays the scenarios of faults with many more calls than the test suite: each fault alone, and twelve pairs. Before that,
# 1,000 seeds of each plan of the simulator.
#
# FARCALL_SOAK_CALLS (default 10000) is how many calls each makes; FARCALL_SOAK_SEED is what is drawn, by default another each
# time. Words after it name tests, such as `pairs_of_faults` or `connections_that_are_cut`.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

export FARCALL_SOAK_CALLS=${FARCALL_SOAK_CALLS:-10000} FARCALL_SOAK_SEED=${FARCALL_SOAK_SEED:-$RANDOM}
export FARCALL_STAGE=$PWD/build
echo "scenarios of faults: $FARCALL_SOAK_CALLS calls each, FARCALL_SOAK_SEED=$FARCALL_SOAK_SEED"
cargo build --release -p farcall-cli -p libfarcall
if [ $# = 0 ]; then
    FARCALL_SIM_SEEDS=1000 cargo test --release -p farcall-sim --lib
fi
cargo test --release -p farcall-tests --test faults -- --nocapture "$@"
