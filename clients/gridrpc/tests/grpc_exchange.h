/* One call in each of the forms that GridRPC has, through the proxy, for tests in which something
   ends on the way. */
#ifndef GRPC_EXCHANGE_H
#define GRPC_EXCHANGE_H

#include <dirent.h>

#include "grpc_check.h"
#include "grpc_proxy.h"

#define EXCHANGE_LENGTH 40000
#define EXCHANGE_PAIR 2

enum exchange_mode {
    EXCHANGE_CALL,
    EXCHANGE_ASYNC,
    EXCHANGE_OBJECT,
    EXCHANGE_ARRAY,
    EXCHANGE_MODES
};
static const char *const exchange_names[] = {"call", "async", "object", "array"};

static double exchange_x[EXCHANGE_LENGTH], exchange_y[EXCHANGE_PAIR][EXCHANGE_LENGTH];
/* Called by the routine's call back to here. */
static void (*exchange_in_callback)(void);
static int exchange_told;
static char exchange_direct[100], exchange_proxied[100],
    exchange_folder[] = "/tmp/farcall-exchange-XXXXXX";

static void exchange_tell(int process, int *answer)
{
    (void)process;
    __sync_fetch_and_add(&exchange_told, 1);
    if (exchange_in_callback)
        exchange_in_callback();
    *answer = 1;
}

/* Starts a server over TCP with faults.idl beside checks.idl: where it listens is in
   exchange_direct, and the proxy stands before it. */
static inline farcall_server *exchange_begin(void)
{
    static char token[100];
    static const char *const files[] = {"clients/gridrpc/tests/faults.idl"};
    const char *const arguments[] = {"--listen", "tcp:127.0.0.1:0", "--token-file", token};
    farcall_server *server;
    if (!*token) {
        CHECK(mkdtemp(exchange_folder) != NULL);
        snprintf(token, sizeof token, "%s/token", exchange_folder);
        setenv("FARCALL_TOKEN_FILE", token, 1);
    }
    server = check_begin_with(files, 1, arguments, 4);
    snprintf(exchange_direct, sizeof exchange_direct, "%s", farcall_server_address(server));
    proxy.target = atoi(strrchr(exchange_direct, ':') + 1);
    if (!proxy.port)
        proxy_begin(proxy.target);
    snprintf(exchange_proxied, sizeof exchange_proxied, "farcall://127.0.0.1:%d", proxy.port);
    return server;
}

static inline void exchange_end(void)
{
    char path[100];
    snprintf(path, sizeof path, "%s/token", exchange_folder);
    unlink(path);
    rmdir(exchange_folder);
}

struct exchange {
    enum exchange_mode mode;
    grpc_function_handle_t function[EXCHANGE_PAIR];
    grpc_object_handle_t_np object;
    grpc_session_attr_t_np attributes;
    int bound;
};

/* Binds what a form needs, and waits until its processes run; calls may take so many seconds. */
static inline int exchange_bind(struct exchange *it, enum exchange_mode mode, int seconds)
{
    double begun = check_now();
    int status, ready;
    memset(it, 0, sizeof *it);
    it->mode = mode;
    if (mode == EXCHANGE_OBJECT)
        status = grpc_object_handle_init_np(&it->object, exchange_proxied, "grpcfaults/Exchanger");
    else if (mode == EXCHANGE_ARRAY)
        status = grpc_function_handle_array_init_np(
            it->function, EXCHANGE_PAIR, exchange_proxied, "grpcfaults/exchange");
    else
        status = grpc_function_handle_init(it->function, exchange_proxied, "grpcfaults/exchange");
    if (status != GRPC_NO_ERROR)
        return status;
    it->bound = 1;
    do {
        ready = mode == EXCHANGE_OBJECT
                    ? grpc_object_handle_is_ready_np(&it->object)
                    : grpc_function_handle_is_ready_np(&it->function[mode == EXCHANGE_ARRAY]);
    } while (ready == GRPC_NOT_COMPLETED && check_now() - begun < 20 && usleep(1000) == 0);
    if (ready != GRPC_NO_ERROR)
        return ready;
    status = mode == EXCHANGE_OBJECT
                 ? grpc_session_attr_initialize_with_object_handle_np(&it->object, &it->attributes)
                 : grpc_session_attr_initialize_np(it->function, &it->attributes);
    if (status == GRPC_NO_ERROR)
        status =
            grpc_session_attr_set_np(&it->attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &seconds);
    return status;
}

static inline int exchange_is_right(const double *y)
{
    int index;
    for (index = 0; index < EXCHANGE_LENGTH; index++)
        if (y[index] != 2 * exchange_x[index] + 1)
            return 0;
    return 1;
}

/* Makes the call: its code, which of an array is that of the call that failed. A result that is
   wrong is -1. */
