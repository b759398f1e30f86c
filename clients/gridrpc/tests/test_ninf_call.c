/* The classic Ninf interface: calls of every form, sessions, sets, groups, transactions and errors.
   */
#include <sys/wait.h>

#include "ninf_error.h"

#include "grpc_check.h"

#define N 1000

static void entries(void)
{
    char url[300];
    int y = 0;
    CHECK(Ninf_call("succeed", 1, &y) == NINF_OK && y == 2);
    CHECK(Ninf_call("grpcchecks/succeed()", 2, &y) == NINF_OK && y == 3);
    CHECK(Ninf_call("nobody", 2, &y) == NINF_ERROR && Ninf_error_code() == CANTFINDSTUB);
    CHECK(
        Ninf_call("ftp://host/succeed", 2, &y) == NINF_ERROR && Ninf_error_code() == MALFORMED_URL);
    CHECK(Ninf_call("ninf://localhost:1/succeed", 2, &y) == NINF_ERROR &&
          Ninf_error_code() == CANTCONNECTSERVER);
    CHECK(Ninf_call("succeed", 2) == NINF_ERROR && Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_call(NULL, 2) == NINF_ERROR && Ninf_error_code() == INVALID_ARGUMENT);
    /* Without a server of its own, an entry with a host of this name is the default server's. */
    snprintf(url, sizeof url, "ninf://localhost/grpcchecks/succeed");
    CHECK(Ninf_call(url, 3, &y) == NINF_OK && y == 4);
}

static void servers(void)
{
    char *arguments[] = {
        "program", "-server", "unix:/nonexistent", "file", "-debug", "-port", "3000", "last", NULL};
    char *wrong[] = {"program", "-port", "many", NULL};
    int y = 0;
    CHECK(Ninf_parse_arg(8, arguments) == 3);
    CHECK(strcmp(arguments[1], "file") == 0 && strcmp(arguments[2], "last") == 0 &&
          arguments[3] == NULL);
    CHECK(Ninf_call("succeed", 1, &y) == NINF_ERROR && Ninf_error_code() == CANTCONNECTSERVER);
    CHECK(Ninf_parse_arg(3, wrong) == NINF_ERROR);
    Ninf_set_server(getenv("FARCALL_SERVER"), NULL);
    CHECK(Ninf_call("succeed", 5, &y) == NINF_OK && y == 6);
    Ninf_set_server(NULL, NULL);
    setenv("NINF_SERVER", "unix:/nonexistent", 1);
    CHECK(Ninf_call("succeed", 1, &y) == NINF_ERROR);
    unsetenv("NINF_SERVER");
    CHECK(Ninf_call("succeed", 6, &y) == NINF_OK && y == 7);
}

/* An int where the interface says long, with whatever lies beside it. A long long is all of it. */
static void longs(void)
{
    double y = 0;
    long long wide = 0;
    any_t arguments[2];
    CHECK(Ninf_call("negate", 5, &y) == NINF_OK && y == -5);
    CHECK(Ninf_call("negate", -5, &y) == NINF_OK && y == 5);
    CHECK(Ninf_call("negate", (1L << 40) + 7, &y) == NINF_OK && y == -7);
    any_set_long(&arguments[0], 9);
    any_set_pointer(&arguments[1], &y);
    CHECK(Ninf_call_v("negate", arguments) == NINF_OK && y == -9);
    any_set_int(&arguments[0], 11);
    CHECK(Ninf_wait(Ninf_call_v_async("negate", arguments)) == NINF_OK && y == -11);
    any_set_long(&arguments[0], (1L << 40) + 3);
    CHECK(Ninf_call_v("negate", arguments) == NINF_OK && y == -3);
    CHECK(Ninf_call("negate_wide", (1LL << 40) + 7, &wide) == NINF_OK && wide == -(1LL << 40) - 7);
    any_set_pointer(&arguments[1], &wide);
    CHECK(Ninf_call_v("negate_wide", arguments) == NINF_OK && wide == -(1LL << 40) - 3);
}

