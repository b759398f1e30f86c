/* The functions of the first Ninf by their plain names, for C programs that include no header, and
 * for those that declare functions themselves: ninf.h binds the names to symbols that begin with
 * farcall_. $NG_DIR/lib/libninf.so and its kin bring them with the FORTRAN 77 names.
 *
 * Each jumps with all registers as they are, also of a variadic call. Weak: a program may have a
 * function of such a name itself. */

#define PLAIN(name) \
    __asm__(".text\n" \
            ".weak " #name "\n" \
            ".type " #name ", @function\n" \
            #name ":\n" \
            "    endbr64\n" \
            "    jmp farcall_" #name "@PLT\n" \
            ".size " #name ", .-" #name "\n")

PLAIN(Ninf_call);
PLAIN(Ninf_call_async);
PLAIN(Ninf_call_v);
PLAIN(Ninf_call_v_async);
PLAIN(Ninf_get_stub);
PLAIN(Ninf_free_stub);
PLAIN(Ninf_call_body);
PLAIN(Ninf_call_body_async);
PLAIN(Ninf_call_body_v);
PLAIN(Ninf_call_body_v_async);
PLAIN(Ninf_local_exec);
PLAIN(Ninf_call_exec);

PLAIN(Ninf_get_executable);
PLAIN(Ninf_get_executable_from_session);
PLAIN(Ninf_call_executable);
PLAIN(Ninf_call_executable_async);
PLAIN(Ninf_executable_finalize);
PLAIN(Ninf_group_init);
PLAIN(Ninf_group_call_async);
PLAIN(Ninf_group_wait_all);

PLAIN(Ninf_wait);
PLAIN(Ninf_wait_all);
PLAIN(Ninf_wait_any);
PLAIN(Ninf_wait_and);
PLAIN(Ninf_wait_or);
PLAIN(Ninf_wait_and_set);
PLAIN(Ninf_wait_or_set);
PLAIN(Ninf_session_probe);
PLAIN(Ninf_session_cancel);
PLAIN(Ninf_session_remove);
PLAIN(Ninf_sync);
PLAIN(Ninf_get_info);
PLAIN(Ninf_get_last_info);

PLAIN(Ninf_transaction_begin);
PLAIN(Ninf_transaction_end);
PLAIN(Ninf_transaction_cancel);
PLAIN(Ninf_transaction_temporary);
PLAIN(Ninf_check_in);
PLAIN(Ninf_check_out);

PLAIN(Ninf_set_server);
PLAIN(Ninf_parse_arg);
PLAIN(Ninf_query);
PLAIN(Ninf_find);
PLAIN(Ninf_error_code);
PLAIN(Ninf_perror);
