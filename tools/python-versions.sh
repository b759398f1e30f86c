#!/usr/bin/env bash
# Tests the one wheel with each Python that it is for. Lists those that are not on this machine as
# not run.
#
# Usage: python-versions.sh STAGE      Needs STAGE/wheels. Environments are kept in STAGE/versions.
set -uo pipefail

stage=$1
cd "$(dirname "$0")/.."
# shellcheck source=tools/suites.sh
. tools/suites.sh
# shellcheck source=tools/unchanged.sh
. tools/unchanged.sh
smoke=$PWD/clients/python/tests/versions/smoke.py
wheel=$(ls "$stage"/wheels/farcall-*.whl)
passed=0
failed=0

# What the environment for tests has, and those that the wheel promises.
versions=$( (echo 3.9 3.10 3.11 3.12 3.13 | tr ' ' '\n'
    "$stage/venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') | sort -uV)

# An interpreter of a version: in the path, where it may be a stand-in that runs nothing, or
# pyenv's.
find_python() {
    local one say='import sys; print("%d.%d" % sys.version_info[:2])'
    for one in "python$1" "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/"$1".*/bin/python; do
        if [ "$("$one" -c "$say" 2>/dev/null)" = "$1" ]; then
            echo "$one"
            return
        fi
    done
    return 1
}

# pip for an environment: its own, or the tests' where it has none. An old pip does not know newer
# versions of Python.
pip_of() {
    local place=$1 options=(--quiet --disable-pip-version-check)
    shift
    if [ -x "$place/bin/pip" ]; then
        "$place/bin/python" -m pip "${options[@]}" "$@"
    else
        "$stage/venv/bin/python" -m pip "${options[@]}" --python "$place/bin/python" "$@"
    fi
}

# An environment with the newest NumPy for the version, and the wheel as it is now.
prepare() {
    local python=$1 place=$2
    if [ ! -e "$place/complete" ]; then
        rm -rf "$place"
        "$python" -m venv "$place" >/dev/null 2>&1 ||
            "$python" -m venv --without-pip --clear "$place" || return 1
        pip_of "$place" install "numpy>=1.22,<3" "cffi>=1.15,<3" || return 1
        touch "$place/complete"
    fi
    if [ ! -e "$place/wheel" ] || [ "$wheel" -nt "$place/wheel" ]; then
        pip_of "$place" install --no-deps --force-reinstall "$wheel" || return 1
        touch "$place/wheel"
    fi
}

for version in $versions; do
    place=$stage/versions/$version began=$EPOCHREALTIME
    if ! python=$(find_python "$version"); then
        echo "Python $version: not run, it is not on this machine"
    elif now=$(printf '%s\0' "$wheel" "$smoke" tools/python-versions.sh |
        fingerprint "$python" "$("$python" -VV)") &&
        is_unchanged "python-$version" "$now"
    then
        record left-out "$began" 0 "Python $version"
        echo "Python $version: left out, wheel and interpreter are as they were when it passed"
    elif ! prepare "$python" "$place"; then
        # Without a network there may be no NumPy for it, which says nothing of the wheel.
        echo "Python $version: not run, no environment could be made for it"
    elif said=$(cd / && env -u FARCALL_STAGE -u LD_LIBRARY_PATH -u FARCALL_SERVER \
        timeout 60 "$place/bin/python" -I "$smoke" 2>&1)
    then
        echo "Python $version: ok, $said"
        passed=$((passed + 1))
        record passed "$began" 0 "Python $version"
        has_passed "python-$version" "$now"
    else
        record failed "$began" 0 "Python $version"
        echo "FAIL Python $version: $said"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
