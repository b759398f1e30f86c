/* Calls that go on without the program that made them: found by their ids, listed, forgotten. */
#include <string.h>

#include "check.h"

/* Starts a call of `add` that is kept in the server's memory; its id goes to `id`. */
static void submit(farcall_client *client, char *id)
{
    farcall_routine *routine;
    farcall_call *call;
    farcall_error *error;
    farcall_argument arguments[3];
    farcall_call_options options = {.size = sizeof options, .keep_seconds = 60};
    memset(arguments, 0, sizeof arguments);
    arguments[0].kind = FARCALL_INTEGER;
    arguments[0].value.integer = 2;
    arguments[1].kind = FARCALL_REAL;
    arguments[1].value.real = 3.5;
    CHECK_OK(farcall_lookup(client, "add", &routine, &error), error);
    CHECK_OK(farcall_start_arguments(routine, arguments, 3, &options, &call, &error), error);
    CHECK_OK(farcall_call_wait_kept(call, 20, &error), error);
    CHECK(farcall_call_id(call, id) == 1 && strlen(id) == 32);
    farcall_call_free(call);
    farcall_routine_free(routine);
}

static void fetch(farcall_client *client, const char *id)
{
    farcall_routine *routine;
    farcall_call *call;
    farcall_results *results;
    farcall_error *error;
    farcall_array_view view;
    char same[33];
    CHECK_OK(farcall_fetch(client, id, NULL, &routine, &call, &error), error);
    CHECK(strstr(farcall_routine_name(routine), "/add") != NULL);
    CHECK(farcall_call_id(call, same) == 1 && strcmp(same, id) == 0);
    CHECK_OK(farcall_call_wait(call, 20, &results, &error), error);
    CHECK_OK(farcall_results_array(results, 2, &view, &error), error);
    CHECK(*(double *)view.data == 5.5);
    farcall_results_free(results);
    farcall_call_free(call);
    farcall_routine_free(routine);
}

int main(void)
{
    char id[33], *json, *silent;
    farcall_client *client;
    farcall_call *call;
    farcall_error *error;
    farcall_server *server = check_begin(&client);
    submit(client, id);
    fetch(client, id);
    fetch(client, id);
    CHECK_OK(farcall_kept(client, &json, &error), error);
    CHECK(strstr(json, id) != NULL && strstr(json, "\"state\":\"returned\"") != NULL);
    CHECK(strstr(json, "\"durable\":false") != NULL);
    farcall_text_free(json);
    CHECK_OK(farcall_kept_by_server(client, &json, &silent, &error), error);
    CHECK(strstr(json, id) != NULL && strstr(json, farcall_address(client)) != NULL);
    CHECK(strcmp(silent, "[]") == 0);
    farcall_text_free(json);
    farcall_text_free(silent);
    CHECK_OK(farcall_forget(client, id, &error), error);
    CHECK_ERROR(farcall_forget(client, id, &error), error, FARCALL_NOT_FOUND, "no such call");
    CHECK_ERROR(farcall_fetch(client, id, NULL, NULL, &call, &error), error, FARCALL_NOT_FOUND,
        "no such call");
    CHECK_ERROR(farcall_fetch(client, "seven", NULL, NULL, &call, &error), error,
        FARCALL_INVALID_ARGUMENT, "32");
    CHECK(call == NULL && farcall_call_id(NULL, id) == 0);
    CHECK_OK(farcall_kept(client, &json, &error), error);
    CHECK(strcmp(json, "[]") == 0);
    farcall_text_free(json);
    return check_end(server, client);
}
