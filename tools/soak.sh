#!/usr/bin/env bash
# Plays the scenarios of faults with many more calls than the test suite, each fault alone and
# twelve pairs, and several servers with metaservers, of which any is killed, with three times as
# many; then the models of what threads share with more orders, 1,000 seeds of each plan of the
# simulator, 100,000 seeds of kept transactions, the wide-area kernels at whole size, the program of
# all GridRPC functions 100 times, the walk of 5,000 cases at full length, and LAPACK and BLAS with
# all products of their parameters, of which the suite has the pairs.
#
# FARCALL_SOAK_CALLS (default 10000) is how many calls each makes; FARCALL_SOAK_SEED is what is
# drawn, by default another each time. Words after it name tests, such as `pairs_of_faults` or
# `connections_that_are_cut`, and nothing else is tested then.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

export FARCALL_SOAK_CALLS=${FARCALL_SOAK_CALLS:-10000}
export FARCALL_SOAK_SEED=${FARCALL_SOAK_SEED:-$RANDOM}
export FARCALL_STAGE=$PWD/build
echo "scenarios of faults: $FARCALL_SOAK_CALLS calls each, FARCALL_SOAK_SEED=$FARCALL_SOAK_SEED"
cargo build --release -p farcall-cli -p libfarcall
cargo test --release -p farcall-tests --test faults -- --nocapture "$@"
[ $# -eq 0 ] || exit 0
LOOM_MAX_PREEMPTIONS=5 cargo test --release -p farcall-link -p farcall-services \
    -p farcall-transport-unix --lib in_every_order
FARCALL_SIM_SEEDS=1000 cargo test --release -p farcall-sim --lib
FARCALL_SIM_SEEDS=100000 cargo test --release -p farcall-transactions --lib sim
cargo test --release -p farcall-wide-area -- --ignored
export PATH="$FARCALL_STAGE/venv/bin:$FARCALL_STAGE/bin:$PATH" LD_LIBRARY_PATH="$FARCALL_STAGE/lib"
tests=("$FARCALL_STAGE/venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib
    --rootdir="$PWD")
echo "all functions of GridRPC's standard, 100 times in a row"
FARCALL_STANDARD_RUNS=100 "${tests[@]}" clients/gridrpc/tests/test_grpc_standard.py
echo "the walk of 5,000 cases of 0.2 seconds"
FARCALL_FULL_WALK=1 "${tests[@]}" tests/walks/test_many_cases.py
echo "LAPACK and BLAS: all products of their parameters"
FARCALL_FULL_PRODUCT=1 "${tests[@]}" routines/lapack
