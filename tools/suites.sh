# Counts the tests of suites; sourced by test.sh, which sets `logs` (a folder) and calls `suite` and `summary`.
#
# A suite that fails without counting a failure (it did not compile, say) counts as one failure, and so does a suite
# that ran no test at all: silence is no success.

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

# Prints the sum of all suites; fails if anything failed.
summary() {
    [ ${#broken[@]} -eq 0 ] || echo "failures in: ${broken[*]} (output in build/test-logs)"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
