/* Data: values that stay at the server. They are put there, used, fetched, left and deleted, and each
 * wrong input is refused with its reason. */
#include <string.h>

#include "check.h"

static farcall_client *client;
static farcall_error *error;
static farcall_routine *doubled, *transpose;

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

static farcall_data *put(uint32_t element, void *values, int64_t rank, const uint64_t *shape)
{
    farcall_argument one = array(element, values, rank, shape);
    farcall_data *data;
    CHECK_OK(farcall_put(client, &one, NULL, &data, &error), error);
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
    CHECK(farcall_routine_find(routine, "value") == (int)value);
    CHECK(farcall_results_kind(results, value) == FARCALL_RESULT_ARRAY);
    CHECK_OK(farcall_results_array(results, value, &view, &error), error);
    int same = bytes == 0 || memcmp(view.data, values, bytes) == 0;
    farcall_results_free(results);
    farcall_call_free(call);
    farcall_routine_free(routine);
    return same;
}

/* Whether the server lists it. */
static int is_listed(const char *id)
{
    char *json;
    CHECK_OK(farcall_data_list(client, &json, &error), error);
    int found = strstr(json, id) != NULL;
    farcall_text_free(json);
    return found;
}

static void values_are_put_and_fetched(void)
{
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}}, columns[2][2] = {{1, 3}, {4, 6}};
    uint64_t shape[] = {2, 3}, some[] = {2, 2}, none[] = {0};
    farcall_data *data = put(FARCALL_FLOAT64, matrix, 2, shape);
    char id[33];
    CHECK(farcall_data_id(data, id) == 1 && strlen(id) == 32 && is_listed(id));
    CHECK(farcall_data_element(data) == FARCALL_FLOAT64 && farcall_data_rank(data) == 2);
    const uint64_t *extents = farcall_data_extents(data);
    CHECK(extents != NULL && extents[0] == 2 && extents[1] == 3);
    char *server = farcall_data_server(data);
    CHECK(server != NULL && strcmp(server, farcall_address(client)) == 0);
    farcall_text_free(server);
    matrix[0][0] = 9; /* reaches the server no more */
    double first[2][3] = {{1, 2, 3}, {4, 5, 6}};
    CHECK(has(data, first, sizeof first) && has(data, first, sizeof first));
    farcall_data_free(data);
    /* Every second column. */
    int64_t strides[] = {3 * sizeof(double), 2 * sizeof(double)};
    farcall_argument gaps = array(FARCALL_FLOAT64, first, 2, some);
    gaps.strides = strides;
    CHECK_OK(farcall_put(client, &gaps, NULL, &data, &error), error);
    CHECK(has(data, columns, sizeof columns));
    farcall_data_free(data);
    data = put(FARCALL_INT32, NULL, 1, none);
    CHECK(farcall_data_extents(data)[0] == 0 && has(data, NULL, 0));
    farcall_data_free(data);
    char text[] = "text";
    uint64_t letters[] = {4};
    data = put(FARCALL_CHAR, text, 1, letters);
    CHECK(farcall_data_element(data) == FARCALL_CHAR && has(data, text, 4));
    farcall_data_free(data);
}

static void data_is_an_argument_and_results_stay(void)
{
    float values[] = {1, 2, 3}, twice[] = {2, 4, 6}, four_times[] = {4, 8, 12};
    uint64_t shape[] = {3};
    farcall_data *data = put(FARCALL_FLOAT32, values, 1, shape), *result, *second;
    farcall_argument arguments[2];
    memset(arguments, 0, sizeof arguments);
    arguments[1] = of_data(data);
    farcall_call_options options = {.size = sizeof options, .stay = "x"};
    farcall_results *results;
    CHECK_OK(farcall_call_arguments(doubled, arguments, 2, &options, &results, &error), error);
    CHECK(farcall_results_kind(results, 1) == FARCALL_RESULT_DATA);
    CHECK_OK(farcall_results_data(results, 1, &result, &error), error);
    int status = farcall_results_data(results, 0, &second, &error);
    CHECK_ERROR(status, error, FARCALL_NOT_FOUND, "stay");
    CHECK(second == NULL);
    farcall_results_free(results);
    CHECK(has(result, twice, sizeof twice) && has(data, values, sizeof values));
    /* A call names a result before its own call has ended. */
    farcall_call *first, *then;
    options.stay = "*";
    arguments[1] = of_data(data);
    CHECK_OK(farcall_start_arguments(doubled, arguments, 2, &options, &first, &error), error);
    farcall_data_free(result);
    CHECK_OK(farcall_call_data(first, 1, &result, &error), error);
    CHECK_ERROR(farcall_call_data(first, 0, &second, &error), error, FARCALL_NOT_FOUND, "stay");
    arguments[1] = of_data(result);
    CHECK_OK(farcall_start_arguments(doubled, arguments, 2, NULL, &then, &error), error);
    farcall_array_view view;
    CHECK_OK(farcall_call_wait(then, 20, &results, &error), error);
    CHECK_OK(farcall_results_array(results, 1, &view, &error), error);
    CHECK(memcmp(view.data, four_times, sizeof four_times) == 0);
    farcall_results_free(results);
    CHECK_OK(farcall_call_wait(first, 20, NULL, &error), error);
    farcall_call_free(then);
    farcall_call_free(first);
    CHECK(has(result, twice, sizeof twice));
    farcall_data_free(result);
    farcall_data_free(data);
}

