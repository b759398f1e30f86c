/* Attributes of handles and sessions under the FORTRAN 77 names of GridRPC: INTEGER*8, as handles
   are. */
#include "f77_handles.h"

/* The struct of C that a number stands for. */
static grpc_handle_attr_t_np attributes_of(const int64_t *number)
{
    grpc_handle_attr_t_np attributes;
    memset(&attributes, 0, sizeof attributes);
    memcpy(&attributes, number, sizeof *number);
    farcall_grpc_handle_attr_restore(&attributes);
    return attributes;
}

/* The same of a session's. */
static grpc_session_attr_t_np session_attributes_of(const int64_t *number)
{
    grpc_session_attr_t_np attributes;
    memset(&attributes, 0, sizeof attributes);
    memcpy(&attributes, number, sizeof *number);
    return attributes;
}

/* Whether an attribute is a CHARACTER; all others are INTEGERs. */
static int is_text(int name)
{
    return name == GRPC_HANDLE_ATTR_HOSTNAME || name == GRPC_HANDLE_ATTR_JOBMANAGER ||
           name == GRPC_HANDLE_ATTR_SUBJECT || name == GRPC_HANDLE_ATTR_FUNCNAME ||
           name == GRPC_HANDLE_ATTR_QUEUENAME;
}

/* ---- Of handles ------------------------------------------------------------------------------ */

/* IERR = GRPC_HANDLE_ATTR_INITIALIZE_NP(ATTR) */
F77(int, grpc_handle_attr_initialize_np, int64_t *number)
{
    grpc_handle_attr_t_np attributes = {0};
    int status = grpc_handle_attr_initialize_np(&attributes);
    memcpy(number, &attributes, sizeof *number);
    return status;
}

/* IERR = GRPC_HANDLE_ATTR_DESTRUCT_NP(ATTR) */
F77(int, grpc_handle_attr_destruct_np, int64_t *number)
{
    grpc_handle_attr_t_np attributes = attributes_of(number);
    *number = 0;
    return grpc_handle_attr_destruct_np(&attributes);
}

/* IERR = GRPC_HANDLE_ATTR_SET_NP(ATTR, NAME, VALUE). Behind a CHARACTER stands its length, and
   behind an INTEGER nothing. */
F77(int, grpc_handle_attr_set_np, const int64_t *number, const int *name, void *value,
    size_t length)
{
    char text[NAME_MAX_BYTES];
    grpc_handle_attr_t_np attributes = attributes_of(number);
    void *given = is_text(*name) ? f77_text(text, value, length) : value;
    return grpc_handle_attr_set_np(&attributes, (grpc_handle_attr_name_t_np)*name, given);
}

/* IERR = GRPC_HANDLE_ATTR_GET_NP(ATTR, NAME, VALUE). What was not set leaves VALUE as it was. */
F77(int, grpc_handle_attr_get_np, const int64_t *number, const int *name, void *value,
    size_t length)
{
    void *found = NULL;
    grpc_handle_attr_t_np attributes = attributes_of(number);
    int status = grpc_handle_attr_get_np(&attributes, (grpc_handle_attr_name_t_np)*name, &found);
    if (status != GRPC_NO_ERROR || !found)
        return status;
    if (is_text(*name))
        f77_give(value, length, found);
    else
        memcpy(value, found, sizeof(int));
    return grpc_handle_attr_release_np(found);
}

/* IERR = GRPC_FUNCTION_HANDLE_INIT_WITH_ATTR_NP(HANDLE, ATTR) */
F77(int, grpc_function_handle_init_with_attr_np, int64_t *handle, const int64_t *number)
{
    grpc_function_handle_t function = {0};
    grpc_handle_attr_t_np attributes = attributes_of(number);
    int status = grpc_function_handle_init_with_attr_np(&function, &attributes);
    memcpy(handle, &function, sizeof *handle);
    return status;
}

/* IERR = GRPC_FUNCTION_HANDLE_ARRAY_INIT_WITH_ATTR_NP(HANDLES, COUNT, ATTR) */
F77(int, grpc_function_handle_array_init_with_attr_np, int64_t *handles, const int *count,
    const int64_t *of)
{
    grpc_handle_attr_t_np attributes = attributes_of(of);
    MAKE_ARRAY(grpc_function_handle_t,
        grpc_function_handle_array_init_with_attr_np(all, number, &attributes));
}

/* IERR = GRPC_FUNCTION_HANDLE_GET_ATTR_NP(HANDLE, ATTR) */
F77(int, grpc_function_handle_get_attr_np, int64_t *handle, int64_t *number)
{
    grpc_function_handle_t function = function_of(handle);
    grpc_handle_attr_t_np attributes = {0};
    int status = grpc_function_handle_get_attr_np(&function, &attributes);
    memcpy(number, &attributes, sizeof *number);
    return status;
}

/* IERR = GRPC_OBJECT_HANDLE_INIT_WITH_ATTR_NP(HANDLE, ATTR) */
F77(int, grpc_object_handle_init_with_attr_np, int64_t *handle, const int64_t *number)
{
    grpc_object_handle_t_np object = {0};
    grpc_handle_attr_t_np attributes = attributes_of(number);
    int status = grpc_object_handle_init_with_attr_np(&object, &attributes);
    memcpy(handle, &object, sizeof *handle);
    return status;
}

/* IERR = GRPC_OBJECT_HANDLE_ARRAY_INIT_WITH_ATTR_NP(HANDLES, COUNT, ATTR) */
F77(int, grpc_object_handle_array_init_with_attr_np, int64_t *handles, const int *count,
    const int64_t *of)
{
    grpc_handle_attr_t_np attributes = attributes_of(of);
    MAKE_ARRAY(grpc_object_handle_t_np,
        grpc_object_handle_array_init_with_attr_np(all, number, &attributes));
}

