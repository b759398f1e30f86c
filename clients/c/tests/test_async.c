/* Calls under way: event loops, waiting, cancelling, freeing. */
#include <poll.h>
#include <time.h>

#include "check.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Four calls at once, collected as they end, from a loop that only ever waits in poll(). */
static void event_loop(farcall_client *client)
{
    double sums[4] = {0, 0, 0, 0};
    farcall_call *calls[4];
    farcall_error *error;
    int started, left = 4, rounds = 0;
    for (started = 0; started < 4; started++)
        CHECK_OK(farcall_start_call(
                     client, &error, &calls[started], "add", started, 0.5, &sums[started]),
            error);
    while (left > 0 && rounds++ < 10000) {
        struct pollfd descriptor = {farcall_events(client), POLLIN, 0};
        uint64_t number;
        int index;
        if (poll(&descriptor, 1, 10000) != 1)
            break;
        CHECK_OK(farcall_process(client, &error), error);
        while (farcall_next_finished(client, 0, &number, &error) == FARCALL_OK) {
            for (index = 0; index < 4 && farcall_call_number(calls[index]) != number; index++) { }
            if (index < 4)
                CHECK_OK(farcall_call_poll(calls[index], NULL, &error), error);
            left--;
        }
    }
    CHECK(left == 0);
    CHECK(sums[0] == 0.5 && sums[3] == 3.5);
    for (started = 0; started < 4; started++)
        farcall_call_free(calls[started]);
    CHECK(farcall_next_finished(client, 0, NULL, &error) == FARCALL_PENDING && !error);
}

static void waiting(farcall_client *client)
{
    int done = 0;
    double begin = now();
    farcall_call *call;
    farcall_error *error;
    farcall_transfer transfer;
    CHECK_OK(farcall_start_call(client, &error, &call, "pause", 0.3, &done), error);
    CHECK(farcall_call_number(call) > 0);
    /* None of its arguments is long, and it calls nobody back. */
    transfer.to_send = 1;
    CHECK_OK(farcall_call_transfer(call, &transfer, &error), error);
    CHECK(transfer.to_send == 0 && transfer.sent == 0 && transfer.to_receive == 0);
    CHECK(transfer.callback_arguments_seconds < 0 && transfer.callback_results_seconds < 0);
    CHECK_ERROR(farcall_call_transfer(call, NULL, &error), error, FARCALL_INVALID_ARGUMENT,
        "the pointer for the transfer is NULL");
    CHECK(farcall_call_poll(call, NULL, &error) == FARCALL_PENDING && !error);
    CHECK(farcall_call_wait(call, 0.05, NULL, &error) == FARCALL_PENDING && !error);
    CHECK(now() - begin >= 0.05 && done == 0);
    CHECK_OK(farcall_call_wait(call, -1, NULL, &error), error);
    CHECK(done == 1 && now() - begin >= 0.3);
    /* Its outcome is given once. */
    CHECK_ERROR(
        farcall_call_wait(call, -1, NULL, &error), error, FARCALL_NOT_FOUND, "already collected");
    farcall_call_free(call);
    CHECK_ERROR(farcall_start_call(client, &error, &call, "pause", 1, 2, 3), error,
        FARCALL_INVALID_ARGUMENT, "takes 2");
    CHECK(call == NULL);
}

static void cancelling(farcall_client *client)
{
    int done = 0;
    double begin = now();
    farcall_call *call;
    farcall_error *error;
    CHECK_OK(farcall_start_call(client, &error, &call, "pause", 30.0, &done), error);
    CHECK(farcall_call_wait(call, 0.1, NULL, &error) == FARCALL_PENDING);
    CHECK_OK(farcall_call_cancel(call, &error), error);
    CHECK_ERROR(farcall_call_wait(call, 20, NULL, &error), error, FARCALL_CANCELLED, "pause");
    farcall_call_free(call);
    /* Freeing a call that is under way ends it. */
    CHECK_OK(farcall_start_call(client, &error, &call, "pause", 30.0, &done), error);
    farcall_call_free(call);
    CHECK(done == 0 && now() - begin < 15);
}

