# The same for csh: source $NG_DIR/etc/ninfg-user-env.csh
if ( ! $?NG_DIR ) then
    echo "set NG_DIR first"
else
    setenv NG_DIR "$NG_DIR"
    setenv PATH "$NG_DIR/bin:$PATH"
endif