static void data_is_found_left_and_deleted(void)
{
    double one[] = {1};
    uint64_t shape[] = {1};
    char kept[33], gone[33];
    farcall_data *data = put(FARCALL_FLOAT64, one, 1, shape), *again;
    farcall_data *other = put(FARCALL_FLOAT64, one, 1, shape);
    farcall_data_id(data, kept);
    farcall_data_id(other, gone);
    farcall_data_leave(data);
    farcall_data_free(data);
    farcall_data_free(other);
    for (int tries = 0; is_listed(gone) && tries < 1000; tries++)
        CHECK_OK(farcall_process(client, &error), error);
    CHECK(!is_listed(gone) && is_listed(kept));
    CHECK_OK(farcall_find_data(client, kept, &again, &error), error);
    CHECK(farcall_data_rank(again) == 1 && has(again, one, sizeof one));
    CHECK_OK(farcall_data_delete(again, &error), error);
    CHECK(!is_listed(kept));
    CHECK_OK(farcall_data_delete(again, &error), error);
    farcall_call *call = NULL;
    farcall_results *results;
    int status = farcall_data_fetch(again, NULL, NULL, &call, &error);
    if (status == FARCALL_OK)
        status = farcall_call_wait(call, 20, &results, &error);
    CHECK_ERROR(status, error, FARCALL_NOT_FOUND, "no such data");
    farcall_call_free(call);
    farcall_argument arguments[2];
    memset(arguments, 0, sizeof arguments);
    arguments[1] = of_data(again);
    CHECK_ERROR(farcall_call_arguments(doubled, arguments, 2, NULL, &results, &error), error,
        FARCALL_INVALID_ARGUMENT, "another type");
    farcall_data_free(again);
    CHECK_ERROR(farcall_find_data(client, kept, &again, &error), error, FARCALL_NOT_FOUND,
        "no such data");
    CHECK_ERROR(farcall_find_data(client, "seven", &again, &error), error,
        FARCALL_INVALID_ARGUMENT, "32");
    CHECK_ERROR(farcall_find_data(client, NULL, &again, &error), error, FARCALL_INVALID_ARGUMENT,
        "NULL");
    CHECK(again == NULL);
}

static void a_lease_outlasts_the_connection(void)
{
    double one[] = {1};
    uint64_t shape[] = {1};
    farcall_argument value = array(FARCALL_FLOAT64, one, 1, shape);
    farcall_call_options options = {.size = sizeof options, .lease_seconds = 60};
    farcall_client *other;
    farcall_data *data;
    char id[33];
    CHECK_OK(farcall_connect(farcall_address(client), &other, &error), error);
    CHECK_OK(farcall_put(other, &value, &options, &data, &error), error);
    farcall_data_id(data, id);
    farcall_data_leave(data);
    farcall_data_free(data);
    farcall_disconnect(other);
    CHECK_OK(farcall_find_data(client, id, &data, &error), error);
    CHECK(has(data, one, sizeof one));
    CHECK_OK(farcall_data_delete(data, &error), error);
    farcall_data_free(data);
    options.lease_seconds = -1;
    CHECK_ERROR(farcall_put(client, &value, &options, &data, &error), error,
        FARCALL_INVALID_ARGUMENT, "lease");
    options.lease_seconds = 1e300;
    CHECK_OK(farcall_put(client, &value, &options, &data, &error), error);
    farcall_data_free(data);
}

