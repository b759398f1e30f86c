#!/usr/bin/env bash
# Runs every test suite, shows its output, and ends with the sum: `N passed, N failed`.
#
# A suite that fails without counting a failure (it did not compile, say) counts as one failure, and so does a suite
# that ran no test at all: silence is no success.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d "$HOME/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

stage=$PWD/build
logs=$stage/test-logs
export FARCALL_STAGE=$stage
export PATH="$stage/venv/bin:$stage/bin:$PATH"
export LD_LIBRARY_PATH="$stage/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
mkdir -p "$logs" "$stage/tests"

passed=0
failed=0
broken=()

# Adds up all numbers before a word in the lines that match a pattern.
sum() {
    grep -E "$2" "$1" | grep -oE "[0-9]+ $3" | awk '{ total += $1 } END { print total + 0 }'
}

# suite NAME SUMMARY COMMAND...: SUMMARY matches the lines that count tests.
suite() {
    local name=$1 summary=$2 log=$logs/$1.log status good bad
    shift 2
    echo "== $name"
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    good=$(sum "$log" "$summary" passed)
    bad=$(($(sum "$log" "$summary" failed) + $(sum "$log" "$summary" 'errors?')))
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "FAIL suite $name ended with status $status"
    elif [ $((good + bad)) -eq 0 ]; then
        bad=1
        echo "FAIL suite $name ran no test"
    fi
    [ "$bad" -eq 0 ] || broken+=("$name")
    passed=$((passed + good))
    failed=$((failed + bad))
}

# Programs of the C and C++ tests, each linked with what is staged. A program prints `N passed, N failed`.
c_program() {
    local source=$1 program compiler
    shift
    program=$stage/tests/$(basename "${source%.*}")
    case $source in
        *.cpp) compiler=(c++ -std=c++17) ;;
        *) compiler=(cc -std=gnu11) ;;
    esac
    "${compiler[@]}" -O2 -Wall -Wextra -I"$stage/include" -o "$program" "$source" "$@" \
        -L"$stage/lib" "-Wl,-rpath,$stage/lib" -lm -lpthread && "$program"
}

c_suite() {
    local status=0 source
    c_program routines/ep/test_ep.c routines/ep/ep.c || status=1
    for source in clients/c/tests/test_*.c clients/c/tests/test_*.cpp; do
        [ -e "$source" ] || continue
        c_program "$source" -lfarcall || { status=1; echo "FAIL $source"; }
    done
    return "$status"
}

python_suite() {
    local files=()
    mapfile -t files < <(find . \( -path ./build -o -path ./target -o -name '.?*' \) -prune -o -name 'test_*.py' -print | sort)
    "$stage/venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib "${files[@]}"
}

count='^[0-9]+ passed, [0-9]+ failed$'
if cargo fmt --version >/dev/null 2>&1 || cargo clippy --version >/dev/null 2>&1; then
    suite lint "$count" tools/lint.sh
else
    echo "note: lint is left out, neither rustfmt nor clippy is installed"
fi
suite rust '^test result:' cargo test --release --workspace --no-fail-fast --quiet
suite c "$count" c_suite
suite python '^(=+ )?([0-9]+ [a-z]+,? ?)+ in [0-9.]+s' python_suite

[ ${#broken[@]} -eq 0 ] || echo "failures in: ${broken[*]} (output in build/test-logs)"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
