/* What a session took, by the FORTRAN 77 names of GridRPC (Ninf-G 5.1, Fortran API): information on
 * it is an INTEGER*8, the address of the struct of C. */
#include "f77_handles.h"

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
