/* Transactions: calls are written down, run as one graph, and are waited for; results are fetched, also
 * by the id; and each wrong input is refused with its reason. */
#include <string.h>

#include "check.h"

static farcall_client *client;
static farcall_error *error;
static farcall_routine *doubled, *transpose, *greet;

static farcall_argument array(uint32_t element, void *data, int64_t rank, const uint64_t *shape)
{
    farcall_argument one;
    memset(&one, 0, sizeof one);
    one.kind = FARCALL_ARRAY;
    one.element = element;
    one.data = data;
    one.rank = rank;
    one.shape = shape;
    return one;
}

static farcall_argument of_data(farcall_data *data)
{
    farcall_argument one;
    memset(&one, 0, sizeof one);
    one.kind = FARCALL_DATA;
    one.data = data;
    return one;
}

static farcall_transaction *begun(void)
{
    farcall_transaction *transaction;
    CHECK_OK(farcall_transaction_new(client, &transaction, &error), error);
    return transaction;
}

/* Writes x = 2 x down; what it makes. */
static farcall_data *twice(farcall_transaction *transaction, farcall_argument x)
{
    farcall_argument arguments[2];
    farcall_data *data;
    uint32_t number;
    memset(arguments, 0, sizeof arguments);
    arguments[1] = x;
    CHECK_OK(farcall_transaction_call(transaction, doubled, arguments, 2, NULL, 0, &number, &error),
        error);
    CHECK_OK(farcall_transaction_result(transaction, number, 1, &data, &error), error);
    return data;
}

/* Whether the data has these bytes. */
static int has(const farcall_data *data, const void *values, size_t bytes)
{
    farcall_routine *routine;
    farcall_call *call;
    farcall_results *results;
    farcall_array_view view;
    CHECK_OK(farcall_data_fetch(data, NULL, &routine, &call, &error), error);
    CHECK_OK(farcall_call_wait(call, 20, &results, &error), error);
    size_t value = farcall_routine_parameters(routine) - 1;
    CHECK_OK(farcall_results_array(results, value, &view, &error), error);
    int same = memcmp(view.data, values, bytes) == 0;
    farcall_results_free(results);
    farcall_call_free(call);
    farcall_routine_free(routine);
    return same;
}

/* Whether the server lists it. */
static int is_listed(const char *id)
{
    char *json;
    CHECK_OK(farcall_transactions_list(client, NULL, &json, &error), error);
    int found = strstr(json, id) != NULL;
    farcall_text_free(json);
    return found;
}

/* Its last result has three values. */
static void it_is_found_by_its_id(
    farcall_transaction *transaction, farcall_data *last, const float *values)
{
    char id[33], result[33], none[33], *json;
    CHECK(farcall_data_id(last, result));
    farcall_data *found[2];
    CHECK(farcall_transaction_id(transaction, id) == 1 && is_listed(id));
    CHECK_OK(farcall_transactions_list(client, id, &json, &error), error);
    CHECK(strstr(json, "\"state\":\"ended\"") && strstr(json, "\"returned\":3"));
    farcall_text_free(json);
    CHECK_OK(farcall_transactions_timeline(client, id, &json, &error), error);
    CHECK(strstr(json, "\"call\":2,\"routine\":\"checks/doubled\"") && strstr(json, "returned"));
    farcall_text_free(json);
    CHECK_OK(farcall_transactions_results(client, id, &json, &error), error);
    CHECK(strstr(json, result) && strstr(json, "\"call\":2"));
    CHECK(strstr(json, "\"parameter\":\"x\""));
    farcall_text_free(json);
    memset(none, '0', 32);
    none[32] = 0;
    const char *ids[] = {result, none};
    CHECK_OK(farcall_find_several_data(client, ids, 2, found, &error), error);
    CHECK(found[0] != NULL && found[1] == NULL && has(found[0], values, 3 * sizeof *values));
    farcall_data_free(found[0]);

    /* It ends with its last reference. */
    farcall_transaction_free(transaction);
    CHECK(is_listed(id));
    farcall_data_free(last);
    for (int tries = 0; is_listed(id) && tries < 1000; tries++)
        CHECK_OK(farcall_process(client, &error), error);
    CHECK(!is_listed(id));
    CHECK_ERROR(farcall_transactions_timeline(client, id, &json, &error), error, FARCALL_NOT_FOUND,
        "no such transaction");
}

