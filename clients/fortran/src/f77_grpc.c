/* The FORTRAN 77 names of GridRPC (Ninf-G 5.1, Fortran API): functions of fixed arguments, all by
 * reference, lengths of CHARACTERs behind them. Handles are INTEGER*8: the number that the struct
 * of C begins with. */
#include "f77_handles.h"

/* ---- The start and the end ------------------------------------------------------------------- */

/* IERR = GRPC_INITIALIZE(FILE) */
F77(int, grpc_initialize, const char *file, size_t length)
{
    char text[NAME_MAX_BYTES];
    return grpc_initialize(f77_text(text, file, length));
}

/* IERR = GRPC_FINALIZE() */
F77(int, grpc_finalize, void)
{
    return grpc_finalize();
}

/* IERR = GRPC_CONFIG_FILE_READ_NP(FILE) */
F77(int, grpc_config_file_read_np, const char *file, size_t length)
{
    char text[NAME_MAX_BYTES];
    return grpc_config_file_read_np(f77_text(text, file, length));
}

/* ---- Handles --------------------------------------------------------------------------------- */

/* IERR = GRPC_FUNCTION_HANDLE_DEFAULT(HANDLE, NAME) */
F77(int, grpc_function_handle_default, int64_t *handle, const char *name, size_t length)
{
    char text[NAME_MAX_BYTES];
    grpc_function_handle_t function;
    int status = grpc_function_handle_default(&function, f77_text(text, name, length));
    memcpy(handle, &function, sizeof *handle);
    return status;
}

/* IERR = GRPC_FUNCTION_HANDLE_INIT(HANDLE, SERVER, NAME) */
F77(int, grpc_function_handle_init, int64_t *handle, const char *server, const char *name,
    size_t server_length, size_t length)
{
    char text[NAME_MAX_BYTES], host[NAME_MAX_BYTES];
    grpc_function_handle_t function;
    int status = grpc_function_handle_init(
        &function, f77_text(host, server, server_length), f77_text(text, name, length));
    memcpy(handle, &function, sizeof *handle);
    return status;
}

/* IERR = GRPC_FUNCTION_HANDLE_DESTRUCT(HANDLE) */
F77(int, grpc_function_handle_destruct, int64_t *handle)
{
    grpc_function_handle_t function = function_of(handle);
    return grpc_function_handle_destruct(&function);
}

/* IERR = GRPC_FUNCTION_HANDLE_IS_READY_NP(HANDLE) */
F77(int, grpc_function_handle_is_ready_np, int64_t *handle)
{
    grpc_function_handle_t function = function_of(handle);
    return grpc_function_handle_is_ready_np(&function);
}

/* IERR = GRPC_FUNCTION_HANDLE_GET_ERROR_NP(HANDLE) */
F77(int, grpc_function_handle_get_error_np, int64_t *handle)
{
    grpc_function_handle_t function = function_of(handle);
    return grpc_function_handle_get_error_np(&function);
}

/* IERR = GRPC_OBJECT_HANDLE_IS_READY_NP(HANDLE) */
F77(int, grpc_object_handle_is_ready_np, int64_t *handle)
{
    grpc_object_handle_t_np object = object_of(handle);
    return grpc_object_handle_is_ready_np(&object);
}

/* IERR = GRPC_OBJECT_HANDLE_GET_ERROR_NP(HANDLE) */
F77(int, grpc_object_handle_get_error_np, int64_t *handle)
{
    grpc_object_handle_t_np object = object_of(handle);
    return grpc_object_handle_get_error_np(&object);
}

/* IERR = GRPC_OBJECT_HANDLE_DEFAULT_NP(HANDLE, NAME) */
F77(int, grpc_object_handle_default_np, int64_t *handle, const char *name, size_t length)
{
    char text[NAME_MAX_BYTES];
    grpc_object_handle_t_np object;
    int status = grpc_object_handle_default_np(&object, f77_text(text, name, length));
    memcpy(handle, &object, sizeof *handle);
    return status;
}

/* IERR = GRPC_OBJECT_HANDLE_INIT_NP(HANDLE, SERVER, NAME) */
F77(int, grpc_object_handle_init_np, int64_t *handle, const char *server, const char *name,
    size_t server_length, size_t length)
{
    char text[NAME_MAX_BYTES], host[NAME_MAX_BYTES];
    grpc_object_handle_t_np object;
    int status = grpc_object_handle_init_np(
        &object, f77_text(host, server, server_length), f77_text(text, name, length));
    memcpy(handle, &object, sizeof *handle);
    return status;
}

