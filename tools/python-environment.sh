#!/usr/bin/env bash
# Makes the Python environment build/venv that examples, tests and benchmarks run in. Does nothing
# when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# Lower bounds: what the code uses. Upper bounds: the next major version, which may take something
# away. pytest-xdist runs test files side by side: most of them wait for a server or a time limit.
# ipykernel and nbclient run cells of notebooks in a real kernel, without a browser. duckdb and h5py
# are what the module `tables` reads files with; scipy has the constants that it is made with.
packages=("numpy>=1.22,<3" "cffi>=1.15,<3" "pytest>=7,<10" "pytest-xdist>=3,<4"
    "matplotlib>=3.5,<4" "setuptools>=64" "wheel>=0.37,<1" "ipykernel>=6,<8" "nbclient>=0.8,<1"
    "duckdb>=1.4,<3" "h5py>=3.5,<4" "scipy>=1.15,<2; python_version >= '3.10'")

venv=build/venv
stamp=$venv/farcall-packages
wanted="$(python3 --version) ${packages[*]}"

# The stamp is written last, so a run that was interrupted is repeated; a moved checkout makes its
# paths wrong.
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted $PWD" ] &&
    "$venv/bin/python" -c 'import numpy' 2>/dev/null; then
    exit 0
fi
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
printf '%s' "$wanted $PWD" >"$stamp"
