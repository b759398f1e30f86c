# Whether what a check looks at is as it was when the check last passed; sourced by such checks.

# fingerprint WORD...: of these, and of the files whose names standard input has, each ended by NUL.
fingerprint() {
    { printf '%s\n' "$@"; sort -z | xargs -0 -r sha256sum; } | sha256sum | cut -d ' ' -f 1
}

# is_unchanged CHECK FINGERPRINT: it passed with this one. FARCALL_TEST_ALL=1: whatever it was, all
# is checked again.
is_unchanged() {
    [ -z "${FARCALL_TEST_ALL:-}" ] && [ "$(cat "build/passed/$1" 2>/dev/null)" = "$2" ]
}

# has_passed CHECK FINGERPRINT
has_passed() {
    mkdir -p build/passed
    echo "$2" >"build/passed/$1"
}
