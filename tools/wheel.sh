#!/usr/bin/env bash
# Builds the Python wheel, which carries library and binary, from what is staged, and installs it
# into build/venv.
#
# Usage: wheel.sh STAGE WHEELS      The package's own build finds bin/, lib/ and include/ below
# $FARCALL_STAGE.
set -euo pipefail

stage=$1
wheels=$2
cd "$(dirname "$0")/.."
python=build/venv/bin/python
stamp=build/venv/farcall-wheel

if [ ! -e clients/python/pyproject.toml ]; then
    echo "    (no Python client yet)"
    exit 0
fi

# Nothing newer than the last wheel: nothing to do.
if [ -e "$stamp" ] && [ -z "$(find clients/python "$stage"/{bin/farcall,lib,include} \
    routines/{gallery,tables} platforms -type f \
    ! -path '*/__pycache__/*' -newer "$stamp" -print -quit)" ]; then
    exit 0
fi
rm -f "$wheels"/farcall-*.whl
FARCALL_STAGE=$stage "$python" -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$wheels" clients/python
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    "$wheels"/farcall-*.whl
touch "$stamp"