static void timeouts(farcall_client *client)
{
    farcall_argument arguments[2] = {{.kind = FARCALL_REAL, .value.real = 30.0}};
    farcall_call_options options = {.size = sizeof options, .timeout_seconds = 0.2};
    farcall_routine *routine;
    farcall_results *results;
    farcall_error *error;
    double begin = now();
    CHECK_OK(farcall_lookup(client, "pause", &routine, &error), error);
    CHECK_ERROR(farcall_call_arguments(routine, arguments, 2, &options, &results, &error), error,
        FARCALL_TIMED_OUT, "time");
    CHECK(results == NULL && now() - begin < 15);
    options.size = 3;
    CHECK_ERROR(farcall_call_arguments(routine, arguments, 2, &options, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "farcall_call_options");
    farcall_routine_free(routine);
}

/* What a routine prints comes before its end, and only if it is wanted. */
static void output(farcall_client *client)
{
    farcall_argument arguments[2] = {{.kind = FARCALL_INTEGER, .value.integer = 2}};
    farcall_call_options options = {.size = sizeof options,
        .timeout_seconds = 20,
        .wanted = FARCALL_WANT_OUTPUT | FARCALL_WANT_PROGRESS};
    char printed[64] = "", said[64] = "";
    farcall_routine *routine;
    farcall_call *call;
    farcall_news news;
    farcall_error *error;
    CHECK_OK(farcall_lookup(client, "chat", &routine, &error), error);
    CHECK_OK(farcall_start_arguments(routine, arguments, 2, &options, &call, &error), error);
    do {
        CHECK_OK(farcall_call_news(call, -1, &news, &error), error);
        if (news.kind == FARCALL_NEWS_STDOUT || news.kind == FARCALL_NEWS_STDERR) {
            char *to = news.kind == FARCALL_NEWS_STDOUT ? printed : said;
            CHECK(news.bytes == strlen(news.text) && strlen(to) + news.bytes < sizeof printed);
            strcat(to, news.text);
        } else {
            CHECK(news.kind == FARCALL_NEWS_QUEUED || news.kind == FARCALL_NEWS_STARTED ||
                  news.kind == FARCALL_NEWS_OVER);
            CHECK(!news.text && news.bytes == 0);
        }
    } while (news.kind != FARCALL_NEWS_OVER);
    CHECK(!strcmp(printed, "line 1\nline 2\n") && !strcmp(said, "done"));
    CHECK_OK(farcall_call_wait(call, 20, NULL, &error), error);
    CHECK_OK(farcall_call_news(call, 0, &news, &error), error);
    CHECK(news.kind == FARCALL_NEWS_OVER);
    CHECK_ERROR(farcall_call_news(call, 0, NULL, &error), error, FARCALL_INVALID_ARGUMENT, "NULL");
    farcall_call_free(call);
    options.wanted = 4;
    CHECK_ERROR(farcall_start_arguments(routine, arguments, 2, &options, &call, &error), error,
                FARCALL_INVALID_ARGUMENT, "farcall_wanted");
    options.wanted = 0;
    CHECK_OK(farcall_start_arguments(routine, arguments, 2, &options, &call, &error), error);
    CHECK_OK(farcall_call_news(call, -1, &news, &error), error);
    CHECK(news.kind == FARCALL_NEWS_OVER);
    farcall_call_free(call);
    farcall_routine_free(routine);
}

/* Starting without waiting: the call is under way like any other. */
static void starting_at_once(farcall_client *client)
{
    farcall_argument arguments[2] = {{.kind = FARCALL_REAL, .value.real = 0.05}};
    farcall_routine *routine;
    farcall_results *results;
    farcall_call *call;
    farcall_error *error;
    CHECK_OK(farcall_lookup(client, "pause", &routine, &error), error);
    CHECK_OK(farcall_start_within(routine, arguments, 2, NULL, 0, &call, &error), error);
    CHECK(call && farcall_call_wait(call, 0, &results, &error) == FARCALL_PENDING);
    CHECK_OK(farcall_call_wait(call, 20, &results, &error), error);
    CHECK(farcall_results_kind(results, 1) == FARCALL_RESULT_ARRAY);
    farcall_results_free(results);
    farcall_call_free(call);
    CHECK_ERROR(farcall_start_within(routine, arguments, 1, NULL, -1, &call, &error), error,
                FARCALL_INVALID_ARGUMENT, "wrong number of arguments");
    CHECK(call == NULL);
    farcall_routine_free(routine);
}

/* Looking up in pieces: each waits as long as it may, and all of them for one answer. */
static void look_ups(farcall_client *client)
{
    farcall_routine *routine;
    farcall_error *error;
    char *json;
    int status, rounds = 0;
    do
        status = farcall_lookup_within(client, "pause", 0.01, &routine, &error);
    while (status == FARCALL_PENDING && !routine && !error && rounds++ < 1000);
    CHECK_OK(status, error);
    CHECK(routine &&
          !strcmp(
              farcall_routine_name(routine) + strlen(farcall_routine_name(routine)) - 5, "pause"));
    farcall_routine_free(routine);
    CHECK_OK(farcall_lookup_within(client, "pause", 0, &routine, &error), error);
    farcall_routine_free(routine);
    CHECK_ERROR(farcall_lookup_within(client, "no_such", -1, &routine, &error), error,
        FARCALL_NOT_FOUND, "no_such");
    CHECK(!routine);
    do
        status = farcall_list_within(client, 0, &json, &error);
    while (status == FARCALL_PENDING && !json && !error && rounds++ < 1000000);
    CHECK_OK(status, error);
    CHECK(json && strstr(json, "\"pause\""));
    farcall_text_free(json);
    CHECK_ERROR(
        farcall_list_within(client, 1, NULL, &error), error, FARCALL_INVALID_ARGUMENT, "NULL");
}

/* A server that ends under a call: the call fails, and so does the next. */
static void lost_server(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    farcall_call *call;
    farcall_error *error;
    int done = 0, status;
    CHECK_OK(farcall_start_call(client, &error, &call, "pause", 30.0, &done), error);
    farcall_server_stop(server);
    status = farcall_call_wait(call, 20, NULL, &error);
    CHECK(status > 0);
    if (status != FARCALL_CONNECTION_LOST && status != FARCALL_SHUTTING_DOWN &&
        status != FARCALL_CANCELLED)
        printf("    %d %s\n", status, farcall_error_message(error));
    farcall_error_free(error);
    farcall_call_free(call);
    CHECK(farcall_call(client, NULL, "nothing") > 0);
    farcall_disconnect(client);
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    event_loop(client);
    waiting(client);
    cancelling(client);
    timeouts(client);
    output(client);
    starting_at_once(client);
    look_ups(client);
    lost_server();
    return check_end(server, client);
}
