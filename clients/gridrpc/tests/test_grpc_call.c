/* Synchronous calls: beginning and end, handles, every kind of argument, and each error on the way.
   */
#include "grpc_check.h"

struct single { float r, i; };
struct pair { double r, i; };

/* Names of the interface as other things: no macro gets in their way. */
struct grpc_call {
    int grpc_wait;
};

static void before_the_beginning(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session = 1;
    int status = 0;
    memset(&handle, 0, sizeof handle);
    CHECK_CODE(grpc_finalize(), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_function_handle_default(&handle, "succeed"), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_function_handle_init(&handle, "x", "succeed"), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_function_handle_destruct(&handle), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_call(&handle, 1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_call_async(&handle, &session, 1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_probe(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_probe_or(&session, 1, &session), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_and(&session, 1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_or(&session, 1, &session), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_all(), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_any(&session), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_cancel(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_cancel_all(), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_get_error(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_get_failed_sessionid(&session), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_session_info_get_np(1, NULL, &status), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_config_file_read_np(NULL), GRPC_NOT_INITIALIZED);
    CHECK(grpc_arg_stack_new(3) == NULL);
    CHECK(grpc_last_error_get_np() == GRPC_NOT_INITIALIZED &&
          grpc_get_last_error_np() == GRPC_NOT_INITIALIZED);
}

static void beginnings(void)
{
    int round;
    CHECK_CODE(grpc_initialize("/nonexistent/file"), GRPC_CONFIGFILE_NOT_FOUND);
    setenv("NG_CONFIG_FILE", "/nonexistent/file", 1);
    CHECK_CODE(grpc_initialize(""), GRPC_CONFIGFILE_NOT_FOUND);
    unsetenv("NG_CONFIG_FILE");
    for (round = 0; round < 100; round++) {
        grpc_function_handle_t handle;
        int y = 0;
        if (grpc_initialize(NULL) || grpc_initialize(NULL) != GRPC_ALREADY_INITIALIZED ||
            grpc_function_handle_default(&handle, "succeed") || grpc_call(&handle, round, &y) ||
            y != round + 1 || grpc_finalize())
            break;
    }
    CHECK(round == 100);
}

static void handles(void)
{
    grpc_function_handle_t handle, copy, unset = {0};
    int y = 0;
    CHECK(sizeof(grpc_function_handle_t) == 64 && sizeof(grpc_object_handle_t_np) == 64);
    CHECK(sizeof(grpc_handle_attr_t_np) == 64 && sizeof(grpc_session_attr_t_np) == 64);
    CHECK_CODE(grpc_function_handle_default(&handle, "grpcchecks/nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_CODE(grpc_call(&handle, 1, &y), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_function_handle_init(&handle, "unix:/nonexistent/socket", "succeed"),
        GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_init(&handle, "no address", "succeed"), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_default(NULL, "succeed"), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_function_handle_default(&handle, NULL), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_function_handle_destruct(&unset), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_function_handle_destruct(NULL), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_call(NULL, 1, &y), GRPC_INVALID_FUNCTION_HANDLE);

    CHECK_OK(grpc_function_handle_init(&handle, getenv("FARCALL_SERVER"), "grpcchecks/succeed"));
    copy = handle;
    CHECK_OK(grpc_call(&copy, 41, &y));
    CHECK(y == 42);
    CHECK_OK(grpc_function_handle_is_ready_np(&handle));
    CHECK_OK(grpc_function_handle_get_error_np(&copy));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_CODE(grpc_call(&copy, 41, &y), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_function_handle_destruct(&copy), GRPC_INVALID_FUNCTION_HANDLE);
}

static void arguments(void)
{
    grpc_function_handle_t handle;
    struct single z = {7.5f, -8.5f};
    struct pair w = {9.25, -10.25};
    struct grpc_call named = {3};
    double seen[10] = {0}, x[3] = {1, 2, 3}, y[3] = {10, 20, 30}, total = -1;
    float f = 5.5f;
    char c = 'a';
    short s = -2;
    char *greeting = NULL;
    grpc_error_t (*pointer)(grpc_function_handle_t *, ...) = grpc_call;
    int result = 0;

    CHECK_OK(grpc_function_handle_default(&handle, "kinds"));
    CHECK_OK(grpc_call(&handle, c, s, named.grpc_wait, 1L << 40, f, 6.5, z, w, seen));
    CHECK(seen[0] == 'a' && seen[1] == -2 && seen[2] == 3 && seen[3] == (double) (1L << 40) &&
          seen[4] == 5.5 && seen[5] == 6.5 && seen[6] == 7.5 && seen[7] == -8.5 &&
          seen[8] == 9.25 && seen[9] == -10.25);
    /* C's char is a number, and may be below zero. */
    CHECK_OK(grpc_call(&handle, (signed char)-3, s, 3, 1L << 40, f, 6.5, z, w, seen));
    CHECK(seen[0] == (char)-3);
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "scale"));
    CHECK_OK(grpc_call(&handle, 3, 2.0, x, y));
    CHECK(y[0] == 12 && y[1] == 24 && y[2] == 36);
    CHECK_OK(grpc_call(&handle, 0, 2.0, NULL, NULL));
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "greet"));
    CHECK_OK(grpc_call(&handle, "world", &greeting));
    CHECK(greeting && strcmp(greeting, "hello, world") == 0);
    free(greeting);
    CHECK_OK(grpc_call(&handle, NULL, &greeting));
    CHECK(greeting && strcmp(greeting, "hello, nobody") == 0);
    free(greeting);
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "sum"));
    CHECK_CODE(grpc_call(&handle, 3, NULL, &total), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_call(&handle, 3, x, &total));
    CHECK(total == 6);
    CHECK_OK(grpc_function_handle_destruct(&handle));

    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(pointer(&handle, 6, &result));
    CHECK(result == 7);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* What a thread says of its last error, as text. */
static void last_words(char *words, size_t size)
{
    int standard_error = dup(2), ends[2];
    ssize_t bytes;
    if (pipe(ends) != 0 || dup2(ends[1], 2) < 0)
        exit(1);
    grpc_perror_np("test");
    dup2(standard_error, 2);
    close(ends[1]);
    bytes = read(ends[0], words, size - 1);
    words[bytes > 0 ? bytes : 0] = 0;
    close(ends[0]);
    close(standard_error);
}

static void wrong_counts(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session = 5;
    char words[1000];
    int y = 0;
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_CODE(grpc_call(&handle, 1), GRPC_OTHER_ERROR_CODE);
    last_words(words, sizeof words);
    CHECK(strstr(words, "test: Other error: ") == words);
    CHECK(strstr(words, "grpcchecks/succeed takes 2 arguments, not 1") != NULL);
    /* More than enough is not looked at. */
    CHECK_OK(grpc_call(&handle, 1, &y, 3));
    CHECK_CODE(grpc_call(&handle), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_call_async(&handle, &session, 1), GRPC_OTHER_ERROR_CODE);
    CHECK(session == GRPC_SESSIONID_VOID);
    CHECK(grpc_last_error_get_np() == GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_function_handle_get_error_np(&handle), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void failures(void)
{
    grpc_function_handle_t handle;
    CHECK_OK(grpc_function_handle_default(&handle, "crash"));
    CHECK_CODE(grpc_call(&handle, 1), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_call(&handle, 1), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_function_handle_default(&handle, "leave"));
    CHECK_CODE(grpc_call(&handle, 3), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void words_of_codes(void)
{
    int code;
    for (code = GRPC_NO_ERROR; code <= GRPC_CANCELED_NP; code++)
        CHECK(strlen(grpc_error_string(code)) > 5);
    CHECK(strcmp(grpc_error_string(GRPC_NO_ERROR), "No error") == 0);
    CHECK(strcmp(grpc_error_string(GRPC_INVALID_SESSION_ID), "Session ID is not valid") == 0);
    CHECK(strcmp(grpc_error_string(-7), "GRPC_UNKNOWN_ERROR_CODE") == 0);
    CHECK(strcmp(grpc_error_string(1000), "GRPC_UNKNOWN_ERROR_CODE") == 0);
}

static void a_server_that_ends(void)
{
    grpc_function_handle_t handle;
    farcall_server *server;
    farcall_error *error;
    static const char *const files[] = {"clients/gridrpc/tests/checks.idl"};
    farcall_server_options options = {sizeof options, NULL, files, 1, NULL, 0, 0};
    int y = 0;
    if (farcall_server_start(&options, &server, &error) != FARCALL_OK) {
        CHECK(!"a second server");
        return;
    }
    CHECK_OK(grpc_function_handle_init(&handle, (char *)farcall_server_address(server), "succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    farcall_server_stop(server);
    usleep(20 * 1000);
    /* A connection that was idle is looked at, so that this call does not get lost in it. */
    CHECK_CODE(grpc_call(&handle, 1, &y), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_call(&handle, 1, &y), GRPC_SERVER_NOT_FOUND);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    before_the_beginning();
    beginnings();
    CHECK_OK(grpc_initialize(NULL));
    handles();
    arguments();
    wrong_counts();
    failures();
    words_of_codes();
    a_server_that_ends();
    CHECK_OK(grpc_finalize());
    CHECK_CODE(grpc_finalize(), GRPC_NOT_INITIALIZED);
    return check_end(server);
}