static void stubs(void)
{
    stub_info *stub = NULL;
    Ninf_executable_t *executable;
    any_t arguments[3];
    double sum = 0;
    int session;
    CHECK(Ninf_get_stub("add", NULL, &stub) == NINF_OK && stub);
    CHECK(Ninf_call_body(stub, 1, 2.5, &sum) == NINF_OK && sum == 3.5);
    CHECK(Ninf_wait(Ninf_call_body_async(stub, 2, 2.5, &sum)) == NINF_OK && sum == 4.5);
    any_set_short(&arguments[0], 3);
    any_set_float(&arguments[1], 0.25);
    any_set_pointer(&arguments[2], &sum);
    CHECK(Ninf_call_body_v(stub, arguments) == NINF_OK && sum == 3.25);
    any_set_char(&arguments[0], 4);
    any_set_double(&arguments[1], 0.5);
    CHECK(Ninf_wait(Ninf_call_body_v_async(stub, arguments)) == NINF_OK && sum == 4.5);
    /* An address where a number is wanted. */
    any_set_pointer(&arguments[0], &sum);
    CHECK(Ninf_call_body_v(stub, arguments) == NINF_ERROR && Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_free_stub(stub) == NINF_OK && Ninf_free_stub(NULL) == NINF_ERROR);
    CHECK(Ninf_call_body(stub, 1, 2.5, &sum) == NINF_ERROR && Ninf_error_code() == STUBREMOVED);
    CHECK(Ninf_get_stub("nobody", NULL, &stub) == NINF_ERROR && stub == NULL);

    executable = Ninf_get_executable("add");
    CHECK(executable && Ninf_call_executable(executable, 1, 1.0, &sum) == NINF_OK && sum == 2);
    session = Ninf_call_executable_async(executable, 2, 2.0, &sum);
    CHECK(session > 0 && Ninf_get_executable_from_session(session) == executable);
    CHECK(Ninf_wait(session) == NINF_OK && sum == 4);
    CHECK(Ninf_get_executable_from_session(session) == NULL);
    CHECK(Ninf_executable_finalize(executable) == NINF_OK);
    CHECK(Ninf_call_executable(executable, 1, 1.0, &sum) == NINF_ERROR &&
          Ninf_error_code() == STUBREMOVED);
    CHECK(Ninf_executable_finalize(executable) == NINF_ERROR && Ninf_error_code() == STUBREMOVED);
    CHECK(Ninf_get_executable("nobody") == NULL);
}

static void sets_of_sessions(void)
{
    int y[5], index, any = 0;
    id_set *set = new_id_set(), *ended;
    for (index = 0; index < 5; index++)
        id_set_add(set, Ninf_call_async("succeed", index, &y[index]));
    CHECK(id_set_length(set) == 5 && id_set_get_id(set, 0) > 0 && id_set_get_id(set, 5) == -1);
    ended = Ninf_wait_or_set(set, &any);
    CHECK(ended && ended != set && any > 0 && id_set_length(set) == 4);
    CHECK(id_set_length(ended) == 1 && id_set_get_id(ended, 0) == any);
    free_id_set(ended);
    id_set_rm(set, id_set_get_id(set, 0));
    CHECK(id_set_length(set) == 3 && (ended = Ninf_wait_and_set(set)) != NULL);
    CHECK(id_set_length(ended) == 3 && id_set_length(set) == 0);
    free_id_set(ended);
    CHECK(Ninf_wait_or_set(set, &any) == NULL && any == -1);
    /* Loops end that add what a call returns, whatever that is. */
    id_set_add(set, Ninf_call_async("nobody", 1));
    id_set_add(set, Ninf_call_async("succeed", 1, &y[0]));
    for (index = 0; id_set_length(set) > 0 && index < 5; index++)
        free_id_set(Ninf_wait_or_set(set, &any));
    CHECK(index == 2 && any > 0);
    free_id_set(set);
}

static void sessions(void)
{
    int ids[5], y[5], index, any = 0, done;
    Ninf_exec_info_t *info;
    for (index = 0; index < 5; index++)
        ids[index] = Ninf_call_async("succeed", index, &y[index]);
    CHECK(ids[0] > 0 && Ninf_wait_and(ids, 5) == NINF_OK && y[4] == 5);
    CHECK(Ninf_wait_and(ids, -1) == NINF_ERROR && Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_wait_all() == NINF_OK);
    CHECK(Ninf_wait_any(&any) == NINF_OK && any == -1);
    CHECK(Ninf_wait(123456) == NINF_ERROR && Ninf_error_code() == CANTFINDSESSION);

    ids[0] = Ninf_call_async("nap", 0.2, &done);
    CHECK(Ninf_session_probe(ids[0]) == TRUE && Ninf_session_probe(-5) == FALSE &&
          Ninf_error_code() == CANTFINDSESSION);
    CHECK(
        Ninf_wait_or(ids, 1, &any) == NINF_OK && any == ids[0] &&
        Ninf_session_probe(ids[0]) == FALSE);
    info = Ninf_get_info(ids[0]);
    CHECK(info && info->session == ids[0] && info->exec_time > 0.19 && info->total_time < 5);
    CHECK(Ninf_get_last_info() && Ninf_get_last_info()->session == ids[0] &&
          Ninf_get_info(123456) == NULL);
    CHECK(Ninf_call("nap", 0.1, &done) == NINF_OK && (info = Ninf_get_last_info()) != NULL);
    CHECK(info && info->session == 0 && info->exec_time > 0.09 && info->total_time < 5);

    ids[0] = Ninf_call_async("spin");
    CHECK(Ninf_session_cancel(ids[0]) == NINF_OK);
    CHECK(Ninf_wait(ids[0]) == NINF_ERROR && Ninf_error_code() == SESSION_CANCELED);
    ids[0] = Ninf_call_async("spin");
    CHECK(Ninf_session_remove(ids[0]) == NINF_OK);
    CHECK(Ninf_wait(ids[0]) == NINF_ERROR && Ninf_error_code() == CANTFINDSESSION);
    CHECK(Ninf_session_probe(ids[0]) == FALSE && Ninf_session_remove(ids[0]) == NINF_ERROR);
    CHECK(Ninf_wait_any(&any) == NINF_OK && any == -1);
    ids[0] = Ninf_call_async("nap", 0.01, &done);
    CHECK(Ninf_wait_any(&any) == ids[0] && any == ids[0]);
    CHECK(Ninf_call("crash", 1) == NINF_ERROR && Ninf_error_code() == STUB_ERROR_SIGSEGV);
    CHECK(Ninf_call("leave", 1) == NINF_ERROR && Ninf_error_code() == STUB_ERROR);
    Ninf_call_async("leave", 1);
    CHECK(Ninf_sync() == NINF_OK);
}