/* IERR = GRPC_OBJECT_HANDLE_GET_ATTR_NP(HANDLE, ATTR) */
F77(int, grpc_object_handle_get_attr_np, int64_t *handle, int64_t *number)
{
    grpc_object_handle_t_np object = object_of(handle);
    grpc_handle_attr_t_np attributes = {0};
    int status = grpc_object_handle_get_attr_np(&object, &attributes);
    memcpy(number, &attributes, sizeof *number);
    return status;
}

/* ---- Of sessions: all are INTEGERs ----------------------------------------------------------- */

/* IERR = GRPC_SESSION_ATTR_INITIALIZE_NP(HANDLE, ATTR) */
F77(int, grpc_session_attr_initialize_np, int64_t *handle, int64_t *number)
{
    grpc_function_handle_t function = function_of(handle);
    grpc_session_attr_t_np attributes = {0};
    int status = grpc_session_attr_initialize_np(&function, &attributes);
    memcpy(number, &attributes, sizeof *number);
    return status;
}

/* IERR = GRPC_SESSION_ATTR_INITIALIZE_WITH_OBJECT_HANDLE_NP(HANDLE, ATTR) */
F77(int, grpc_session_attr_initialize_with_object_handle_np, int64_t *handle, int64_t *number)
{
    grpc_object_handle_t_np object = object_of(handle);
    grpc_session_attr_t_np attributes = {0};
    int status = grpc_session_attr_initialize_with_object_handle_np(&object, &attributes);
    memcpy(number, &attributes, sizeof *number);
    return status;
}

/* IERR = GRPC_SESSION_ATTR_DESTRUCT_NP(ATTR) */
F77(int, grpc_session_attr_destruct_np, int64_t *number)
{
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    *number = 0;
    return grpc_session_attr_destruct_np(&attributes);
}

/* IERR = GRPC_SESSION_ATTR_SET_NP(ATTR, NAME, VALUE) */
F77(int, grpc_session_attr_set_np, const int64_t *number, const int *name, int *value)
{
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    return grpc_session_attr_set_np(&attributes, (grpc_session_attr_name_t_np)*name, value);
}

/* IERR = GRPC_SESSION_ATTR_GET_NP(ATTR, NAME, VALUE). What was not set leaves VALUE as it was. */
F77(int, grpc_session_attr_get_np, const int64_t *number, const int *name, int *value)
{
    void *found = NULL;
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    int status = grpc_session_attr_get_np(&attributes, (grpc_session_attr_name_t_np)*name, &found);
    if (status != GRPC_NO_ERROR || !found)
        return status;
    memcpy(value, found, sizeof *value);
    return grpc_session_attr_release_np(found);
}

/* ---- Calls with them ------------------------------------------------------------------------- */

/* IERR = GRPC_CALL_WITH_ATTR_NP(HANDLE, ATTR, …) */
F77(int, grpc_call_with_attr_np, int64_t *handle, const int64_t *number, WORDS)
{
    void *const words[] = {GIVEN_WORDS};
    grpc_function_handle_t function = function_of(handle);
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    farcall_fortran_request request = {.name = "GRPC_CALL_WITH_ATTR_NP",
        .function = &function,
        .variable = handle,
        .words = words,
        .count = WORDS_MAX,
        .attributes = &attributes};
    return farcall_grpc_fortran(&request);
}

/* IERR = GRPC_CALL_ASYNC_WITH_ATTR_NP(HANDLE, SESSION, ATTR, …) */
F77(int, grpc_call_async_with_attr_np, int64_t *handle, int *session, const int64_t *number, WORDS)
{
    void *const words[] = {GIVEN_WORDS};
    grpc_function_handle_t function = function_of(handle);
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    farcall_fortran_request request = {.name = "GRPC_CALL_ASYNC_WITH_ATTR_NP",
        .function = &function,
        .variable = handle,
        .session = session,
        .words = words,
        .count = WORDS_MAX,
        .attributes = &attributes};
    return farcall_grpc_fortran(&request);
}

/* IERR = GRPC_INVOKE_WITH_ATTR_NP(HANDLE, METHOD, ATTR, …) */
F77(int, grpc_invoke_with_attr_np, int64_t *handle, const char *method, const int64_t *number,
    WORDS)
{
    char text[NAME_MAX_BYTES];
    void *const words[] = {GIVEN_WORDS};
    grpc_object_handle_t_np object = object_of(handle);
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    farcall_fortran_request request = {.name = "GRPC_INVOKE_WITH_ATTR_NP",
        .object = &object,
        .variable = handle,
        .called = f77_name(text, method),
        .words = words,
        .count = WORDS_MAX,
        .before = 1,
        .attributes = &attributes};
    return farcall_grpc_fortran(&request);
}

/* IERR = GRPC_INVOKE_ASYNC_WITH_ATTR_NP(HANDLE, METHOD, SESSION, ATTR, …) */
F77(int, grpc_invoke_async_with_attr_np, int64_t *handle, const char *method, int *session,
    const int64_t *number, WORDS)
{
    char text[NAME_MAX_BYTES];
    void *const words[] = {GIVEN_WORDS};
    grpc_object_handle_t_np object = object_of(handle);
    grpc_session_attr_t_np attributes = session_attributes_of(number);
    farcall_fortran_request request = {.name = "GRPC_INVOKE_ASYNC_WITH_ATTR_NP",
        .object = &object,
        .variable = handle,
        .called = f77_name(text, method),
        .session = session,
        .words = words,
        .count = WORDS_MAX,
        .before = 1,
        .attributes = &attributes};
    return farcall_grpc_fortran(&request);
}
