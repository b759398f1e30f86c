/* The FORTRAN 77 names of Ninf: CALL NINF_CALL('dmmul()', N, A, B, C), or as a function that gives 0 or -1. */
#define GRPC_NO_COUNT
#include "ninf.h"

#include "f77.h"
#include "grpc_fortran.h"

/* NINF_CALL as it is written, too: some linkers of the time knew capitals. */
#define CAPITALS(type, name, small, ...) type name(__VA_ARGS__) __attribute__((alias(#small "_")))

static int act(const char *name, const char *entry, int *session, void *const *words)
{
    char text[NAME_MAX_BYTES];
    farcall_fortran_request request = {.name = name, .called = f77_name(text, entry), .session = session, .words = words,
                                       .count = WORDS_MAX, .before = 1};
    return farcall_Ninf_fortran(&request);
}

F77(int, ninf_call, const char *entry, WORDS)
{
    void *const words[] = {GIVEN_WORDS};
    return act("NINF_CALL", entry, NULL, words);
}
CAPITALS(int, NINF_CALL, ninf_call, const char *entry, WORDS);

F77(int, ninf_call_async, const char *entry, WORDS)
{
    int starts = 0;
    void *const words[] = {GIVEN_WORDS};
    return act("NINF_CALL_ASYNC", entry, &starts, words);
}
CAPITALS(int, NINF_CALL_ASYNC, ninf_call_async, const char *entry, WORDS);

F77(int, ninf_wait, const int *session) { return Ninf_wait(*session); }
F77(int, ninf_wait_all, void) { return Ninf_wait_all(); }
F77(int, ninf_wait_any, int *session) { return Ninf_wait_any(session); }
F77(int, ninf_wait_and, int *sessions, const int *count) { return Ninf_wait_and(sessions, *count); }
F77(int, ninf_wait_or, int *sessions, const int *count, int *session) { return Ninf_wait_or(sessions, *count, session); }
F77(int, ninf_session_probe, const int *session) { return Ninf_session_probe(*session); }
F77(int, ninf_session_cancel, const int *session) { return Ninf_session_cancel(*session); }
F77(int, ninf_session_remove, const int *session) { return Ninf_session_remove(*session); }
F77(int, ninf_transaction_begin, void) { return Ninf_transaction_begin(); }
F77(int, ninf_transaction_end, void) { return Ninf_transaction_end(); }
F77(int, ninf_check_in, void) { return Ninf_check_in(); }
F77(int, ninf_check_out, void) { return Ninf_check_out(); }
F77(int, ninf_error_code, void) { return Ninf_error_code(); }

F77(void, ninf_perror, const char *words, size_t length)
{
    char text[NAME_MAX_BYTES];
    Ninf_perror(f77_text(text, words, length));
}

F77(void, ninf_set_server, const char *host, const char *port, size_t host_length, size_t length)
{
    char text[NAME_MAX_BYTES], place[NAME_MAX_BYTES];
    Ninf_set_server(f77_text(place, host, host_length), f77_text(text, port, length));
}