/* IERR = GRPC_OBJECT_HANDLE_DESTRUCT_NP(HANDLE) */
F77(int, grpc_object_handle_destruct_np, int64_t *handle)
{
    grpc_object_handle_t_np object = object_of(handle);
    return grpc_object_handle_destruct_np(&object);
}

/* Hands so many over to `end`. */
#define END_ARRAY(type, of, end) \
    size_t number = *count > 0 ? (size_t)*count : 0; \
    type *all = calloc(number + 1, sizeof *all); \
    if (!all) \
        return GRPC_OTHER_ERROR_CODE; \
    for (size_t index = 0; index < number; index++) \
        all[index] = of(&handles[index]); \
    int status = (end); \
    free(all); \
    return status

/* IERR = GRPC_FUNCTION_HANDLE_ARRAY_DEFAULT_NP(HANDLES, COUNT, NAME) */
F77(int, grpc_function_handle_array_default_np, int64_t *handles, const int *count,
    const char *name, size_t length)
{
    char text[NAME_MAX_BYTES];
    MAKE_ARRAY(grpc_function_handle_t,
        grpc_function_handle_array_default_np(all, number, f77_text(text, name, length)));
}

/* IERR = GRPC_FUNCTION_HANDLE_ARRAY_INIT_NP(HANDLES, COUNT, SERVER, NAME) */
F77(int, grpc_function_handle_array_init_np, int64_t *handles, const int *count, const char *server,
    const char *name, size_t server_length, size_t length)
{
    char text[NAME_MAX_BYTES], host[NAME_MAX_BYTES];
    f77_text(host, server, server_length);
    MAKE_ARRAY(grpc_function_handle_t,
        grpc_function_handle_array_init_np(all, number, host, f77_text(text, name, length)));
}

/* IERR = GRPC_FUNCTION_HANDLE_ARRAY_DESTRUCT_NP(HANDLES, COUNT) */
F77(int, grpc_function_handle_array_destruct_np, int64_t *handles, const int *count)
{
    END_ARRAY(
        grpc_function_handle_t, function_of, grpc_function_handle_array_destruct_np(all, number));
}

/* IERR = GRPC_OBJECT_HANDLE_ARRAY_DEFAULT_NP(HANDLES, COUNT, NAME) */
F77(int, grpc_object_handle_array_default_np, int64_t *handles, const int *count, const char *name,
    size_t length)
{
    char text[NAME_MAX_BYTES];
    MAKE_ARRAY(grpc_object_handle_t_np,
        grpc_object_handle_array_default_np(all, number, f77_text(text, name, length)));
}

/* IERR = GRPC_OBJECT_HANDLE_ARRAY_INIT_NP(HANDLES, COUNT, SERVER, NAME) */
F77(int, grpc_object_handle_array_init_np, int64_t *handles, const int *count, const char *server,
    const char *name, size_t server_length, size_t length)
{
    char text[NAME_MAX_BYTES], host[NAME_MAX_BYTES];
    f77_text(host, server, server_length);
    MAKE_ARRAY(grpc_object_handle_t_np,
        grpc_object_handle_array_init_np(all, number, host, f77_text(text, name, length)));
}

/* IERR = GRPC_OBJECT_HANDLE_ARRAY_DESTRUCT_NP(HANDLES, COUNT) */
F77(int, grpc_object_handle_array_destruct_np, int64_t *handles, const int *count)
{
    END_ARRAY(
        grpc_object_handle_t_np, object_of, grpc_object_handle_array_destruct_np(all, number));
}

