#!/usr/bin/env bash
# Formatting and clippy, each where its component is installed. Ends with `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

passed=0
failed=0

# check NAME COMPONENT COMMAND...: counts one test, or says that it was left out.
check() {
    local name=$1 component=$2
    shift 2
    if ! cargo "$component" --version >/dev/null 2>&1; then
        echo "note: $name is left out, cargo $component is not installed"
    elif "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
    fi
}

check formatting fmt cargo fmt --all --check
check clippy clippy cargo clippy --quiet --release --workspace --all-targets -- -D warnings
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
