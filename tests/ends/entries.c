/* Every function of the C interfaces that takes a time limit, by its name: `entries NAME ADDRESS
 * TOKEN SECONDS`.
 *
 * Says "ready" when it is connected and has what the function needs; waits for a line; and calls
 * it. Says how long it took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "farcall.h"

#define ELEMENTS (4u << 20)

static farcall_client *client;
static farcall_error *error;
static farcall_routine *one, *total, *nap;
static const char *address, *token;
static double limit;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void need(int status, const char *what)
{
    if (status == FARCALL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, error ? farcall_error_message(error) : "no reason");
    exit(2);
}

static farcall_connect_options connecting(double timeout, double heartbeat)
{
    farcall_connect_options options = {
        .size = sizeof options, .address = address, .token_file = token};
    options.timeout_seconds = timeout;
    options.heartbeat_seconds = heartbeat;
    options.reconnect_seconds = -1;
    return options;
}

static void begin(double timeout, double heartbeat)
{
    farcall_connect_options options = connecting(timeout, heartbeat);
    need(farcall_connect_with(&options, &client, &error), "connect");
    need(farcall_lookup(client, "ends/one", &one, &error), "look up");
    need(farcall_lookup(client, "ends/total", &total, &error), "look up");
    need(farcall_lookup(client, "ends/nap", &nap, &error), "look up");
}

static void ready(void)
{
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        exit(3);
}

/* Arguments of `one`, or of `total` with an array that no socket holds. */
static farcall_argument *arguments(int large)
{
    static farcall_argument all[3];
    static uint64_t shape[1] = {ELEMENTS};
    memset(all, 0, sizeof all);
    all[0].kind = FARCALL_INTEGER;
    all[0].value.integer = large ? ELEMENTS : 1;
    if (large) {
        all[1].kind = FARCALL_ARRAY;
        all[1].element = FARCALL_FLOAT64;
        all[1].data = calloc(ELEMENTS, sizeof(double));
        all[1].rank = 1;
        all[1].shape = shape;
    }
    return all;
}

static farcall_call *started(double timeout, double keep)
{
    farcall_call_options options = {
        .size = sizeof options, .timeout_seconds = timeout, .keep_seconds = keep};
    farcall_call *call;
    options.announced = 1;
    options.wanted = FARCALL_WANT_PROGRESS;
    need(farcall_start_arguments(one, arguments(0), 2, &options, &call, &error), "start");
    return call;
}

