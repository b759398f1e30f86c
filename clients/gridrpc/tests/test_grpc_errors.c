/* Every error of grpc.h is provoked. test_errors_are_provoked.py reads this file: each name of the
 * header stands in a PROVOKE of one of these tests, or is one that it says nothing can provoke. */
#include <fcntl.h>

#include "grpc_check.h"

#define PROVOKE(code, status) check_code((status), (code), #status, __LINE__)

static char path[] = "/tmp/farcall-grpc-errors-XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void before_and_at_the_beginning(void)
{
    grpc_function_handle_t handle;
    PROVOKE(GRPC_NOT_INITIALIZED, grpc_function_handle_default(&handle, "succeed"));
    PROVOKE(GRPC_NOT_INITIALIZED, grpc_finalize());
    PROVOKE(GRPC_CONFIGFILE_NOT_FOUND, grpc_initialize("/nonexistent/client.conf"));
    write_file("<SERVER>\nhostname localhost\ninvoke_server SSH\nno_such_attribute 1\n</SERVER>\n");
    PROVOKE(GRPC_CONFIGFILE_ERROR, grpc_initialize(path));
    CHECK_OK(grpc_initialize(NULL));
    PROVOKE(GRPC_ALREADY_INITIALIZED, grpc_initialize(NULL));
    PROVOKE(GRPC_CONFIGFILE_NOT_FOUND, grpc_config_file_read_np("/nonexistent/client.conf"));
}

static void handles(void)
{
    grpc_function_handle_t handle, array[2];
    grpc_object_handle_t_np object;
    grpc_sessionid_t session = 1;
    int y = 0;
    PROVOKE(GRPC_SERVER_NOT_FOUND,
        grpc_function_handle_init(&handle, "unix:/nonexistent/socket", "succeed"));
    PROVOKE(GRPC_FUNCTION_NOT_FOUND, grpc_function_handle_default(&handle, "nobody"));
    PROVOKE(GRPC_FUNCTION_NOT_FOUND, grpc_function_handle_array_default_np(array, 2, "nobody"));
    PROVOKE(GRPC_CLASS_NOT_FOUND_NP, grpc_object_handle_default_np(&object, "grpcchecks/Nobody"));
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    PROVOKE(GRPC_INVALID_FUNCTION_HANDLE, grpc_call(&handle, 1, &y));
    PROVOKE(GRPC_INVALID_FUNCTION_HANDLE, grpc_call_async(&handle, &session, 1, &y));
    CHECK(session == GRPC_SESSIONID_VOID);
    PROVOKE(GRPC_INVALID_FUNCTION_HANDLE, grpc_function_handle_destruct(&handle));
    PROVOKE(GRPC_OTHER_ERROR_CODE, grpc_function_handle_array_destruct_np(array, (size_t)-1));
    PROVOKE(GRPC_INVALID_FUNCTION_HANDLE, grpc_call(NULL, 1, &y));
    CHECK_OK(grpc_object_handle_default_np(&object, "grpcchecks/Counter"));
    PROVOKE(GRPC_OTHER_ERROR_CODE, grpc_invoke_np(&object, NULL, 1, &y));
    session = 1;
    PROVOKE(GRPC_OTHER_ERROR_CODE, grpc_invoke_async_np(&object, NULL, &session, 1, &y));
    CHECK(session == GRPC_SESSIONID_VOID);
    CHECK_OK(grpc_object_handle_destruct_np(&object));
    PROVOKE(GRPC_INVALID_OBJECT_HANDLE_NP, grpc_invoke_np(&object, "add", 1, &y));
}

static void sessions(void)
{
    static double large[300000];
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    grpc_sessionid_t session, any;
    int done, seconds = 1;
    double total;
    CHECK_OK(grpc_function_handle_default(&handle, "nap"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.3, &done));
    PROVOKE(GRPC_NOT_COMPLETED, grpc_probe(session));
    PROVOKE(GRPC_NONE_COMPLETED, grpc_probe_or(&session, 1, &any));
    CHECK_OK(grpc_wait(session));
    PROVOKE(GRPC_INVALID_SESSION_ID, grpc_wait(session + 1000));
    PROVOKE(GRPC_OTHER_ERROR_CODE, grpc_call(&handle, 0.3));
    PROVOKE(GRPC_OTHER_ERROR_CODE, grpc_call_async(&handle, NULL, 0.3, &done));
    CHECK_OK(grpc_session_attr_initialize_np(&handle, &attributes));
    CHECK_OK(grpc_session_attr_set_np(&attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &seconds));
    PROVOKE(GRPC_TIMEOUT_NP, grpc_call_with_attr_np(&handle, &attributes, 30.0, &done));
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "spin"));
    CHECK_OK(grpc_call_async(&handle, &session));
    CHECK_OK(grpc_cancel(session));
    PROVOKE(GRPC_SESSION_FAILED, grpc_wait(session));
    PROVOKE(GRPC_CANCELED_NP, grpc_get_error(session));
    /* Once more is the same. */
    PROVOKE(GRPC_SESSION_FAILED, grpc_wait(session));
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "sum"));
    PROVOKE(GRPC_RPC_REFUSED, grpc_call(&handle, 300000, large, &total));
    CHECK_OK(grpc_call(&handle, 1000, large, &total));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* Errors are told to nobody where standard error takes nothing. */
static void told_to_nobody(void)
{
    int full = open("/dev/full", O_WRONLY), kept = dup(2);
    CHECK(full > 0 && kept > 0 && dup2(full, 2) == 2);
    PROVOKE(GRPC_INVALID_SESSION_ID, grpc_wait(4711));
    CHECK_OK(grpc_perror_np("nobody"));
    CHECK(dup2(kept, 2) == 2);
    close(full);
    close(kept);
}

static void lost(pid_t server)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    CHECK_OK(grpc_function_handle_default(&handle, "spin"));
    CHECK_OK(grpc_call_async(&handle, &session));
    CHECK(server > 0 && kill(server, SIGKILL) == 0);
    PROVOKE(GRPC_COMMUNICATION_FAILED, grpc_wait(session));
    PROVOKE(GRPC_COMMUNICATION_FAILED, grpc_get_error(session));
}

int main(void)
{
    const char *const arguments[] = {"--manifest", path};
    farcall_server *server;
    pid_t child;
    close(mkstemp(path));
    write_file("[[plugin]]\nname = \"rpc-server\"\nslot = "
               "\"rpc\"\n[plugin.options]\ncall_bytes_max = 1048576\n");
    server = check_begin(2, arguments);
    child = check_youngest_child();
    before_and_at_the_beginning();
    handles();
    sessions();
    told_to_nobody();
    lost(child);
    CHECK_OK(grpc_finalize());
    PROVOKE(GRPC_NOT_INITIALIZED, grpc_cancel_all());
    unlink(path);
    return check_end(server);
}
