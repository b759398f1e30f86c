#!/bin/sh
# Builds the remote executables; "build.sh clean" removes them.
# NG_DIR must be set
: ${NG_DIR:?}
. $NG_DIR/etc/ninfg-user-env.sh

MODULES="heat check f2c"

if [ "$1" = clean ]; then
    for m in $MODULES; do
	[ -f $m.mak ] && make -f $m.mak veryclean
    done
    rm -f *.mak *.o all.nrf
    exit 0
fi

set -e
cc -O2 -c stencil.c
cc -O2 -c dblas.c
for m in $MODULES; do
    ng_gen --with-cpp --maxStubs=60 -DMODULE=$m $m.idl
    make -f $m.mak
done
# all in one file, for machines that have no others
ng_gen_nrf -o all.nrf _stub_*.inf
