/* The FORTRAN 77 names of Ninf: CALL NINF_CALL('dmmul()', N, A, B, C), or as a function that gives
   0 or -1. */
#define GRPC_NO_COUNT
#include "ninf.h"

#include "f77.h"
#include "grpc_fortran.h"

/* NINF_CALL as it is written, too: some linkers of the time knew capitals. */
#define CAPITALS(type, name, small, ...) type name(__VA_ARGS__) __attribute__((alias(#small "_")))

/* The name's length is the first of the lengths behind the arguments; it is not needed, since the
   name shows its own end. */
static int act(const char *name, const char *entry, int *session, void *const *words)
{
    char text[NAME_MAX_BYTES];
    farcall_fortran_request request = {.name = name,
        .called = f77_name(text, entry),
        .session = session,
        .words = words,
        .count = WORDS_MAX,
        .before = 1};
    return farcall_Ninf_fortran(&request);
}

/* IERR = NINF_CALL(ENTRY, …) */
F77(int, ninf_call, const char *entry, WORDS)
{
    void *const words[] = {GIVEN_WORDS};
    return act("NINF_CALL", entry, NULL, words);
}
CAPITALS(int, NINF_CALL, ninf_call, const char *entry, WORDS);

/* IERR = NINF_CALL_ASYNC(ENTRY, …) */
F77(int, ninf_call_async, const char *entry, WORDS)
{
    int starts = 0;
    void *const words[] = {GIVEN_WORDS};
    return act("NINF_CALL_ASYNC", entry, &starts, words);
}
CAPITALS(int, NINF_CALL_ASYNC, ninf_call_async, const char *entry, WORDS);

/* IERR = NINF_WAIT(SESSION) */
F77(int, ninf_wait, const int *session) { return Ninf_wait(*session); }
/* IERR = NINF_WAIT_ALL() */
F77(int, ninf_wait_all, void) { return Ninf_wait_all(); }
/* IERR = NINF_WAIT_ANY(SESSION) */
F77(int, ninf_wait_any, int *session) { return Ninf_wait_any(session); }
/* IERR = NINF_WAIT_AND(SESSIONS, COUNT) */
F77(int, ninf_wait_and, int *sessions, const int *count) { return Ninf_wait_and(sessions, *count); }
/* IERR = NINF_WAIT_OR(SESSIONS, COUNT, SESSION) */
F77(int, ninf_wait_or, int *sessions, const int *count, int *session)
{
    return Ninf_wait_or(sessions, *count, session);
}
/* IERR = NINF_SESSION_PROBE(SESSION) */
F77(int, ninf_session_probe, const int *session) { return Ninf_session_probe(*session); }
/* IERR = NINF_SESSION_CANCEL(SESSION) */
F77(int, ninf_session_cancel, const int *session) { return Ninf_session_cancel(*session); }
/* IERR = NINF_SESSION_REMOVE(SESSION) */
F77(int, ninf_session_remove, const int *session) { return Ninf_session_remove(*session); }
/* IERR = NINF_TRANSACTION_BEGIN() */
F77(int, ninf_transaction_begin, void) { return Ninf_transaction_begin(); }
/* IERR = NINF_TRANSACTION_END() */
F77(int, ninf_transaction_end, void) { return Ninf_transaction_end(); }
/* IERR = NINF_TRANSACTION_TEMPORARY(ARRAY) */
F77(int, ninf_transaction_temporary, const void *array)
{
    return Ninf_transaction_temporary(array);
}
/* IERR = NINF_CHECK_IN() */
F77(int, ninf_check_in, void) { return Ninf_check_in(); }
/* IERR = NINF_CHECK_OUT() */
F77(int, ninf_check_out, void) { return Ninf_check_out(); }
/* IERR = NINF_ERROR_CODE() */
F77(int, ninf_error_code, void) { return Ninf_error_code(); }

/* CALL NINF_PERROR(…) */
F77(void, ninf_perror, const char *words, size_t length)
{
    char text[NAME_MAX_BYTES];
    Ninf_perror(f77_text(text, words, length));
}

/* CALL NINF_SET_SERVER(HOST, PORT) */
F77(void, ninf_set_server, const char *host, const char *port, size_t host_length, size_t length)
{
    char text[NAME_MAX_BYTES], place[NAME_MAX_BYTES];
    Ninf_set_server(f77_text(place, host, host_length), f77_text(text, port, length));
}
