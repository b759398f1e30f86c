#!/usr/bin/env bash
# Makes PREFIX/ng, which serves as $NG_DIR. Usage: stage.sh PREFIX
#
# Headers and libraries are links to those of the prefix, so that there is one of each.
set -euo pipefail

from=$(cd "$(dirname "$0")" && pwd)
prefix=$1
ng=$prefix/ng

mkdir -p "$ng"/{bin,lib,etc}
install -C -m 755 "$from/ng" "$ng/bin/ng"
for name in ng_gen ng_cc ng_compiler ng_linker ng_gen_nrf ng_gen_dif ng_version ng_config \
    ninf_gen ninfidlc ninfcc ninff77; do
    ln -sfn ng "$ng/bin/$name"
done
install -C -m 755 "$from/ninf" "$ng/bin/ninf"
for name in ninf_serv_tcp ninf_register; do
    ln -sfn ninf "$ng/bin/$name"
done
# The library starts it for clients of this host.
ln -sfn ../../bin/farcall "$ng/bin/farcall"
install -C -m 644 "$from/template.mk" "$ng/lib/template.mk"
ln -sfn ../lib/template.mk "$ng/etc/template.mk"
ln -sfn template.mk "$ng/lib/template"
install -C -m 644 "$from/template" "$ng/template"
for shell in sh csh; do
    install -C -m 644 "$from/ninfg-user-env.$shell" "$ng/etc/ninfg-user-env.$shell"
done
# Linkers follow links; a run-time path leads to the file itself.
ln -sfn ../../lib/libfarcall.so "$ng/lib/libfarcall.so"
ln -sfn ../../lib/libfarcall.so.0 "$ng/lib/libfarcall.so.0"
ln -sfn ../../lib/libfarcall_fortran.a "$ng/lib/libfarcall_fortran.a"
# Also the names of FORTRAN 77, and the first Ninf's without a header, where the prefix has them: linkers
# read this as a script.
group="libfarcall.so"
[ ! -e "$prefix/lib/libfarcall_fortran.a" ] || group="libfarcall_fortran.a $group"
for library in nggrpc ngclient ngexecutable ngcommon ngnet ngutility ninf Ninf NinfClient; do
    rm -f "$ng/lib/lib$library.so"
    echo "GROUP ( $group )" >"$ng/lib/lib$library.so"
done
ln -sfn ../include "$ng/include"
