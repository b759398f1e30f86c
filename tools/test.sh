#!/usr/bin/env bash
# Runs every test suite, shows its output, and ends with the sum: `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

stage=$PWD/build
logs=$stage/test-logs
export FARCALL_STAGE=$stage
export PATH="$stage/venv/bin:$stage/bin:$PATH"
export LD_LIBRARY_PATH="$stage/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
mkdir -p "$logs" "$stage/tests"

tools/install-packages.sh tests || exit 1

# shellcheck source=tools/suites.sh
. tools/suites.sh

# Programs of the C and C++ tests, each linked with what is staged. A program prints `N passed, N failed`.
c_program() {
    local source=$1 program compiler
    shift
    program=$stage/tests/$(basename "${source%.*}")${sanitizers:+-sanitized}
    case $source in
        *.cpp) compiler=(c++ -std=c++17) ;;
        *) compiler=(cc -std=gnu11) ;;
    esac
    # shellcheck disable=SC2086  # several options, or none
    "${compiler[@]}" -O2 -Wall -Wextra ${sanitizers:-} -I"$stage/include" -o "$program" "$source" "$@" \
        -L"$stage/lib" "-Wl,-rpath,$stage/lib" -lm -lpthread && "$program"
}

c_suite() {
    local status=0 source
    c_program routines/ep/test_ep.c routines/ep/ep.c || status=1
    c_program spec/vectors/check_wire.c || status=1
    for source in clients/c/tests/test_*.c clients/c/tests/test_*.cpp; do
        [ -e "$source" ] || continue
        c_program "$source" ${parts:+"$parts"} -lfarcall || { status=1; echo "FAIL $source"; }
    done
    for source in clients/gridrpc/tests/test_*.c clients/gridrpc/tests/test_*.cpp; do
        [ -e "$source" ] || continue
        c_program "$source" -lfarcall || { status=1; echo "FAIL $source"; }
    done
    return "$status"
}

# The same programs, and with them our headers and what is compiled into them, under the sanitizers for addresses and
# undefined behaviour. Of libfarcall, its part in C is linked into them, too; the rest is Rust, which these do not look
# into.
sanitized_suite() {
    local sanitizers="-g -fsanitize=address,undefined -fno-sanitize-recover=undefined" parts=$stage/tests/variadic-sanitized.o
    # shellcheck disable=SC2086  # several options
    cc -std=gnu11 -O2 -Wall -Wextra $sanitizers -I"$stage/include" -c -o "$parts" clients/c/src/variadic.c || return 1
    c_suite
}

has_sanitizers() {
    echo 'int main(void) { return 0; }' | cc -x c -fsanitize=address,undefined -o "$stage/tests/sanitized" - 2>/dev/null &&
        "$stage/tests/sanitized" 2>/dev/null
}

# Fortran programs, each linked as a user's is; the last lets both standards and threads have a turn. A program prints
# `N passed, N failed`.
fortran_program() {
    local source=$1 program=$stage/tests/fortran/$(basename "${1%.*}")
    shift
    mkdir -p "$stage/tests/fortran"
    "${FC:-gfortran}" "$@" -O1 -I"$stage/include" -J"$stage/tests/fortran" -o "$program" clients/fortran/tests/check.f90 "$source" \
        -L"$stage/lib" "-Wl,-rpath,$stage/lib" -lfarcall_fortran -lfarcall && timeout 300 "$program"
}

fortran_suite() {
    local status=0 source
    for source in clients/fortran/tests/test_*.f90 clients/fortran/tests/test_*.f; do
        [ -e "$source" ] || continue
        case $source in
            *.f) fortran_program "$source" -std=legacy ;;
            *threads*) fortran_program "$source" -std=gnu -fopenmp ;;
            *) fortran_program "$source" -std=f2018 -Wall ;;
        esac || { status=1; echo "FAIL $source"; }
    done
    fortran_program clients/fortran/tests/test_calls.f90 -std=gnu || status=1
    return "$status"
}

vectors_suite() {
    "$stage/venv/bin/python" spec/vectors/check_wire.py
}

python_suite() {
    local files=()
    mapfile -t files < <(find . \( -path ./build -o -path ./target -o -name '.?*' \) -prune -o -name 'test_*.py' -print | sort)
    "$stage/venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib "${files[@]}"
}

count='^[0-9]+ passed, [0-9]+ failed$'
suite lint "$count" tools/lint.sh
suite rust '^test result:' cargo test --release --workspace --no-fail-fast --quiet
suite c "$count" c_suite
if has_sanitizers; then
    suite sanitizers "$count" sanitized_suite
else
    echo "note: the C tests do not run under the sanitizers, cc has no libasan and libubsan here"
fi
suite fortran "$count" fortran_suite
suite vectors "$count" vectors_suite
# Before those of Python: pages with Java need its jar.
if tools/find-jdk.sh >/dev/null; then
    suite java "$count" tools/java.sh "$stage" test
else
    tools/java.sh "$stage" test
fi
suite python '^(=+ )?([0-9]+ [a-z]+,? ?)+ in [0-9.]+s' python_suite
suite python-versions "$count" tools/python-versions.sh "$stage"

summary
