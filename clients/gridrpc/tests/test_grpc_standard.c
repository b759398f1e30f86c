/* All 20 functions of GFD-R.052 with each error that each of them may return, and the loops that
 * programs have around them: on handles of the default server and of a named one, while its
 * processes have to start first and when they run.
 *
 * Without arguments, with a server of its own; with a configuration file and a host, as a program
 * that was written for Ninf-G, whose stub executables the file names. */
#include <sys/wait.h>

#include "grpc_check.h"

/* A run that takes longer hangs. */
enum { SECONDS_MAX = 240, SESSIONS = 4, ROUNDS = 100 };

/* What runs: it is printed if it hangs. */
static const char *volatile part = "nothing";
static char *configuration;
static char path[] = "/tmp/farcall-grpc-standard-XXXXXX";

static void hangs(int signal)
{
    const char *words = part;
    (void)signal;
    if (write(2, "hangs in: ", 10) + write(2, words, strlen(words)) + write(2, "\n", 1) < 0)
        _exit(3);
    _exit(2);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

/* A handle of the named server, or of the default one. */
static grpc_error_t bind_to(grpc_function_handle_t *handle, char *server, char *name)
{
    return server ? grpc_function_handle_init(handle, server, name)
                  : grpc_function_handle_default(handle, name);
}

/* Each function but grpc_error_string, which needs nothing. */
static void without_initialize(void)
{
    grpc_function_handle_t handle, *found = &handle;
    grpc_sessionid_t sessions[2] = {1, 2}, any = 1;
    int y = 0;
    memset(&handle, 0, sizeof handle);
    CHECK_CODE(grpc_finalize(), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_function_handle_default(&handle, "plus"), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_function_handle_init(&handle, "localhost", "plus"), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_function_handle_destruct(&handle), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_get_handle(&found, 1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_call(&handle, 1, &y), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_call_async(&handle, &any, 1, &y), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_probe(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_probe_or(sessions, 2, &any), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_cancel(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_cancel_all(), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_and(sessions, 2), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_or(sessions, 2, &any), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_all(), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_wait_any(&any), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_get_error(1), GRPC_NOT_INITIALIZED);
    CHECK_CODE(grpc_get_failed_sessionid(&any), GRPC_NOT_INITIALIZED);
}

static void beginnings(void)
{
    static const char *const wrong[] = {
        "<SERVER>\nhostname localhost\nnobody_knows_it 1\n</SERVER>\n",
        "<SERVER>\nhostname localhost\ntag a\ntag b\n</SERVER>\n", "<SERVER>\nhostname localhost\n",
        "<NOTHING>\n</NOTHING>\n", "<CLIENT>\n</CLIENT>\n<CLIENT>\n</CLIENT>\n"};
    size_t index;
    CHECK_CODE(grpc_initialize("/nonexistent/client.conf"), GRPC_CONFIGFILE_NOT_FOUND);
    for (index = 0; index < sizeof wrong / sizeof *wrong; index++) {
        write_file(wrong[index]);
        CHECK_CODE(grpc_initialize(path), GRPC_CONFIGFILE_ERROR);
    }
    CHECK_CODE(grpc_wait_all(), GRPC_NOT_INITIALIZED);
    CHECK_OK(grpc_initialize(configuration));
    CHECK_CODE(grpc_initialize(configuration), GRPC_ALREADY_INITIALIZED);
    CHECK_CODE(grpc_initialize("/nonexistent/client.conf"), GRPC_ALREADY_INITIALIZED);
}

static void words(void)
{
    int code, other;
    for (code = GRPC_NO_ERROR; code <= GRPC_CANCELED_NP; code++)
        for (other = GRPC_NO_ERROR; other < code; other++)
            CHECK(strcmp(grpc_error_string(code), grpc_error_string(other)) != 0);
    CHECK(strcmp(grpc_error_string(-1), "GRPC_UNKNOWN_ERROR_CODE") == 0);
    CHECK(strcmp(grpc_error_string(100000), "GRPC_UNKNOWN_ERROR_CODE") == 0);
}

static void handles(char *server)
{
    grpc_function_handle_t handle, none;
    grpc_sessionid_t session = 7;
    int y = 0;
    CHECK_CODE(bind_to(&handle, server, "grpcstandard/nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_CODE(bind_to(&handle, server, "nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_init(&handle, "unix:/nonexistent/socket", "grpcstandard/plus"),
        GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_call(&handle, 1, &y), GRPC_INVALID_FUNCTION_HANDLE);
    memset(&none, 0, sizeof none);
    CHECK_CODE(grpc_function_handle_destruct(&none), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_function_handle_destruct(NULL), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_call(&none, 1, &y), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_call_async(&none, &session, 1, &y), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK(session == GRPC_SESSIONID_VOID);
    CHECK_OK(bind_to(&handle, server, "grpcstandard/plus"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK(y == 2);
    CHECK_CODE(grpc_call(&handle, 1), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_call(&handle, 5, &y, 7));
    CHECK(y == 6);
    CHECK_CODE(grpc_call_async(&handle, NULL, 1, &y), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_call(&handle, 2, &y));
    CHECK(y == 3);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_CODE(grpc_function_handle_destruct(&handle), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_call(&handle, 1, &y), GRPC_INVALID_FUNCTION_HANDLE);
}

static void numbers_of_nobody(char *server)
{
    grpc_function_handle_t handle, *found = NULL;
    grpc_sessionid_t sessions[2] = {0, 123456789}, any = 3;
    int bad[] = {GRPC_SESSIONID_VOID, 0, 123456789, INT_MIN}, index, y = 0;
    CHECK_OK(bind_to(&handle, server, "grpcstandard/plus"));
    CHECK_OK(grpc_call_async(&handle, &sessions[0], 1, &y));
    for (index = 0; index < 4; index++) {
        CHECK_CODE(grpc_probe(bad[index]), GRPC_INVALID_SESSION_ID);
        CHECK_CODE(grpc_cancel(bad[index]), GRPC_INVALID_SESSION_ID);
        CHECK_CODE(grpc_wait(bad[index]), GRPC_INVALID_SESSION_ID);
        CHECK_CODE(grpc_get_error(bad[index]), GRPC_INVALID_SESSION_ID);
        CHECK_CODE(grpc_get_handle(&found, bad[index]), GRPC_INVALID_SESSION_ID);
        sessions[1] = bad[index];
        CHECK_CODE(grpc_probe_or(sessions, 2, &any), GRPC_INVALID_SESSION_ID);
        CHECK_CODE(grpc_wait_and(sessions, 2), GRPC_INVALID_SESSION_ID);
        CHECK_CODE(grpc_wait_or(sessions, 2, &any), GRPC_INVALID_SESSION_ID);
    }
    CHECK_OK(grpc_wait_and(sessions, 1));
    CHECK(y == 2);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* The first grpc_probe_or, just after three calls of which one takes no time, and then nothing: who
 * hears that none has ended spins for ever. */
static void probe_once_and_spin(char *server)
{
    grpc_function_handle_t handles[3];
    grpc_sessionid_t sessions[3], any = GRPC_SESSIONID_VOID;
    int index, quick;
    for (quick = 0; quick < 3; quick++) {
        for (index = 0; index < 3; index++)
            CHECK_OK(bind_to(&handles[index], server, "grpcstandard/rest"));
        for (index = 0; index < 3; index++)
            CHECK_OK(grpc_call_async(
                &handles[index], &sessions[index], index == quick ? 0 : 60000));
        CHECK_OK(grpc_probe_or(sessions, 3, &any));
        CHECK(any == sessions[quick]);
        CHECK_OK(grpc_wait(any));
        CHECK_OK(grpc_cancel_all());
        CHECK_CODE(grpc_wait_all(), GRPC_SESSION_FAILED);
        for (index = 0; index < 3; index++)
            CHECK_OK(grpc_function_handle_destruct(&handles[index]));
        while (grpc_get_failed_sessionid(&any) == GRPC_NO_ERROR && any != GRPC_SESSIONID_VOID) {
        }
    }
}

/* A session that runs has not ended, for each function that asks. */
static void while_it_runs(char *server)
{
    grpc_function_handle_t handle, *found = NULL;
    grpc_sessionid_t sessions[2], any = 7;
    int index;
    CHECK_OK(bind_to(&handle, server, "grpcstandard/rest"));
    for (index = 0; index < 2; index++)
        CHECK_OK(grpc_call_async(&handle, &sessions[index], 60000));
    CHECK_CODE(grpc_probe(sessions[0]), GRPC_NOT_COMPLETED);
    CHECK_CODE(grpc_probe_or(sessions, 2, &any), GRPC_NONE_COMPLETED);
    CHECK(any == GRPC_SESSIONID_VOID);
    CHECK_OK(grpc_get_error(sessions[0]));
    CHECK_OK(grpc_get_handle(&found, sessions[1]));
    CHECK(found == &handle);
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == GRPC_SESSIONID_VOID);
    CHECK_OK(grpc_cancel(sessions[0]));
    CHECK_CODE(grpc_wait(sessions[0]), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_get_error(sessions[0]), GRPC_CANCELED_NP);
    CHECK_CODE(grpc_probe(sessions[1]), GRPC_NOT_COMPLETED);
    CHECK_OK(grpc_cancel_all());
    CHECK_CODE(grpc_wait_and(sessions, 2), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK_OK(grpc_get_failed_sessionid(&any));
}

static void start_all(grpc_function_handle_t *handle, grpc_sessionid_t *sessions, int *y)
{
    int index;
    for (index = 0; index < SESSIONS; index++)
        CHECK_OK(grpc_call_async(handle, &sessions[index], index, &y[index]));
}

/* Until all have ended, by each of the ways that programs have to ask. */
static void loops_of_probes(char *server)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t sessions[SESSIONS], left[SESSIONS], any;
    int y[SESSIONS], index, count, status;
    CHECK_OK(bind_to(&handle, server, "grpcstandard/plus"));

    part = "a loop of grpc_probe, and grpc_wait behind it";
    start_all(&handle, sessions, y);
    for (index = 0; index < SESSIONS; index++) {
        while ((status = grpc_probe(sessions[index])) == GRPC_NOT_COMPLETED) {
        }
        CHECK_OK(status);
        CHECK_OK(grpc_wait(sessions[index]));
        CHECK_OK(grpc_probe(sessions[index]));
        CHECK_OK(grpc_wait(sessions[index]));
        CHECK_OK(grpc_get_error(sessions[index]));
        CHECK(y[index] == index + 1);
    }

    part = "a loop of grpc_probe_or over those that are left";
    start_all(&handle, sessions, y);
    memcpy(left, sessions, sizeof left);
    for (count = SESSIONS; count > 0;) {
        if (grpc_probe_or(left, count, &any) != GRPC_NO_ERROR)
            continue;
        for (index = 0; left[index] != any; index++) {
        }
        left[index] = left[--count];
    }
    CHECK_OK(grpc_wait_and(sessions, SESSIONS));

    part = "a loop of grpc_probe_or over all, with grpc_wait";
    start_all(&handle, sessions, y);
    memset(left, 0, sizeof left);
    for (count = 0; count < SESSIONS;) {
        if (grpc_probe_or(sessions, SESSIONS, &any) != GRPC_NO_ERROR)
            continue;
        CHECK_OK(grpc_wait(any));
        for (index = 0; sessions[index] != any; index++) {
        }
        count += !left[index];
        left[index] = 1;
    }
    CHECK_OK(grpc_wait_any(&any));
    CHECK(any == GRPC_SESSIONID_VOID);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* The same by each of the ways to wait. */
static void loops_of_waits(char *server)
{
    grpc_function_handle_t handle, *found = NULL;
    grpc_sessionid_t sessions[SESSIONS], seen[SESSIONS], any;
    int y[SESSIONS], index, count, status;
    CHECK_OK(bind_to(&handle, server, "grpcstandard/plus"));

    part = "a loop of grpc_wait_or";
    start_all(&handle, sessions, y);
    for (index = 0, count = 0; index < SESSIONS; index++) {
        CHECK_OK(grpc_wait_or(sessions, SESSIONS, &seen[index]));
        for (count = 0; count < index; count++)
            CHECK(seen[count] != seen[index]);
    }

    part = "a loop of grpc_wait_any until no session is left";
    start_all(&handle, sessions, y);
    for (count = 0; (status = grpc_wait_any(&any)) == GRPC_NO_ERROR; count++)
        if (any == GRPC_SESSIONID_VOID)
            break;
    CHECK_OK(status);
    CHECK(count == SESSIONS);
    for (index = 0; index < SESSIONS; index++)
        CHECK(y[index] == index + 1);
    CHECK_OK(grpc_wait_all());
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == GRPC_SESSIONID_VOID);

    part = "a call with the handle of a session";
    CHECK_OK(grpc_get_handle(&found, sessions[0]));
    CHECK_OK(grpc_call(found, 41, y));
    CHECK(y[0] == 42);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* Routines that exit and that die fail their own sessions, and are popped exactly. */
static void those_that_fail(char *server)
{
    grpc_function_handle_t good, bad[2];
    grpc_sessionid_t sessions[SESSIONS], any;
    int y[SESSIONS] = {0}, index, count, seen;
    CHECK_OK(bind_to(&good, server, "grpcstandard/plus"));
    CHECK_OK(bind_to(&bad[0], server, "grpcstandard/leave"));
    CHECK_OK(bind_to(&bad[1], server, "grpcstandard/strike"));
    CHECK_CODE(grpc_call(&bad[0], 0), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_call(&bad[1], SIGSEGV), GRPC_SESSION_FAILED);

    for (index = 0; index < SESSIONS; index++)
        if (index % 2)
            CHECK_OK(grpc_call_async(&bad[index / 2], &sessions[index], SIGABRT));
        else
            CHECK_OK(grpc_call_async(&good, &sessions[index], index, &y[index]));
    CHECK_CODE(grpc_wait_all(), GRPC_SESSION_FAILED);
    for (count = 0, seen = 0; count <= SESSIONS; count++) {
        CHECK_OK(grpc_get_failed_sessionid(&any));
        if (any == GRPC_SESSIONID_VOID)
            break;
        seen += any == sessions[1] || any == sessions[3];
    }
    CHECK(count == 2 && seen == 2);
    for (index = 0; index < SESSIONS; index++)
        CHECK_CODE(
            grpc_get_error(sessions[index]), index % 2 ? GRPC_SESSION_FAILED : GRPC_NO_ERROR);
    CHECK(y[0] == 1 && y[2] == 3);

    /* Each wait says so of them. */
    CHECK_OK(grpc_call_async(&bad[0], &sessions[0], 1));
    CHECK_CODE(grpc_wait(sessions[0]), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_call_async(&bad[0], &sessions[0], 1));
    CHECK_CODE(grpc_wait_and(sessions, 1), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_call_async(&bad[0], &sessions[0], 1));
    CHECK_CODE(grpc_wait_or(sessions, 1, &any), GRPC_SESSION_FAILED);
    CHECK(any == sessions[0]);
    CHECK_OK(grpc_call_async(&bad[0], &sessions[0], 1));
    CHECK_CODE(grpc_wait_any(&any), GRPC_SESSION_FAILED);
    CHECK(any == sessions[0]);
    CHECK_OK(grpc_probe(sessions[0]));
    CHECK_OK(grpc_function_handle_destruct(&good));
    CHECK_OK(grpc_function_handle_destruct(&bad[0]));
    CHECK_OK(grpc_function_handle_destruct(&bad[1]));
    for (count = 0; count < 4; count++)
        CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == GRPC_SESSIONID_VOID);
}

/* Routines that ask whether they were cancelled: at once, and while they run; one that does not ask
 * is given a while, and then ended. */
static void those_that_are_cancelled(char *server)
{
    enum { AT_ONCE, WHILE_IT_RUNS, WITH_ALL, DEAF, WAYS };
    grpc_function_handle_t handle;
    grpc_sessionid_t session, any;
    int polls, way;
    for (way = AT_ONCE; way < WAYS; way++) {
        polls = -1;
        CHECK_OK(bind_to(&handle, server, way == DEAF ? "grpcstandard/spin" : "grpcstandard/poll"));
        if (way == DEAF)
            CHECK_OK(grpc_call_async(&handle, &session));
        else
            CHECK_OK(grpc_call_async(&handle, &session, &polls));
        if (way == WHILE_IT_RUNS)
            usleep(50000);
        CHECK_OK(way == WITH_ALL ? grpc_cancel_all() : grpc_cancel(session));
        CHECK_CODE(way == WITH_ALL ? grpc_wait_all() : grpc_wait(session), GRPC_SESSION_FAILED);
        CHECK_CODE(grpc_get_error(session), GRPC_CANCELED_NP);
        CHECK_OK(grpc_cancel(session));
        CHECK_OK(grpc_get_failed_sessionid(&any));
        CHECK(any == session);
        CHECK_OK(grpc_function_handle_destruct(&handle));
    }
}

/* A handle that goes takes its sessions along, which are waited for all the same. */
static void a_handle_goes_first(char *server)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session, any;
    CHECK_OK(bind_to(&handle, server, "grpcstandard/rest"));
    CHECK_OK(grpc_call_async(&handle, &session, 60000));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_get_failed_sessionid(&any));
}

/* A handle that has a process of its own, as all have at a program's own server, finds what it left
 * there. */
static void a_process_for_each(char *server)
{
    grpc_function_handle_t one, other;
    int number = 0, also = 0, index;
    if (!server && !configuration)
        return;
    CHECK_OK(bind_to(&one, server, "grpcstandard/tally"));
    CHECK_OK(bind_to(&other, server, "grpcstandard/tally"));
    for (index = 1; index <= 3; index++) {
        CHECK_OK(grpc_call(&one, &number));
        CHECK_OK(index == 2 ? grpc_call(&other, &also) : GRPC_NO_ERROR);
        CHECK(number == index && also == (index > 1));
    }
    CHECK_OK(grpc_function_handle_destruct(&one));
    CHECK_OK(grpc_function_handle_destruct(&other));
}

static void battery(char *server)
{
    static const struct {
        const char *name;
        void (*run)(char *server);
    } parts[] = {{"a probe, and nothing else", probe_once_and_spin}, {"handles", handles},
        {"numbers of nobody", numbers_of_nobody}, {"while it runs", while_it_runs},
        {"loops of probes", loops_of_probes}, {"loops of waits", loops_of_waits},
        {"those that fail", those_that_fail},
        {"those that are cancelled", those_that_are_cancelled},
        {"a handle goes first", a_handle_goes_first},
        {"a process for each", a_process_for_each}};
    size_t index;
    for (index = 0; index < sizeof parts / sizeof *parts; index++) {
        part = parts[index].name;
        parts[index].run(server);
    }
}

/* Begins and ends over and over, with calls and with sessions that run on. */
static void again_and_again(char *server, int rounds)
{
    grpc_function_handle_t handle, rest;
    grpc_sessionid_t session;
    int round, y = 0;
    for (round = 0; round < rounds; round++) {
        CHECK_OK(grpc_initialize(configuration));
        if (round % 10 == 0) {
            CHECK_OK(bind_to(&handle, round % 20 ? server : NULL, "grpcstandard/plus"));
            CHECK_OK(grpc_call(&handle, round, &y));
            CHECK(y == round + 1);
            CHECK_OK(bind_to(&rest, NULL, "grpcstandard/rest"));
            CHECK_OK(grpc_call_async(&rest, &session, 60000));
        }
        CHECK_OK(grpc_finalize());
        CHECK_CODE(grpc_finalize(), GRPC_NOT_INITIALIZED);
    }
}

/* Errors of a server of our own: what it does not take, what it has no more, and its end. */
static void errors_of_servers(farcall_server *server, pid_t process)
{
    static double large[300000];
    char *address = (char *)farcall_server_address(server);
    grpc_function_handle_t sum, plus, rest;
    grpc_sessionid_t session;
    double total = 0;
    int y = 0;
    CHECK_OK(grpc_function_handle_default(&sum, "grpcstandard/sum"));
    CHECK_CODE(grpc_call(&sum, 300000, large, &total), GRPC_RPC_REFUSED);
    CHECK_CODE(grpc_call_async(&sum, &session, 300000, large, &total), GRPC_RPC_REFUSED);
    CHECK(session == GRPC_SESSIONID_VOID);

    CHECK_OK(grpc_function_handle_default(&plus, "grpcstandard/plus"));
    CHECK_OK(grpc_call(&plus, 1, &y));
    CHECK(system("farcall withdraw grpcstandard >/dev/null") == 0);
    CHECK_CODE(grpc_call(&plus, 1, &y), GRPC_FUNCTION_NOT_FOUND);
    /* Who starts it may hear of it later. */
    y = grpc_call_async(&plus, &session, 1, &y);
    if (y == GRPC_NO_ERROR) {
        CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
        y = grpc_get_error(session);
    }
    CHECK_CODE(y, GRPC_FUNCTION_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_default(&rest, "grpcstandard/rest"), GRPC_FUNCTION_NOT_FOUND);
    CHECK(system("farcall publish clients/gridrpc/tests/standard.idl >/dev/null") == 0);
    CHECK_OK(grpc_function_handle_default(&rest, "grpcstandard/rest"));

    CHECK_OK(grpc_call_async(&rest, &session, 60000));
    CHECK(process > 0 && kill(process, SIGKILL) == 0);
    CHECK_CODE(grpc_wait(session), GRPC_COMMUNICATION_FAILED);
    CHECK_CODE(grpc_get_error(session), GRPC_COMMUNICATION_FAILED);
    CHECK_CODE(grpc_call(&rest, 1), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_call_async(&rest, &session, 1), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_default(&sum, "grpcstandard/sum"), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_init(&sum, address, "grpcstandard/sum"), GRPC_SERVER_NOT_FOUND);
    CHECK_OK(grpc_function_handle_destruct(&rest));
}

int main(int argc, char **argv)
{
    static const char *const arguments[] = {"--manifest", path};
    static const char *const more[] = {"clients/gridrpc/tests/standard.idl"};
    farcall_server *server = NULL;
    char *named = argc > 2 ? argv[2] : NULL;
    pid_t process = 0;
    int temperature;
    close(mkstemp(path));
    signal(SIGALRM, hangs);
    alarm(SECONDS_MAX);
    configuration = argc > 2 ? argv[1] : NULL;
    if (!configuration) {
        write_file("[[plugin]]\nname = \"rpc-server\"\nslot = "
                   "\"rpc\"\n[plugin.options]\ncall_bytes_max = 1048576\n"
                   "executables_max = 64\n");
        server = check_begin_with(more, 1, arguments, 2);
        process = check_youngest_child();
        named = getenv("FARCALL_SERVER");
    }
    part = "before grpc_initialize";
    without_initialize();
    words();
    beginnings();
    for (temperature = 0; temperature < 2; temperature++) {
        battery(NULL);
        battery(named);
    }
    CHECK_OK(grpc_finalize());
    part = "again and again";
    again_and_again(named, ROUNDS);
    without_initialize();
    if (server) {
        part = "errors of servers";
        CHECK_OK(grpc_initialize(NULL));
        errors_of_servers(server, process);
        CHECK_OK(grpc_finalize());
    }
    unlink(path);
    if (server)
        return check_end(server);
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}