static void wrong_inputs_are_refused(void)
{
    double one[16] = {1};
    uint64_t shape[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    farcall_data *data;
    farcall_argument value = array(FARCALL_FLOAT64, one, 1, shape), wrong;
#define REFUSED(text)                                                                   \
    CHECK_ERROR(farcall_put(client, &wrong, NULL, &data, &error), error,                \
        FARCALL_INVALID_ARGUMENT, text);                                                \
    CHECK(data == NULL)
    wrong = value, wrong.kind = FARCALL_INTEGER;
    REFUSED("not an array");
    wrong = value, wrong.element = 0;
    REFUSED("type of elements");
    wrong = value, wrong.element = 99;
    REFUSED("type of elements");
    wrong = value, wrong.rank = 16;
    REFUSED("15 dimensions");
    wrong = value, wrong.rank = 0;
    REFUSED("dimensions");
    wrong = value, wrong.rank = -1;
    REFUSED("dimensions");
    wrong = value, wrong.shape = NULL;
    REFUSED("shape");
    wrong = value, wrong.data = NULL;
    REFUSED("NULL");
    CHECK_ERROR(farcall_put(client, NULL, NULL, &data, &error), error, FARCALL_INVALID_ARGUMENT,
        "NULL");
    CHECK_ERROR(farcall_put(NULL, &value, NULL, &data, &error), error, FARCALL_INVALID_ARGUMENT,
        "NULL");
    CHECK_ERROR(farcall_put(client, &value, NULL, NULL, &error), error, FARCALL_INVALID_ARGUMENT,
        "NULL");
    farcall_call_options options = {.size = sizeof options, .at = "nowhere"};
    CHECK_ERROR(farcall_put(client, &value, &options, &data, &error), error, FARCALL_NOT_FOUND,
        "nowhere");
    CHECK(farcall_data_id(NULL, NULL) == 0 && farcall_data_extents(NULL) == NULL);
    CHECK(farcall_data_server(NULL) == NULL);
    CHECK(farcall_data_element(NULL) == 0 && farcall_data_rank(NULL) == 0);
    farcall_data_leave(NULL);
    farcall_data_free(NULL);
    CHECK_ERROR(farcall_data_delete(NULL, &error), error, FARCALL_INVALID_ARGUMENT, "NULL");
    char *json;
    CHECK_ERROR(farcall_data_list(NULL, &json, &error), error, FARCALL_INVALID_ARGUMENT, "NULL");
}

static void wrong_calls_are_refused(void)
{
    double matrix[6] = {1, 2, 3, 4, 5, 6};
    uint64_t shape[] = {2, 3}, flat[] = {6};
    farcall_data *rows = put(FARCALL_FLOAT64, matrix, 2, shape);
    farcall_data *vector = put(FARCALL_FLOAT64, matrix, 1, flat);
    farcall_argument arguments[4];
    farcall_call_options options = {.size = sizeof options};
    farcall_results *results;
    memset(arguments, 0, sizeof arguments);
#define CALL(kind, text)                                                                    \
    CHECK_ERROR(farcall_call_arguments(transpose, arguments, 4, &options, &results, &error), \
        error, kind, text)
    arguments[2] = of_data(vector);
    CALL(FARCALL_INVALID_ARGUMENT, "another type");
    arguments[2] = of_data(NULL);
    CALL(FARCALL_INVALID_ARGUMENT, "NULL");
    arguments[2] = of_data(rows);
    arguments[0] = of_data(rows);
    CALL(FARCALL_INVALID_ARGUMENT, "n");
    memset(arguments, 0, sizeof *arguments);
    arguments[0].kind = FARCALL_INTEGER;
    arguments[0].value.integer = 5;
    CALL(FARCALL_INVALID_ARGUMENT, "n");
    memset(arguments, 0, sizeof *arguments);
    options.stay = "b, c";
    CALL(FARCALL_INVALID_ARGUMENT, "no result \"c\"");
    options.stay = "n";
    CALL(FARCALL_INVALID_ARGUMENT, "arrays of numbers");
    options.stay = "b";
    options.keep_seconds = 60;
    options.durable = 1;
    CALL(FARCALL_INVALID_ARGUMENT, "survive");
    options.keep_seconds = 0;
    options.durable = 0;
    double place[6] = {0};
    uint64_t turned[] = {3, 2};
    arguments[3] = array(FARCALL_FLOAT64, place, 2, turned);
    CALL(FARCALL_INVALID_ARGUMENT, "cannot stay");
    /* With "*" what has a place goes there. */
    options.stay = "*";
    CHECK_OK(farcall_call_arguments(transpose, arguments, 4, &options, &results, &error), error);
    CHECK(place[1] == 4 && place[4] == 3);
    CHECK(farcall_results_kind(results, 3) == FARCALL_RESULT_WRITTEN);
    farcall_results_free(results);
    farcall_data_free(rows);
    farcall_data_free(vector);
}

int main(void)
{
    farcall_server *server = check_begin(&client);
    CHECK_OK(farcall_lookup(client, "checks/doubled", &doubled, &error), error);
    CHECK_OK(farcall_lookup(client, "checks/transpose", &transpose, &error), error);
    values_are_put_and_fetched();
    data_is_an_argument_and_results_stay();
    data_is_found_left_and_deleted();
    a_lease_outlasts_the_connection();
    wrong_inputs_are_refused();
    wrong_calls_are_refused();
    farcall_routine_free(doubled);
    farcall_routine_free(transpose);
    return check_end(server, client);
}
