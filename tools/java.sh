#!/usr/bin/env bash
# Builds the Java client and puts farcall.jar into the stage; with `test` it runs the client's
# tests, too.
#
# Usage: java.sh STAGE [test]      test: ends with `N passed, N failed`
#
# Where there is no JDK that is new enough, it says so in one line and does nothing else (status 2).
# The JDK alone makes the jar; the tests want Maven, too, which downloads what it needs once, and
# keeps it (~/.m2).
set -uo pipefail

stage=$(realpath "$1")
cd "$(dirname "$0")/.."
mode=${2:-}
made=$PWD/build/java

if ! JAVA_HOME=$(tools/find-jdk.sh); then
    echo "note: the Java client is left out, there is no JDK 22 or newer in \$JAVA_HOME" \
        "or /usr/lib/jvm: install one, such as Temurin 25"
    exit 2
fi
export JAVA_HOME
if [ "$mode" = test ] && ! command -v mvn >/dev/null; then
    echo "note: the tests of the Java client are left out, there is no mvn:" \
        "install Maven (Debian's package: maven)"
    exit 2
fi

# What Maven and its libraries warn of in newer JDKs is not about Farcall.
quietly() {
    local known='sun\.misc\.Unsafe|terminally deprecated|consider reporting|jansi'
    known+='|java\.lang\.System::load|enable-native-access'
    "$@" 2>&1 | sed 's/\x1b\[[0-9;]*m//g' | grep -Ev "^(WARNING: .*($known).*|)\$"
    return "${PIPESTATUS[0]}"
}

sources=clients/java/src/main/java

# Whether the stage's jar was made of these sources.
is_made() {
    local jar=$stage/share/java/farcall.jar
    [ -e "$jar" ] && [ -z "$(find "$sources" clients/java/pom.xml tools/java.sh "$made/carried" \
        -newer "$jar" -print -quit 2>/dev/null)" ]
}

# The jar that Maven makes of clients/java/pom.xml, from the JDK alone.
make_jar() {
    local classes=$made/jar
    rm -rf "$classes"
    mkdir -p "$classes"
    find "$sources" -name '*.java' -print0 |
        xargs -0 "$JAVA_HOME/bin/javac" --release 22 -encoding UTF-8 -Xlint:all,-restricted \
            -Werror -d "$classes" || return
    [ ! -d "$made/carried" ] || cp -r "$made/carried/." "$classes" || return
    printf '%s: %s\n' Automatic-Module-Name org.farcall Enable-Native-Access ALL-UNNAMED \
        Farcall-Needs "Java 22 or newer" >"$made/manifest"
    "$JAVA_HOME/bin/jar" --create --file "$made/farcall.jar" --manifest "$made/manifest" \
        -C "$classes" .
}

status=0
if [ "$mode" = test ]; then
    rm -rf "$made/surefire-reports"
    echo "running the Java client's tests with $JAVA_HOME"
    FARCALL_STAGE=$stage quietly timeout 1200 \
        mvn -B -ntp -q -f clients/java/pom.xml package || status=1
    # Each class has a line such as `Tests run: 9, Failures: 1, Errors: 1, Skipped: 0, …`.
    cat "$made"/surefire-reports/*.txt 2>/dev/null | awk -F '[:,]' -v status="$status" '
        /^Tests run:/ { run += $2; failed += $4 + $6; skipped += $8; print }
        END {
            if (status != 0 && failed == 0) failed = 1
            print run - failed - skipped " passed, " failed + 0 " failed"
        }'
elif is_made; then
    exit 0
else
    make_jar || status=1
fi
if [ "$status" -eq 0 ]; then
    mkdir -p "$stage/share/java"
    install -m 644 "$made/farcall.jar" "$stage/share/java/farcall.jar"
fi
exit "$status"
