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

/* ---- What a session took --------------------------------------------------------------------- */

/* IERR = GRPC_SESSION_INFO_GET_NP(SESSION, INFO, STATUS) */
F77(int, grpc_session_info_get_np, const int *session, int64_t *info, int *status)
{
    grpc_session_info_t_np *found = NULL;
    int done = grpc_session_info_get_np(*session, &found, status);
    *info = (int64_t)(intptr_t)found;
    return done;
}

/* IERR = GRPC_SESSION_INFO_RELEASE_NP(INFO) */
F77(int, grpc_session_info_release_np, int64_t *info)
{
    int status = grpc_session_info_release_np((grpc_session_info_t_np *)(intptr_t)*info);
    *info = 0;
    return status;
}

/* IERR = GRPC_SESSION_INFO_REMOVE_NP(SESSION) */
F77(int, grpc_session_info_remove_np, const int *session)
{
    return grpc_session_info_remove_np(*session);
}
/* IERR = GRPC_SESSION_INFO_SET_THRESHOLD_NP(MOST) */
F77(int, grpc_session_info_set_threshold_np, const int *most)
{
    return grpc_session_info_set_threshold_np(*most);
}

/* A time in two INTEGERs, as the manual has it. INFO is 0 where none was had, or it was released.
   */
static int give_time(
    const int64_t *info, const struct timeval *time, int *seconds, int *microseconds)
{
    if (!*info)
        return GRPC_OTHER_ERROR_CODE;
    *seconds = (int)time->tv_sec;
    *microseconds = (int)time->tv_usec;
    return GRPC_NO_ERROR;
}

#define INFO ((const grpc_session_info_t_np *)(intptr_t)*info)

