# Runs suites of tests, side by side if their caller does so; sourced by what runs or is a suite.
# test.sh sets `logs` (a folder).
#
# What a suite says goes into NAME.log, and is shown when it is over, so that suites do not talk
# into one another. What count-tests.py counts lies beside: NAME.status, how it ended; NAME.records,
# its tests where it lists them itself (FARCALL_TEST_RECORDS); NAME.xml (FARCALL_TEST_REPORT) or
# NAME.reports/*.xml, where it reports them as JUnit does.

# Starts from nothing: what an earlier run has left is not counted.
begin_suites() {
    mkdir -p "$logs"
    rm -rf "$logs"/*.{log,status,records,xml,reports}
}

# suite NAME COMMAND...
suite() {
    local name=$1 began=$SECONDS
    shift
    echo "-- $name begins"
    # Made first: a suite that does not come to its end is one that failed.
    echo unfinished >"$logs/$name.status"
    FARCALL_TEST_RECORDS=$logs/$name.records FARCALL_TEST_REPORT=$logs/$name.xml \
        "$@" >"$logs/$name.log" 2>&1
    echo $? >"$logs/$name.status"
    (
        flock 9
        echo "== $name ($((SECONDS - began)) s)"
        cat "$logs/$name.log"
    ) 9>"$logs/lock"
}

# Prints the sum of all suites; fails if anything failed.
end_suites() {
    python3 "$(dirname "${BASH_SOURCE[0]}")/count-tests.py" "$logs"
}

# record OUTCOME BEGAN CHECKS NAME: a test that is over, `passed`, `failed` or `left-out`; it began
# at a value of EPOCHREALTIME, which some locales write with a comma.
record() {
    [ -z "${FARCALL_TEST_RECORDS:-}" ] ||
        awk -v began="${2/,/.}" -v now="${EPOCHREALTIME/,/.}" -v rest="$1	$3	$4" \
            'BEGIN { printf "%.3f\t%s\n", now - began, rest }' >>"$FARCALL_TEST_RECORDS"
}

# program NAME COMMAND...: one test of a suite. What it checked is the number in its lines `N
# passed, N failed`: one that checked nothing has failed.
program() {
    local name=$1 began=$EPOCHREALTIME said status outcome=passed counted checked wrong
    shift
    said=$("$@" 2>&1)
    status=$?
    [ -z "$said" ] || printf '%s\n' "$said"
    counted=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' <<<"$said")
    checked=$(awk '{ sum += $1 } END { print sum + 0 }' <<<"$counted")
    wrong=$(awk '{ sum += $3 } END { print sum + 0 }' <<<"$counted")
    if [ "$status" -ne 0 ] || [ "$wrong" -ne 0 ] || [ "$checked" -eq 0 ]; then
        outcome=failed
        echo "FAIL $name: status $status, $checked checks passed, $wrong failed"
    fi
    record "$outcome" "$began" "$checked" "$name"
    [ "$outcome" = passed ]
}
