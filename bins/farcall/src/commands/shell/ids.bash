
# Completes the names of routines, the ids of calls, data and transactions that a server keeps, and of objects that it holds; all else as above.
_farcall_ids() {
    local list names
    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
        "fetch fetch" | "kept --forget") list=kept ;;
        "objects --delete") list=objects ;;
        "data --delete") list=data ;;
        "transactions transactions" | "transactions --end") list=transactions ;;
        "call call" | "show show" | "submit submit" | "ls ls") names=yes ;;
    esac
    if [[ -n $list && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
        COMPREPLY=($(compgen -W "$(farcall "$list" 2>/dev/null | grep -Eo '^[0-9a-f]{32}')" -- "${COMP_WORDS[COMP_CWORD]}"))
    elif [[ -n $names && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
        # Full names, and those behind the module.
        COMPREPLY=($(compgen -W "$(farcall ls 2>/dev/null | sed -n 's#^\(\([^ /]*/\)\([^ ]*\)\).*#\1 \3#p')" -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        _farcall "$@"
    fi
}
complete -F _farcall_ids -o bashdefault -o default farcall