static inline int exchange_make(struct exchange *it)
{
    grpc_sessionid_t session[EXCHANGE_PAIR];
    int status[EXCHANGE_PAIR] = {0, 0}, count = it->mode == EXCHANGE_ARRAY ? 2 : 1, index;
    for (index = 0; index < EXCHANGE_LENGTH; index++)
        exchange_x[index] = index;
    memset(exchange_y, 0, sizeof exchange_y);
    if (it->mode == EXCHANGE_CALL)
        status[0] = grpc_call_with_attr_np(it->function, &it->attributes, EXCHANGE_LENGTH,
            exchange_x, exchange_y[0], exchange_tell);
    for (index = 0; index < count && it->mode != EXCHANGE_CALL; index++)
        status[index] = it->mode == EXCHANGE_OBJECT
                            ? grpc_invoke_async_with_attr_np(&it->object, "exchange",
                                  &session[index], &it->attributes, EXCHANGE_LENGTH, exchange_x,
                                  exchange_y[index], exchange_tell)
                            : grpc_call_async_with_attr_np(&it->function[index], &session[index],
                                  &it->attributes, EXCHANGE_LENGTH, exchange_x, exchange_y[index],
                                  exchange_tell);
    for (index = 0; index < count && it->mode != EXCHANGE_CALL; index++)
        if (status[index] == GRPC_NO_ERROR)
            status[index] = grpc_wait(session[index]);
    for (index = 0; index < count; index++)
        if (status[index] == GRPC_NO_ERROR && !exchange_is_right(exchange_y[index]))
            status[index] = -1;
    return status[0] != GRPC_NO_ERROR ? status[0] : status[1];
}

/* Frees what was bound. That must not hang, whatever has become of it. */
static inline void exchange_free(struct exchange *it)
{
    double begun = check_now();
    if (!it->bound)
        return;
    grpc_session_attr_destruct_np(&it->attributes);
    if (it->mode == EXCHANGE_OBJECT)
        grpc_object_handle_destruct_np(&it->object);
    else if (it->mode == EXCHANGE_ARRAY)
        grpc_function_handle_array_destruct_np(it->function, EXCHANGE_PAIR);
    else
        grpc_function_handle_destruct(it->function);
    CHECK(check_now() - begun < 5);
}

/* What ends a list of codes: the exchange may also have gone well. */
enum { EXCHANGE_WELL = -2, EXCHANGE_ELSE = -3 };

/* Checks that a code is one of these, and that it came in time. */
static inline void exchange_check(const char *what, enum exchange_mode mode, long at, int code,
    double seconds, double most, const int *allowed)
{
    int fits = 0;
    for (; *allowed != EXCHANGE_WELL && *allowed != EXCHANGE_ELSE; allowed++)
        fits |= code == *allowed;
    fits |= code == GRPC_NO_ERROR && *allowed == EXCHANGE_WELL;
    check_that(fits && seconds < most, what, (int)at);
    if (!fits || seconds >= most)
        printf("    %s, %s at %ld: %d (%s) after %.2f s\n", what, exchange_names[mode], at, code,
            grpc_error_string(code), seconds);
}

/* All processes below this one; how many. */
static inline int exchange_processes(pid_t of, pid_t *place, int room)
{
    char path[300];
    DIR *folder;
    struct dirent *entry;
    long child;
    int count = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)of);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        FILE *file;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)of, entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (file && count < room && fscanf(file, "%ld", &child) == 1) {
            place[count++] = (pid_t)child;
            count += exchange_processes((pid_t)child, place + count, room - count);
        }
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return count;
}

/* Whether a process runs: one that nobody has waited for does not. */
static inline int exchange_runs(pid_t process)
{
    char path[100], state = 'Z';
    FILE *file;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (file)
        fclose(file);
    return state != 'Z' && state != 'X';
}

/* A number that `farcall top --json` tells of the server; -1 when it does not. */
static inline long exchange_status(const char *name)
{
    char command[300], line[20000] = "", key[100], *found;
    FILE *pipe;
    snprintf(command, sizeof command,
        "build/bin/farcall top --once --json --interval 0.1 --server %s", exchange_direct);
    pipe = popen(command, "r");
    if (!pipe || !fgets(line, sizeof line, pipe))
        line[0] = 0;
    if (pipe)
        pclose(pipe);
    snprintf(key, sizeof key, "\"%s\":", name);
    found = strstr(line, key);
    return found ? atol(found + strlen(key)) : -1;
}

/* Checks that the server soon has this many. */
static inline void exchange_settles(const char *name, long wanted, double most)
{
    double begun = check_now();
    long found;
    while ((found = exchange_status(name)) != wanted && check_now() - begun < most)
        usleep(200000);
    check_that(found == wanted, name, __LINE__);
    if (found != wanted)
        printf("    %s: %ld, wanted %ld after %.1f s\n", name, found, wanted, most);
}

#endif
