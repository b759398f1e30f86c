#!/usr/bin/env bash
# Formatting and clippy, each where its component is installed, and the layout of interface files.
# Ends with `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

# shellcheck source=tools/suites.sh
. tools/suites.sh
# shellcheck source=tools/unchanged.sh
. tools/unchanged.sh

passed=0
failed=0

# check NAME COMMAND...: counts one test.
check() {
    local name=$1 began=$EPOCHREALTIME
    shift
    if "$@"; then
        passed=$((passed + 1))
        record passed "$began" 0 "$name"
    else
        failed=$((failed + 1))
        record failed "$began" 0 "$name"
        echo "FAIL $name: $*"
        return 1
    fi
}

# check_changed NAME COMMAND...: the same for what looks at nothing but the sources and the
# compiler. What sources include is text to it.
check_changed() {
    local name=$1 now
    now=$(find . \( -path ./build -o -path ./target -o -name '.?*' \) -prune \
        -o \( -name '*.rs' -o -name '*.toml' -o -name Cargo.lock \) -print0 |
        fingerprint "$*" "$(cargo clippy --version)" "$(rustc -vV)" "${RUSTFLAGS:-}")
    if is_unchanged "$name" "$now"; then
        record left-out "$EPOCHREALTIME" 0 "$name"
        echo "note: $name is left out, no source has changed since it passed"
    elif check "$@"; then
        has_passed "$name" "$now"
    fi
}

# has COMPONENT: whether cargo has it; says so where it has not.
has() {
    cargo "$1" --version >/dev/null 2>&1 || {
        echo "note: cargo $1 is not installed, and is left out"
        return 1
    }
}

# What the compiler's own tests read, and programs written for other systems, have every layout; all other interface files have that of
# `farcall fmt`.
interfaces() {
    local farcall=(build/bin/farcall)
    [ -x "${farcall[0]}" ] || farcall=(cargo run --quiet --release -p farcall-cli --)
    find . \( -path ./build -o -path ./target -o -path ./protocol/idl/tests/golden \
        -o -path ./clients/gridrpc/tests/old \
        -o -name '.?*' \) -prune \
        -o -name '*.idl' -print0 | sort -z | xargs -0 "${farcall[@]}" fmt --check
}

# The fuzz targets are no part of the workspace; what they include is.
fuzz_targets() {
    cp Cargo.lock tests/fuzz/Cargo.lock
    cargo check --quiet --release --manifest-path tests/fuzz/Cargo.toml --no-default-features \
        --target-dir "${CARGO_TARGET_DIR:-target}"
}

has fmt && check formatting cargo fmt --all --check
has fmt && check formatting-of-fuzz-targets \
    cargo fmt --manifest-path tests/fuzz/Cargo.toml --check
has clippy && check_changed clippy \
    cargo clippy --quiet --release --workspace --all-targets -- -D warnings
check_changed fuzz-targets fuzz_targets
check interfaces interfaces
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
