#!/usr/bin/env bash
# Formatting and clippy, each where its component is installed, and the layout of interface files. Ends with
# `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

passed=0
failed=0

# check NAME COMMAND...: counts one test.
check() {
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
    fi
}

# check_with COMPONENT NAME COMMAND...: the same, where cargo has the component; says so where it has not.
check_with() {
    local component=$1
    shift
    if cargo "$component" --version >/dev/null 2>&1; then
        check "$@"
    else
        echo "note: $1 is left out, cargo $component is not installed"
    fi
}

# What the compiler's own tests read has every layout; all other interface files have that of `farcall fmt`.
interfaces() {
    local farcall=(build/bin/farcall)
    [ -x "${farcall[0]}" ] || farcall=(cargo run --quiet --release -p farcall-cli --)
    find . \( -path ./build -o -path ./target -o -path ./protocol/idl/tests/golden -o -name '.?*' \) -prune \
        -o -name '*.idl' -print0 | sort -z | xargs -0 "${farcall[@]}" fmt --check
}

check_with fmt formatting cargo fmt --all --check
check_with clippy clippy cargo clippy --quiet --release --workspace --all-targets -- -D warnings
check interfaces interfaces
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
