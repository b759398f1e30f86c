#!/usr/bin/env bash
# Fetches public Fortran libraries that keepers of old code would try, for tests and measurements of
# `farcall scan`: MINPACK, QUADPACK, ODEPACK, FFTPACK, FITPACK, AMOS, CDFLIB and ODRPACK of SciPy's
# source package, special functions of SLATEC, RANLIB and DASPK of Octave's, and what these are
# linked with. Nothing of them is part of this repository.
#
# Usage: corpus.sh [FOLDER]    FOLDER (build/corpus) gets a folder for each library. Prints nothing
#                              and ends well where they are there already.
set -euo pipefail
repository=$(realpath "$(dirname "$0")/..")
folder=${1:-$repository/build/corpus}
python=$repository/build/venv/bin/python

scipy=scipy-1.3.3
scipy_sum=64bf4e8ae0db2d42b58477817f648d81e77f0b381d0ea4427385bba3f959380a
octave=octave-7.3.0
octave_sum=a508ee6aebccfa68967c9e7e0a08793c4ca8e4ddace723aabdb8f71ad34d57f1

# From where in a package each library is taken.
scipy_libraries=(
    minpack=scipy/optimize/minpack
    quadpack=scipy/integrate/quadpack
    odepack=scipy/integrate/odepack
    fftpack=scipy/fftpack/src/dfftpack
    fitpack=scipy/interpolate/fitpack
    amos=scipy/special/amos
    cdflib=scipy/special/cdflib
    odrpack=scipy/odr/odrpack
    mach=scipy/special/mach
)
octave_libraries=(
    slatec=liboctave/external/slatec-fn
    ranlib=liboctave/external/ranlib
    daspk=liboctave/external/daspk
    slatec-err=liboctave/external/slatec-err
)

fail() {
    echo "corpus.sh: $1" >&2
    exit 1
}

check() {
    echo "$2  $1" | sha256sum --quiet --check - >&2 || fail "$1 is not the file that it was"
}

# pip runs the package's own setup for its metadata, which needs setuptools.
fetch_scipy() {
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
        --no-build-isolation --dest "$1" "${scipy/-/==}" >&2 || return 1
    check "$1/$scipy.tar.gz" "$scipy_sum"
    tar -xzf "$1/$scipy.tar.gz" -C "$1"
}

# The machine's own sources of packages, for source packages, beside its own lists.
fetch_octave() {
    local parts=$1/sources.list.d
    mkdir -p "$parts" "$1/lists/partial"
    local options=(-qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$parts"
        -o "Dir::State::Lists=$1/lists" -o "APT::Sandbox::User=root")
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] || continue
        sed -n 's/^deb /deb-src /p' "$file" >"$parts/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$parts/$(basename "$file")"
    done
    apt-get "${options[@]}" update >&2 || return 1
    (cd "$1" && apt-get "${options[@]}" source --download-only --tar-only \
        "${octave%-*}=${octave#*-}-2" >&2) || return 1
    check "$1/octave_${octave#*-}.orig.tar.xz" "$octave_sum"
    tar -xJf "$1/octave_${octave#*-}.orig.tar.xz" -C "$1" --wildcards "$octave/liboctave/external/*"
}

keep() {
    local package=$1 library
    shift
    for library in "$@"; do
        mv "$package/${library#*=}" "$made/${library%%=*}"
    done
}

[ -e "$folder/.complete" ] && exit 0
[ -e "$python" ] || fail "there is no $python; run \`make build\` first"
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
made=$download/made
mkdir "$made"
fetch_scipy "$download" || fail "$scipy cannot be fetched by pip"
fetch_octave "$download" || fail "$octave cannot be fetched by apt-get"
keep "$download/$scipy" "${scipy_libraries[@]}"
keep "$download/$octave" "${octave_libraries[@]}"
# Test programs.
rm -f "$made"/ranlib/tst*.for
mkdir -p "$folder"
cp -r "$made"/. "$folder"
touch "$folder/.complete"