/* GRPC_SINFO_GET_…_REAL_TIME_NP(INFO, SEC, USEC) and GRPC_SINFO_GET_…_CPU_TIME_NP. */
#define TIME(name, part, member) \
    F77(int, grpc_sinfo_get_##name##_real_time_np, const int64_t *info, int *seconds, \
        int *microseconds) \
    { \
        return give_time(info, &INFO->part.member##RealTime, seconds, microseconds); \
    } \
    F77(int, grpc_sinfo_get_##name##_cpu_time_np, const int64_t *info, int *seconds, \
        int *microseconds) \
    { \
        return give_time(info, &INFO->part.member##CpuTime, seconds, microseconds); \
    }

TIME(executable_transfer_arg, gei_measureExecutable, transferArgumentToRemote)
TIME(executable_transfer_file_to_remote, gei_measureExecutable, transferFileToRemote)
TIME(executable_calculation, gei_measureExecutable, calculation)
TIME(executable_transfer_res, gei_measureExecutable, transferResultToClient)
TIME(executable_transfer_file_to_client, gei_measureExecutable, transferFileToClient)
TIME(executable_callback_transfer_arg, gei_measureExecutable, callbackTransferArgumentToClient)
TIME(executable_callback_calculation, gei_measureExecutable, callbackCalculation)
TIME(executable_callback_transfer_res, gei_measureExecutable, callbackTransferResultToRemote)
TIME(client_remote_machine_info_request, gei_measureClient, remoteMachineInfoRequest)
TIME(client_remote_class_info_request, gei_measureClient, remoteClassInfoRequest)
TIME(client_gram_invoke, gei_measureClient, gramInvoke)
TIME(client_transfer_arg, gei_measureClient, transferArgumentToRemote)
TIME(client_calculation, gei_measureClient, calculation)
TIME(client_transfer_res, gei_measureClient, transferResultToClient)
TIME(client_callback_transfer_arg, gei_measureClient, callbackTransferArgumentToClient)
TIME(client_callback_calculation, gei_measureClient, callbackCalculation)
TIME(client_callback_transfer_res, gei_measureClient, callbackTransferResultToRemote)

/* A count, or a number of bytes, which FORTRAN's INTEGER holds up to 2 GiB. */
static int give_number(const int64_t *info, int number, int *value)
{
    if (!*info)
        return GRPC_OTHER_ERROR_CODE;
    *value = number;
    return GRPC_NO_ERROR;
}

/* IERR = GRPC_SINFO_GET_EXECUTABLE_CALLBACK_NTIMES_CALLED_NP(INFO, VALUE) */
F77(int, grpc_sinfo_get_executable_callback_ntimes_called_np, const int64_t *info, int *value)
{
    return give_number(info, *info ? INFO->gei_measureExecutable.callbackNtimesCalled : 0, value);
}

/* IERR = GRPC_SINFO_GET_CLIENT_CALLBACK_NTIMES_CALLED_NP(INFO, VALUE) */
F77(int, grpc_sinfo_get_client_callback_ntimes_called_np, const int64_t *info, int *value)
{
    return give_number(info, *info ? INFO->gei_measureClient.callbackNtimesCalled : 0, value);
}

/* IERR = GRPC_SINFO_GET_COMP_N_ELEMENTS_NP(INFO, VALUE) */
F77(int, grpc_sinfo_get_comp_n_elements_np, const int64_t *info, int *value)
{
    return give_number(info, *info ? INFO->gei_compressionInformation.nElements : 0, value);
}

/* What compression did to argument number n, from 1; NULL for no such one. */
static const grpc_compression_info_t_np *compression(const int64_t *info, int to_client, int n)
{
    if (!*info || n < 1 || n > INFO->gei_compressionInformation.nElements)
        return NULL;
    return &(to_client ? INFO->gei_compressionInformation.toClient
                       : INFO->gei_compressionInformation.toRemote)[n - 1];
}

#define COMPRESSION(direction, to_client) \
    F77(int, grpc_sinfo_get_comp_##direction##_valid_np, const int64_t *info, const int *n, \
        int *value) \
    { \
        const grpc_compression_info_t_np *one = compression(info, to_client, *n); \
        return one ? give_number(info, one->valid, value) : GRPC_OTHER_ERROR_CODE; \
    } \
    F77(int, grpc_sinfo_get_comp_##direction##_original_nbytes_np, const int64_t *info, \
        const int *n, int *value) \
    { \
        const grpc_compression_info_t_np *one = compression(info, to_client, *n); \
        return one ? give_number(info, (int) one->originalNbytes, value) : GRPC_OTHER_ERROR_CODE; \
    } \
    F77(int, grpc_sinfo_get_comp_##direction##_compression_nbytes_np, const int64_t *info, \
        const int *n, int *value) \
    { \
        const grpc_compression_info_t_np *one = compression(info, to_client, *n); \
        return one ? give_number(info, (int) one->compressionNbytes, value) \
                   : GRPC_OTHER_ERROR_CODE; \
    } \
    COMPRESSION_TIME(direction, to_client, compression) \
    COMPRESSION_TIME(direction, to_client, decompression)

#define COMPRESSION_TIME(direction, to_client, what) \
    F77(int, grpc_sinfo_get_comp_##direction##_##what##_real_time_np, const int64_t *info, \
        const int *n, int *sec, int *usec) \
    { \
        const grpc_compression_info_t_np *one = compression(info, to_client, *n); \
        return one ? give_time(info, &one->what##RealTime, sec, usec) : GRPC_OTHER_ERROR_CODE; \
    } \
    F77(int, grpc_sinfo_get_comp_##direction##_##what##_cpu_time_np, const int64_t *info, \
        const int *n, int *sec, int *usec) \
    { \
        const grpc_compression_info_t_np *one = compression(info, to_client, *n); \
        return one ? give_time(info, &one->what##CpuTime, sec, usec) : GRPC_OTHER_ERROR_CODE; \
    }

COMPRESSION(to_remote, 0)
COMPRESSION(to_client, 1)
