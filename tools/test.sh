#!/usr/bin/env bash
# Runs every test suite, shows what each said, names the slowest tests, and ends with the sum: `N
# passed, N failed`.
#
# Most tests wait: for servers, time limits, jobs. So suites run side by side, each with several
# tests at a time, while Rust's tests are compiled, which takes what the others leave.
# Clippy and the other versions of Python are left out where what they look at is as it was when
# they passed (unchanged.sh), and it is said so; FARCALL_TEST_ALL=1 leaves nothing out.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d "${HOME:-}/.cargo/bin" ] && PATH="$PATH:$HOME/.cargo/bin"

stage=$PWD/build
logs=$stage/test-logs
export FARCALL_STAGE=$stage
export PATH="$stage/venv/bin:$stage/bin:$PATH"
export LD_LIBRARY_PATH="$stage/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
mkdir -p "$stage/tests"

tools/install-packages.sh tests || exit 1

# shellcheck source=tools/suites.sh
. tools/suites.sh

# Programs of the C and C++ tests, each linked with what is staged. A program prints `N passed, N
# failed`.
c_program() {
    local source=$1 program compiler
    shift
    program=$stage/tests/$(basename "${source%.*}")${sanitizers:+-sanitized}
    case $source in
        *.cpp) compiler=(c++ -std=c++17) ;;
        *) compiler=(cc -std=gnu11) ;;
    esac
    # shellcheck disable=SC2086  # several options, or none
    "${compiler[@]}" -O2 -Wall -Wextra ${sanitizers:-} -I"$stage/include" -o "$program" "$source" \
        "$@" -L"$stage/lib" "-Wl,-rpath,$stage/lib" -lm -lpthread && "$program"
}

# c_programs SOURCE...: a test for each.
c_programs() {
    local status=0 source
    for source; do
        case $source in
            routines/ep/*) program "$source" c_program "$source" routines/ep/ep.c ;;
            spec/*) program "$source" c_program "$source" ;;
            clients/c/*) program "$source" c_program "$source" ${parts:+"$parts"} -lfarcall ;;
            *) program "$source" c_program "$source" -lfarcall ;;
        esac || status=1
    done
    return "$status"
}

c_sources=(routines/ep/test_ep.c spec/vectors/check_wire.c
    clients/c/tests/test_*.c clients/c/tests/test_*.cpp
    clients/gridrpc/tests/test_*.c clients/gridrpc/tests/test_*.cpp)

# What the sanitizers cannot do: a child that ends as programs do would be charged with what its
# parent had, and the part of libfarcall in C is compiled into the sanitized programs, so that
# nobody calls the one that is shipped.
plain_sources=(clients/gridrpc/tests/test_grpc_callback.c clients/c/tests/test_async.c
    clients/c/tests/test_native.c)

# The programs, and with them our headers and what is compiled into them, under the sanitizers for
# addresses and undefined behaviour. Of libfarcall, its part in C is linked into them, too; the rest
# is Rust, which these do not look into.
sanitized_suite() {
    local sanitizers="-g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
    local parts=$stage/tests/variadic-sanitized.o
    # shellcheck disable=SC2086  # several options
    cc -std=gnu11 -O2 -Wall -Wextra $sanitizers -I"$stage/include" -c -o "$parts" \
        clients/c/src/variadic.c || return 1
    c_programs "${c_sources[@]}"
}

has_sanitizers() {
    echo 'int main(void) { return 0; }' |
        cc -x c -fsanitize=address,undefined -o "$stage/tests/sanitized" - 2>/dev/null &&
        "$stage/tests/sanitized" 2>/dev/null
}

# Fortran programs, each linked as a user's is; the last lets both standards and threads have a
# turn. A program prints `N passed, N failed`.
fortran_program() {
    local source=$1 program=$stage/tests/fortran/$(basename "${1%.*}")
    shift
    mkdir -p "$stage/tests/fortran"
    "${FC:-gfortran}" "$@" -O1 -I"$stage/include" -J"$stage/tests/fortran" -o "$program" \
        clients/fortran/tests/check.f90 "$source" -L"$stage/lib" "-Wl,-rpath,$stage/lib" \
        -lfarcall_fortran -lfarcall && timeout 300 "$program"
}

fortran_suite() {
    local status=0 source
    for source in clients/fortran/tests/test_*.f90 clients/fortran/tests/test_*.f; do
        [ -e "$source" ] || continue
        case $source in
            *.f) program "$source" fortran_program "$source" -std=legacy ;;
            *threads*) program "$source" fortran_program "$source" -std=gnu -fopenmp ;;
            *) program "$source" fortran_program "$source" -std=f2018 -Wall ;;
        esac || status=1
    done
    source=clients/fortran/tests/test_calls.f90
    program "$source -std=gnu" fortran_program "$source" -std=gnu || status=1
    return "$status"
}

vectors_suite() {
    program spec/vectors/check_wire.py "$stage/venv/bin/python" spec/vectors/check_wire.py
}

java_suite() {
    tools/java.sh "$stage" test
    local status=$?
    mkdir -p "$logs/java.reports"
    cp build/java/surefire-reports/*.xml "$logs/java.reports/"
    return "$status"
}

# Begun first: what takes longest must not be left to the end.
longest=(
    bench/test_{jobs,graphs,calls,servers}_run.py
    apps/{sweep/test_sweep,weather/test_weather}.py
    tests/readme/test_readme.py
    tests/launchers/test_{launchers,batch}.py
    clients/java/tests/test_{old_java_programs,java_configuration}.py
    clients/gridrpc/tests/test_{old_programs,grpc_standard}.py
    bench/test_{bench,against}.py
    apps/transactions/test_transactions.py
    clients/python/tests/test_{published,publish_values,aio}.py
)

# A file's tests share servers, and stay together.
python_suite() {
    local files=()
    mapfile -t files < <(printf './%s\n' "${longest[@]}"
        find . \( -path ./build -o -path ./target -o -name '.?*' \) -prune \
            -o -name 'test_*.py' -print | sort | grep -vxF "$(printf './%s\n' "${longest[@]}")")
    "$stage/venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib \
        --rootdir="$PWD" --numprocesses=$((2 * $(nproc))) --dist=loadfile --no-loadscope-reorder \
        --junitxml="$FARCALL_TEST_REPORT" "${files[@]}"
}

begin_suites
# With job control, what runs in the background takes Ctrl-C as tests of it want to, and is a
# process group, to be ended with all that it started.
set -m
trap 'kill -- $(jobs -p | sed s/^/-/) 2>/dev/null; exit 130' INT TERM HUP
{
    if has_sanitizers; then
        suite sanitizers sanitized_suite
        suite c c_programs "${plain_sources[@]}"
    else
        echo "note: the C tests do not run under the sanitizers," \
            "cc has no libasan and libubsan here"
        suite c c_programs "${c_sources[@]}"
    fi
    suite fortran fortran_suite
    suite vectors vectors_suite
    suite python-versions tools/python-versions.sh "$stage"
} </dev/null &
if tools/find-jdk.sh >/dev/null; then
    suite java java_suite </dev/null &
else
    tools/java.sh "$stage" test &
fi
java=$!
echo "-- Rust's tests are compiled"
nice -n 5 tools/rust-tests.py compile >"$logs/compiling" 2>&1 </dev/null &
compiled=$!
# Pages with Java need its jar, and the tests of Python read pages.
wait "$java"
suite python python_suite </dev/null &
# What does not compile is tried again by its suite, which has failed then.
wait "$compiled"
suite rust tools/rust-tests.py run </dev/null &
suite lint nice -n 10 tools/lint.sh </dev/null &
wait
end_suites
