#!/usr/bin/env bash
# Prints the home of a JDK that the Java client can be built with, or fails.
#
# It needs the foreign-function API, which is final since Java 22. $JAVA_HOME is looked at first,
# then the places where packages put JDKs ($JVM_FOLDER, /usr/lib/jvm by default), the newest one
# wins.
set -uo pipefail

needed=22
best=
best_version=0

# look FOLDER: takes it if it is a JDK, and newer than the best so far.
look() {
    local line version
    [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return
    while IFS= read -r line; do
        case $line in
            JAVA_VERSION=*)
                version=${line#JAVA_VERSION=\"}
                version=${version%%[!0-9]*}
                if [ -n "$version" ] && [ "$version" -ge "$needed" ] &&
                    [ "$version" -gt "$best_version" ]; then
                    best=$1
                    best_version=$version
                fi
                ;;
        esac
    done <"$1/release"
}

[ -z "${JAVA_HOME:-}" ] || look "$JAVA_HOME"
if [ -z "$best" ]; then
    for folder in "${JVM_FOLDER:-/usr/lib/jvm}"/*; do
        look "$folder"
    done
fi
[ -n "$best" ] && echo "$best"
