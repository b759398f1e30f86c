# What users of Ninf-G read after they have set NG_DIR: . $NG_DIR/etc/ninfg-user-env.sh
: "${NG_DIR:?set NG_DIR first}"
export NG_DIR
PATH=$NG_DIR/bin:$PATH
export PATH