/* A session's handle is the variable that its call was given. */
F77(int, grpc_get_handle, int64_t *handle, const int *session)
{
    grpc_function_handle_t *function = NULL;
    int status = grpc_get_handle(&function, *session);
    *handle = 0;
    if (status == GRPC_NO_ERROR && function)
        memcpy(handle, function, sizeof *handle);
    return status;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* IERR = GRPC_CALL(HANDLE, …) */
F77(int, grpc_call, int64_t *handle, WORDS)
{
    void *const words[] = {GIVEN_WORDS};
    grpc_function_handle_t function = function_of(handle);
    farcall_fortran_request request = {.name = "GRPC_CALL",
        .function = &function,
        .variable = handle,
        .words = words,
        .count = WORDS_MAX};
    return farcall_grpc_fortran(&request);
}

/* IERR = GRPC_CALL_ASYNC(HANDLE, SESSION, …) */
F77(int, grpc_call_async, int64_t *handle, int *session, WORDS)
{
    void *const words[] = {GIVEN_WORDS};
    grpc_function_handle_t function = function_of(handle);
    farcall_fortran_request request = {.name = "GRPC_CALL_ASYNC",
        .function = &function,
        .variable = handle,
        .session = session,
        .words = words,
        .count = WORDS_MAX};
    return farcall_grpc_fortran(&request);
}

/* IERR = GRPC_INVOKE_NP(HANDLE, METHOD, …) */
F77(int, grpc_invoke_np, int64_t *handle, const char *method, WORDS)
{
    char text[NAME_MAX_BYTES];
    void *const words[] = {GIVEN_WORDS};
    grpc_object_handle_t_np object = object_of(handle);
    farcall_fortran_request request = {.name = "GRPC_INVOKE_NP",
        .object = &object,
        .variable = handle,
        .called = f77_name(text, method),
        .words = words,
        .count = WORDS_MAX,
        .before = 1};
    return farcall_grpc_fortran(&request);
}

/* IERR = GRPC_INVOKE_ASYNC_NP(HANDLE, METHOD, SESSION, …) */
F77(int, grpc_invoke_async_np, int64_t *handle, const char *method, int *session, WORDS)
{
    char text[NAME_MAX_BYTES];
    void *const words[] = {GIVEN_WORDS};
    grpc_object_handle_t_np object = object_of(handle);
    farcall_fortran_request request = {.name = "GRPC_INVOKE_ASYNC_NP",
        .object = &object,
        .variable = handle,
        .called = f77_name(text, method),
        .session = session,
        .words = words,
        .count = WORDS_MAX,
        .before = 1};
    return farcall_grpc_fortran(&request);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* IERR = GRPC_PROBE(SESSION) */
F77(int, grpc_probe, const int *session) { return grpc_probe(*session); }
/* IERR = GRPC_CANCEL(SESSION) */
F77(int, grpc_cancel, const int *session) { return grpc_cancel(*session); }
/* IERR = GRPC_CANCEL_ALL() */
F77(int, grpc_cancel_all, void) { return grpc_cancel_all(); }
/* IERR = GRPC_WAIT(SESSION) */
F77(int, grpc_wait, const int *session) { return grpc_wait(*session); }
/* IERR = GRPC_WAIT_ALL() */
F77(int, grpc_wait_all, void) { return grpc_wait_all(); }
/* IERR = GRPC_WAIT_ANY(SESSION) */
F77(int, grpc_wait_any, int *session) { return grpc_wait_any(session); }
/* IERR = GRPC_GET_ERROR(SESSION) */
F77(int, grpc_get_error, const int *session) { return grpc_get_error(*session); }
/* IERR = GRPC_GET_FAILED_SESSIONID(SESSION) */
F77(int, grpc_get_failed_sessionid, int *session) { return grpc_get_failed_sessionid(session); }
/* IERR = GRPC_LAST_ERROR_GET_NP() */
F77(int, grpc_last_error_get_np, void) { return grpc_last_error_get_np(); }

/* How many sessions a set has; a negative number is none. */
static size_t many(const int *count)
{
    return *count > 0 ? (size_t)*count : 0;
}

/* IERR = GRPC_PROBE_OR(SESSIONS, COUNT, SESSION) */
F77(int, grpc_probe_or, int *sessions, const int *count, int *session)
{
    return grpc_probe_or(sessions, many(count), session);
}
/* IERR = GRPC_WAIT_AND(SESSIONS, COUNT) */
F77(int, grpc_wait_and, int *sessions, const int *count)
{
    return grpc_wait_and(sessions, many(count));
}
/* IERR = GRPC_WAIT_OR(SESSIONS, COUNT, SESSION) */
F77(int, grpc_wait_or, int *sessions, const int *count, int *session)
{
    return grpc_wait_or(sessions, many(count), session);
}

/* As a function that returns characters, whose place and length come first. */
F77(void, grpc_error_string, char *text, size_t length, const int *error)
{
    f77_give(text, length, grpc_error_string(*error));
}

/* CALL GRPC_PERROR_NP(…) */
F77(void, grpc_perror_np, const char *words, size_t length)
{
    char text[NAME_MAX_BYTES];
    grpc_perror_np(f77_text(text, words, length));
}