static farcall_hold *held(double start)
{
    farcall_hold_options options = {.size = sizeof options, .start_seconds = start};
    farcall_hold *hold;
    need(farcall_hold_start(client, "ends/one", 1, &options, &hold, &error), "hold");
    return hold;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static int lookup_within(void)
{
    farcall_routine *routine;
    return farcall_lookup_within(client, "ends/shout", limit, &routine, &error);
}

static int list_within(void)
{
    char *json;
    return farcall_list_within(client, limit, &json, &error);
}

static int hold_ready(void)
{
    return farcall_hold_ready(held(0), limit, &error);
}

static farcall_hold *released;

static int hold_release(void)
{
    return farcall_hold_release(released, limit, &error);
}

static int start_within(void)
{
    farcall_call *call;
    int status = farcall_start_within(total, arguments(1), 3, NULL, limit, &call, &error);
    return status;
}

static int call_wait(void)
{
    farcall_results *results;
    return farcall_call_wait(started(0, 0), limit, &results, &error);
}

static int call_news(void)
{
    farcall_news news;
    return farcall_call_news(started(0, 0), limit, &news, &error);
}

static int call_wait_kept(void)
{
    return farcall_call_wait_kept(started(0, 60), limit, &error);
}

static farcall_farm *farm_of(const farcall_routine *routine)
{
    farcall_farm *farm;
    need(farcall_farm_open(routine, NULL, &farm, &error), "open a farm");
    return farm;
}

static int start_element(farcall_farm *farm, int large)
{
    static const farcall_step steps[3];
    size_t count;
    return farcall_farm_start(
        farm, 0, 1, arguments(large), steps, large ? 3 : 2, limit, &count, &error);
}

static int farm_start(void)
{
    return start_element(farm_of(total), 1);
}

static int farm_next(void)
{
    farcall_farm *farm = farm_of(one);
    farcall_outcome outcome;
    size_t count;
    need(start_element(farm, 0), "start an element");
    return farcall_farm_next(farm, limit, &outcome, 1, NULL, &count, &error);
}

static int next_finished(void)
{
    uint64_t number;
    started(0, 0);
    return farcall_next_finished(client, limit, &number, &error);
}

/* ---- Members of options ---------------------------------------------------------------------- */

static int connect_timeout(void)
{
    farcall_connect_options options = connecting(limit, 0);
    return farcall_connect_with(&options, &client, &error);
}

static int lookup_by_connection(void)
{
    farcall_routine *routine;
    return farcall_lookup(client, "ends/shout", &routine, &error);
}

static int connect_heartbeat(void)
{
    farcall_results *results;
    return farcall_call_wait(started(0, 0), -1, &results, &error);
}

static int server_timeout(void)
{
    farcall_server_options options = {
        .size = sizeof options, .program = getenv("SILENT_PROGRAM"), .timeout_seconds = limit};
    farcall_server *server;
    return farcall_server_start(&options, &server, &error);
}

static int call_timeout(void)
{
    farcall_call_options options = {.size = sizeof options, .timeout_seconds = limit};
    farcall_results *results;
    return farcall_call_arguments(total, arguments(1), 3, &options, &results, &error);
}

static int start_timeout(void)
{
    farcall_results *results;
    return farcall_call_wait(started(limit, 0), -1, &results, &error);
}

static int fetch_timeout(void)
{
    farcall_call_options options = {.size = sizeof options, .timeout_seconds = limit};
    farcall_call *call;
    return farcall_fetch(client, "00112233445566778899aabbccddeeff", &options, NULL, &call, &error);
}

static int put_timeout(void)
{
    farcall_call_options options = {.size = sizeof options, .timeout_seconds = limit};
    farcall_data *data;
    return farcall_put(client, arguments(1) + 1, &options, &data, &error);
}

/* What stays at the server, as long as that answers. */
static farcall_data *stays;

static int data_fetch_timeout(void)
{
    farcall_call_options options = {.size = sizeof options, .timeout_seconds = limit};
    farcall_call *call;
    farcall_results *results;
    int status = farcall_data_fetch(stays, &options, NULL, &call, &error);
    return status == FARCALL_OK ? farcall_call_wait(call, -1, &results, &error) : status;
}

static int find_data(void)
{
    farcall_data *data;
    return farcall_find_data(client, "00112233445566778899aabbccddeeff", &data, &error);
}

static int data_list(void)
{
    char *json;
    return farcall_data_list(client, &json, &error);
}

static int data_delete(void)
{
    return farcall_data_delete(stays, &error);
}

static farcall_transaction *written;

/* A transaction that waits to begin, of one call with an array that no socket holds, or of a call that
 * runs on. */
static void write_down(int large)
{
    need(farcall_transaction_new(client, &written, &error), "transaction");
    farcall_argument *given = arguments(large);
    given[0].value.integer = large ? ELEMENTS : 60000;
    need(farcall_transaction_call(
             written, large ? total : nap, given, large ? 3 : 2, NULL, 0, NULL, &error),
        "call");
}

static int transaction_begin(void)
{
    farcall_transaction_options options = {.size = sizeof options, .timeout_seconds = limit};
    write_down(1);
    return farcall_transaction_begin(written, &options, &error);
}

static int transaction_wait(void)
{
    return farcall_transaction_wait(written, limit, &error);
}

static int transaction_list(void)
{
    char *json;
    return farcall_transactions_list(client, NULL, &json, &error);
}

static int publish_timeout(void)
{
    farcall_publish_options options = {
        .size = sizeof options, .source = "Module sent;\n", .timeout_seconds = limit};
    char *json;
    return farcall_publish(client, "sent.idl", &options, &json, &error);
}

static int hold_start(void)
{
    return farcall_hold_ready(held(limit), -1, &error);
}

/* What is connected with: nothing, no limit, the limit for look-ups, or the limit for silence; the
 * last two have something at the server. */
enum connected {
    NOT, WITHOUT, WITH_TIMEOUT, WITH_HEARTBEAT, WITH_HOLD, WITH_DATA, WITH_TRANSACTION
};

static const struct entry {
    const char *name;
    int (*run)(void);
    enum connected connected;
} entries[] = {
    {"farcall_lookup_within", lookup_within, WITHOUT},
    {"farcall_list_within", list_within, WITHOUT},
    {"farcall_hold_ready", hold_ready, WITHOUT},
    {"farcall_hold_release", hold_release, WITH_HOLD},
    {"farcall_start_within", start_within, WITHOUT},
    {"farcall_call_wait", call_wait, WITHOUT},
    {"farcall_call_news", call_news, WITHOUT},
    {"farcall_call_wait_kept", call_wait_kept, WITHOUT},
    {"farcall_farm_start", farm_start, WITHOUT},
    {"farcall_farm_next", farm_next, WITHOUT},
    {"farcall_next_finished", next_finished, WITHOUT},
    {"farcall_connect_options.timeout_seconds", connect_timeout, NOT},
    {"farcall_connect_options.timeout_seconds:lookup", lookup_by_connection, WITH_TIMEOUT},
    {"farcall_connect_options.heartbeat_seconds", connect_heartbeat, WITH_HEARTBEAT},
    {"farcall_server_options.timeout_seconds", server_timeout, NOT},
    {"farcall_call_options.timeout_seconds", call_timeout, WITHOUT},
    {"farcall_call_options.timeout_seconds:start", start_timeout, WITHOUT},
    {"farcall_call_options.timeout_seconds:fetch", fetch_timeout, WITHOUT},
    {"farcall_call_options.timeout_seconds:put", put_timeout, WITHOUT},
    {"farcall_call_options.timeout_seconds:data_fetch", data_fetch_timeout, WITH_DATA},
    {"farcall_connect_options.timeout_seconds:find_data", find_data, WITH_TIMEOUT},
    {"farcall_connect_options.timeout_seconds:data_list", data_list, WITH_TIMEOUT},
    {"farcall_connect_options.timeout_seconds:data_delete", data_delete, WITH_DATA},
    {"farcall_transaction_options.timeout_seconds", transaction_begin, WITHOUT},
    {"farcall_transaction_wait", transaction_wait, WITH_TRANSACTION},
    {"farcall_connect_options.timeout_seconds:transactions", transaction_list, WITH_TIMEOUT},
    {"farcall_publish_options.timeout_seconds", publish_timeout, WITHOUT},
    {"farcall_hold_options.start_seconds", hold_start, WITHOUT},
};

int main(int argc, char **argv)
{
    const struct entry *entry = entries, *end = entries + sizeof entries / sizeof *entries;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (; entry != end; entry++)
            puts(entry->name);
        return 0;
    }
    if (argc != 5)
        return 2;
    while (entry != end && strcmp(entry->name, argv[1]) != 0)
        entry++;
    if (entry == end)
        return 2;
    address = argv[2], token = argv[3], limit = atof(argv[4]);
    if (entry->connected != NOT)
        begin(entry->connected == WITH_TIMEOUT || entry->connected == WITH_DATA ? limit : 0,
            entry->connected == WITH_HEARTBEAT ? limit : 0);
    if (entry->connected == WITH_HOLD) {
        released = held(0);
        need(farcall_hold_ready(released, 60, &error), "hold");
    }
    if (entry->connected == WITH_DATA)
        need(farcall_put(client, arguments(1) + 1, NULL, &stays, &error), "put");
    if (entry->connected == WITH_TRANSACTION) {
        write_down(0);
        need(farcall_transaction_begin(written, NULL, &error), "begin");
    }
    ready();
    double start = now();
    int status = entry->run();
    printf("%.3f %d %s\n", now() - start, status, error ? farcall_error_message(error) : "");
    fflush(stdout);
    _Exit(0);
}
