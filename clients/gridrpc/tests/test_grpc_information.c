/* What is told of a session: processor time, and what compression saved of each argument, both
   ways. */
#include "grpc_check.h"

#define N (1 << 18)

static double x[N], y[N];

static double seconds(struct timeval time)
{
    return time.tv_sec + time.tv_usec * 1e-6;
}

/* What was measured of a session that has ended well. */
static grpc_session_info_t_np *ended(grpc_sessionid_t session)
{
    grpc_session_info_t_np *info = NULL;
    int status = 0;
    CHECK_OK(grpc_wait(session));
    CHECK_OK(grpc_session_info_get_np(session, &info, &status));
    CHECK(info && status == GRPC_SESSION_DONE);
    return info;
}

static void processor_time(void)
{
    grpc_function_handle_t handle;
    grpc_session_info_t_np *info;
    grpc_sessionid_t session;
    int done = 0;
    double computed;
    CHECK_OK(grpc_function_handle_default(&handle, "nap"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.3, &done));
    info = ended(session);
    CHECK(seconds(info->gei_measureExecutable.calculationRealTime) >= 0.3);
    CHECK(seconds(info->gei_measureExecutable.transferFileToRemoteRealTime) == 0);
    CHECK(seconds(info->gei_measureExecutable.calculationCpuTime) < 0.1);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "work"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.4, &done));
    info = ended(session);
    computed = seconds(info->gei_measureExecutable.calculationCpuTime);
    /* The process may have computed a little before its first call. */
    CHECK(done == 1 && computed > 0.2 && computed < 0.5);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* Files travel with the arguments and the results. */
static void files(char *from, char *to)
{
    grpc_function_handle_t handle;
    grpc_session_info_t_np *info;
    grpc_sessionid_t session;
    CHECK_OK(grpc_function_handle_default(&handle, "duplicate"));
    CHECK_OK(grpc_call_async(&handle, &session, from, to));
    info = ended(session);
    CHECK(seconds(info->gei_measureExecutable.transferFileToRemoteRealTime) > 0);
    CHECK(seconds(info->gei_measureExecutable.transferFileToClientRealTime) > 0);
    CHECK(unlink(to) == 0);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* Whether all of an array went over the line, in fewer bytes. */
static int saved(const grpc_compression_info_t_np *array)
{
    return array->valid == 1 && array->originalNbytes == sizeof x && array->compressionNbytes > 0 &&
        array->compressionNbytes < sizeof x / 4;
}

static void compression(void)
{
    grpc_function_handle_t handle;
    grpc_session_info_t_np *info, older;
    grpc_sessionid_t session;
    double total = 0;
    int index;
    for (index = 0; index < N; index++)
        x[index] = 1;
    CHECK_OK(grpc_function_handle_default(&handle, "sum"));
    CHECK_OK(grpc_call_async(&handle, &session, N, x, &total));
    info = ended(session);
    CHECK(total == N && info->gei_compressionInformation.nElements == 3);
    CHECK(saved(&info->gei_compressionInformation.toRemote[1]));
    CHECK(seconds(info->gei_compressionInformation.toRemote[1].compressionRealTime) > 0);
    CHECK(!info->gei_compressionInformation.toRemote[0].valid &&
          !info->gei_compressionInformation.toClient[1].valid);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_get_info_np(session, &older, NULL));
    CHECK(older.gei_compressionInformation.nElements == 0 &&
          !older.gei_compressionInformation.toRemote);
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "scale"));
    CHECK_OK(grpc_call_async(&handle, &session, N, 2.0, x, y));
    info = ended(session);
    CHECK(y[N - 1] == 2 && info->gei_compressionInformation.nElements == 4);
    CHECK(saved(&info->gei_compressionInformation.toRemote[2]) &&
          saved(&info->gei_compressionInformation.toRemote[3]));
    CHECK(saved(&info->gei_compressionInformation.toClient[3]) &&
          !info->gei_compressionInformation.toClient[2].valid);
    CHECK(seconds(info->gei_compressionInformation.toClient[3].decompressionRealTime) > 0);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_function_handle_destruct(&handle));

    /* One that failed has none. */
    CHECK_OK(grpc_function_handle_default(&handle, "crash"));
    CHECK_OK(grpc_call_async(&handle, &session, 1));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_session_info_get_np(session, &info, NULL));
    CHECK(info && info->gei_compressionInformation.nElements == 0);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

int main(void)
{
    char folder[] = "/tmp/farcall-information-XXXXXX", token[100], path[100], copy[100];
    const char *const arguments[] = {"--listen", "tcp:127.0.0.1:0", "--token-file", token,
        "--manifest", "clients/gridrpc/tests/compressing.toml"};
    farcall_server *server;
    FILE *file;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(token, sizeof token, "%s/token", folder);
    setenv("FARCALL_TOKEN_FILE", token, 1);
    server = check_begin(6, arguments);
    snprintf(path, sizeof path, "%s/client", folder);
    snprintf(copy, sizeof copy, "%s/copy", folder);
    file = fopen(path, "w");
    fprintf(
        file, "<SERVER>\nhostname %s\ncompress zlib\n</SERVER>\n", farcall_server_address(server));
    fclose(file);
    CHECK_OK(grpc_initialize(path));
    processor_time();
    compression();
    files(path, copy);
    CHECK_OK(grpc_finalize());
    unlink(path);
    unlink(token);
    rmdir(folder);
    return check_end(server);
}