static void a_chain_runs_and_its_results_are_fetched(void)
{
    float values[] = {1, 2, 3}, eight_times[] = {8, 16, 24};
    uint64_t shape[] = {3};
    farcall_transaction *transaction = begun();
    farcall_data *first = twice(transaction, array(FARCALL_FLOAT32, values, 1, shape));
    values[0] = 9; /* reaches the transaction no more */
    farcall_data *second = twice(transaction, of_data(first));
    farcall_data *third = twice(transaction, of_data(second));
    CHECK(farcall_data_extents(third)[0] == 3 && farcall_data_element(third) == FARCALL_FLOAT32);
    farcall_call *call;
    CHECK_ERROR(farcall_data_fetch(third, NULL, NULL, &call, &error), error,
        FARCALL_INVALID_ARGUMENT, "has not begun");
    farcall_data_free(first);
    farcall_data_free(second);
    CHECK_ERROR(farcall_transaction_wait(transaction, 0, &error), error, FARCALL_INVALID_ARGUMENT,
        "has not begun");
    CHECK_OK(farcall_transaction_begin(transaction, NULL, &error), error);
    CHECK(has(third, eight_times, sizeof eight_times));
    CHECK_OK(farcall_transaction_wait(transaction, 20, &error), error);
    int done = 0;
    CHECK_OK(farcall_transaction_done(transaction, &done, &error), error);
    CHECK(done == 1);
    CHECK_ERROR(farcall_transaction_result(transaction, 0, 1, &first, &error), error,
        FARCALL_NOT_FOUND, "want it");
    CHECK_OK(farcall_transaction_result(transaction, 2, 1, &first, &error), error);
    char id[33], same[33];
    CHECK(farcall_data_id(first, id) && farcall_data_id(third, same) && strcmp(id, same) == 0);
    farcall_data_free(first);

    it_is_found_by_its_id(transaction, third, eight_times);
}

static void one_that_is_kept_outlasts_its_connection(void)
{
    double matrix[600][2], columns[2][600];
    uint64_t shape[] = {600, 2};
    farcall_client *other;
    farcall_transaction *transaction;
    farcall_transaction_options options = {.size = sizeof options, .keep_seconds = 60};
    farcall_argument arguments[4];
    uint32_t number;
    char id[33], *json;
    for (int row = 0; row < 600; row++)
        for (int column = 0; column < 2; column++)
            matrix[row][column] = columns[column][row] = 2 * row + column;
    CHECK_OK(farcall_connect(farcall_address(client), &other, &error), error);
    CHECK_OK(farcall_transaction_new(other, &transaction, &error), error);
    memset(arguments, 0, sizeof arguments);
    arguments[2] = array(FARCALL_FLOAT64, matrix, 2, shape);
    CHECK_OK(farcall_transaction_call(
                 transaction, transpose, arguments, 4, NULL, 0, &number, &error),
        error);
    CHECK_OK(farcall_transaction_want(transaction, number, 3, &error), error);
    CHECK_OK(farcall_transaction_begin(transaction, &options, &error), error);
    CHECK(farcall_transaction_id(transaction, id));
    farcall_transaction_free(transaction);
    farcall_disconnect(other);
    CHECK(is_listed(id));
    CHECK_OK(farcall_transactions_results(client, id, &json, &error), error);
    const char *place = strstr(json, "\"data\":\"");
    CHECK(place != NULL);
    char digits[33] = "";
    memcpy(digits, place + 8, 32);
    farcall_text_free(json);
    farcall_data *found;
    CHECK_OK(farcall_find_data(client, digits, &found, &error), error);
    CHECK(has(found, columns, sizeof columns));
    farcall_data_free(found);
    CHECK_OK(farcall_transactions_end(client, id, &error), error);
    CHECK(!is_listed(id));
}

static void call_is_refused(farcall_transaction *transaction, const farcall_argument *arguments,
    size_t count, const char *reason)
{
    CHECK_ERROR(
        farcall_transaction_call(transaction, doubled, arguments, count, NULL, 0, NULL, &error),
        error, FARCALL_INVALID_ARGUMENT, reason);
}

static void wrong_arguments_are_refused(void)
{
    float values[] = {1, 2};
    uint64_t shape[] = {2};
    farcall_transaction *transaction = begun(), *other = begun();
    farcall_argument arguments[4];
    uint32_t after[] = {7};
    memset(arguments, 0, sizeof arguments);
    arguments[1] = array(FARCALL_FLOAT32, values, 1, shape);
    CHECK_ERROR(
        farcall_transaction_call(transaction, doubled, arguments, 2, after, 1, NULL, &error),
        error, FARCALL_INVALID_ARGUMENT, "does not come before");
    call_is_refused(transaction, arguments, 1, "wrong number of arguments");
    call_is_refused(NULL, arguments, 2, "NULL");
    arguments[1].destination = FARCALL_IN_PLACE;
    call_is_refused(transaction, arguments, 2, "no array of the program (parameter: x");
    arguments[1].destination = FARCALL_NEW;
    arguments[1].element = FARCALL_FLOAT64;
    call_is_refused(transaction, arguments, 2, "call: 0");
    arguments[1].kind = FARCALL_URL;
    arguments[1].value.text.data = "https://example.org/x";
    arguments[1].value.text.bytes = FARCALL_NUL_TERMINATED;
    call_is_refused(transaction, arguments, 2, "URL");
    farcall_data *foreign = twice(other, array(FARCALL_FLOAT32, values, 1, shape));
    arguments[1] = of_data(foreign);
    call_is_refused(transaction, arguments, 2, "another transaction");
    farcall_data_free(foreign);
    farcall_transaction_free(other);
    farcall_transaction_free(transaction);
}