static void groups(void)
{
    char path[] = "/tmp/farcall-ninf-XXXXXX";
    char *arguments[] = {"program", "-map", path, NULL};
    Ninf_group_t *group;
    FILE *file;
    int y[10], index, sum = 0;
    close(mkstemp(path));
    file = fopen(path, "w");
    fprintf(file, "# two names of one server\n%s\nlocalhost\nunix:/nonexistent\n",
        getenv("FARCALL_SERVER"));
    fclose(file);
    CHECK(Ninf_parse_arg(3, arguments) == 1);
    unlink(path);
    group = Ninf_group_init("succeed");
    for (index = 0; index < 10; index++)
        CHECK(Ninf_group_call_async(group, index, &y[index]) > 0);
    CHECK(Ninf_group_wait_all(group) == NINF_OK);
    for (index = 0; index < 10; index++)
        sum += y[index];
    CHECK(sum == 55);
    /* A group takes other calls once it was waited for. */
    CHECK(Ninf_group_call_async(group, 41, &sum) > 0 && Ninf_group_wait_all(group) == NINF_OK &&
          sum == 42);
    CHECK(Ninf_group_init("nobody") == NULL && Ninf_group_wait_all(NULL) == NINF_ERROR);
}

static void transactions(void)
{
    static double x[N], y[N], z[N];
    double total = -1, half = -1, begun;
    int one, two;
    CHECK(Ninf_transaction_begin() == NINF_OK);
    CHECK(Ninf_transaction_begin() == NINF_ERROR && Ninf_error_code() == TRANSACTION_NESTED);
    CHECK(Ninf_call("fill", N, 1.0, x) == NINF_OK);
    CHECK(Ninf_call("fill", N / 2, 10.0, y) == NINF_OK);
    /* The other half: neither waits for the other. */
    CHECK(Ninf_call("fill", N / 2, 20.0, y + N / 2) == NINF_OK);
    CHECK(Ninf_call("scale", N, 2.0, x, y) == NINF_OK);
    CHECK(Ninf_call("sum", N, y, &total) == NINF_OK);
    CHECK(Ninf_call("sum", 1, y + N - 1, &half) == NINF_OK);
    CHECK(total == -1);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(total == 17.0 * N && half == 22);

    CHECK(Ninf_transaction_end() == NINF_ERROR && Ninf_error_code() == TRANSACTION_NOT_BEGUN);
    CHECK(Ninf_check_in() == NINF_OK);
    CHECK(Ninf_call("leave", 1) == NINF_OK);
    CHECK(Ninf_call_async("fill", N, 7.0, z) == NINF_OK);
    CHECK(Ninf_call("succeed", 1) == NINF_ERROR);
    CHECK(Ninf_check_out() == NINF_ERROR && Ninf_error_code() == TRANSACTION_FAILED);
    CHECK(z[0] == 7);

    /* Independent ones run at once. */
    begun = check_now();
    CHECK(Ninf_check_in() == NINF_OK);
    CHECK(Ninf_call("nap", 0.5, &one) == NINF_OK && Ninf_call("nap", 0.5, &two) == NINF_OK);
    CHECK(Ninf_check_out() == NINF_OK && one == 1 && two == 1);
    CHECK(check_now() - begun < 0.95);
}

static void in_a_fork(void)
{
    int y = 0, status = -1;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(Ninf_call("succeed", 1, &y) == NINF_OK && y == 2 ? 0 : 1);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
          WEXITSTATUS(status) == 0);
    CHECK(Ninf_call("succeed", 3, &y) == NINF_OK && y == 4);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    entries();
    servers();
    longs();
    stubs();
    sessions();
    sets_of_sessions();
    groups();
    transactions();
    in_a_fork();
    return check_end(server);
}