static void what_is_wrong_is_refused(void)
{
    float values[] = {1, 2};
    uint64_t shape[] = {2};
    farcall_transaction *transaction = begun(), *other = begun();
    farcall_argument arguments[4];
    farcall_data *data;
    farcall_data *foreign = twice(other, array(FARCALL_FLOAT32, values, 1, shape));
    CHECK_ERROR(farcall_transaction_result(transaction, 0, 1, &data, &error), error,
        FARCALL_NOT_FOUND, "no such call");
    CHECK_ERROR(farcall_transaction_result(other, 0, 0, &data, &error), error, FARCALL_NOT_FOUND,
        "no such result");
    CHECK_ERROR(farcall_transaction_result(other, 0, 99999, &data, &error), error,
        FARCALL_NOT_FOUND, "no such parameter");
    CHECK(data == NULL);
    /* A text comes back to nobody, and the call runs all the same. */
    memset(arguments, 0, sizeof arguments);
    arguments[0].kind = FARCALL_TEXT;
    arguments[0].value.text.data = "you";
    arguments[0].value.text.bytes = FARCALL_NUL_TERMINATED;
    CHECK_OK(farcall_transaction_call(transaction, greet, arguments, 2, NULL, 0, NULL, &error),
        error);
    CHECK_ERROR(farcall_transaction_result(transaction, 0, 1, &data, &error), error,
        FARCALL_NOT_FOUND, "cannot stay");
    CHECK_OK(farcall_transaction_begin(transaction, NULL, &error), error);
    CHECK_OK(farcall_transaction_wait(transaction, -1, &error), error);
    CHECK_ERROR(farcall_transaction_begin(transaction, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "has begun");
    CHECK_OK(farcall_transaction_end(transaction, &error), error);
    CHECK_ERROR(farcall_transaction_wait(transaction, 0, &error), error, FARCALL_INVALID_ARGUMENT,
        "was ended");
    farcall_data_free(foreign);
    farcall_transaction_free(other);
    farcall_transaction_free(transaction);
    farcall_transaction_free(NULL);
    farcall_transaction_leave(NULL);
    char id[33], *json;
    CHECK(farcall_transaction_id(NULL, id) == 0);
    CHECK_ERROR(farcall_transactions_results(client, "seven", &json, &error), error,
        FARCALL_INVALID_ARGUMENT, "32");
    CHECK_ERROR(farcall_transactions_end(client, NULL, &error), error, FARCALL_INVALID_ARGUMENT,
        "NULL");
}

static void a_failure_is_that_of_its_call(void)
{
    farcall_routine *crash;
    farcall_transaction *transaction = begun();
    CHECK_OK(farcall_lookup(client, "checks/crash", &crash, &error), error);
    CHECK_OK(farcall_transaction_call(transaction, crash, NULL, 0, NULL, 0, NULL, &error), error);
    CHECK_OK(farcall_transaction_begin(transaction, NULL, &error), error);
    CHECK_ERROR(farcall_transaction_wait(transaction, 20, &error), error, FARCALL_ROUTINE_CRASHED,
        "call: 0");
    farcall_routine_free(crash);
    farcall_transaction_free(transaction);
}

int main(void)
{
    farcall_server *server = check_begin(&client);
    CHECK_OK(farcall_lookup(client, "checks/doubled", &doubled, &error), error);
    CHECK_OK(farcall_lookup(client, "checks/transpose", &transpose, &error), error);
    CHECK_OK(farcall_lookup(client, "checks/greet", &greet, &error), error);
    a_chain_runs_and_its_results_are_fetched();
    one_that_is_kept_outlasts_its_connection();
    wrong_arguments_are_refused();
    what_is_wrong_is_refused();
    a_failure_is_that_of_its_call();
    farcall_routine_free(greet);
    farcall_routine_free(transpose);
    farcall_routine_free(doubled);
    return check_end(server, client);
}
