/* Calls as bindings make them: argument arrays, shapes and strides, destinations, results and their
   memory. */
#include "check.h"

static farcall_argument matrix(double *data, uint64_t *shape, int64_t *strides)
{
    farcall_argument argument = {
        .kind = FARCALL_ARRAY, .element = FARCALL_FLOAT64, .data = data, .rank = 2};
    argument.shape = shape;
    argument.strides = strides;
    return argument;
}

/* Extents are inferred, the arguments stay as they are, results have memory of their own. */
static void inferred(farcall_routine *dgesv)
{
    double a[4] = {4, 1, 1, 3}, b[2] = {1, 2};
    uint64_t square[2] = {2, 2}, column[2] = {2, 1};
    farcall_argument arguments[8] = {{0}};
    farcall_results *results;
    farcall_memory *memory;
    farcall_array_view view;
    farcall_times times;
    farcall_placed placed;
    farcall_error *error;
    arguments[2] = matrix(a, square, NULL);
    arguments[5] = matrix(b, column, NULL);
    CHECK_OK(farcall_call_arguments(dgesv, arguments, 8, NULL, &results, &error), error);
    CHECK(a[0] == 4 && b[0] == 1);
    CHECK(farcall_results_kind(results, 0) == FARCALL_RESULT_NONE &&
          farcall_results_kind(results, 99) == FARCALL_RESULT_NONE);
    CHECK(farcall_results_kind(results, 7) == FARCALL_RESULT_ARRAY);
    CHECK_OK(farcall_results_array(results, 7, &view, &error), error);
    CHECK(view.element == FARCALL_INT32 && view.rank == 1 && view.shape[0] == 1 &&
          *(int *) view.data == 0);
    CHECK_OK(farcall_results_take(results, 5, &view, &memory, &error), error);
    CHECK_ERROR(farcall_results_array(results, 0, &view, &error), error, FARCALL_NOT_FOUND,
        "n is not an array result");
    CHECK_ERROR(farcall_results_array(results, 8, &view, &error), error, FARCALL_NOT_FOUND,
        "the last one is 7");
    CHECK(farcall_results_times(results, &times) == FARCALL_OK && times.finished >= times.started);
    CHECK(strncmp(farcall_results_server(results), "unix:", 5) == 0);
    CHECK(farcall_results_server(NULL) == NULL);
    CHECK(farcall_results_placed(results, &placed) == FARCALL_NOT_FOUND);
    CHECK(farcall_results_placed(NULL, &placed) == FARCALL_INVALID_ARGUMENT);
    /* The memory outlives the results. */
    farcall_results_free(results);
    CHECK(view.rank == 2 && view.shape[0] == 2 && view.shape[1] == 1 && view.element_bytes == 8 &&
          view.strides[0] == 8);
    CHECK(((double *) view.data)[1] > 7 / 11.0 - 1e-12 &&
          ((double *) view.data)[1] < 7 / 11.0 + 1e-12);
    farcall_memory_free(memory);
}

/* Rows instead of columns, over the arguments and into another array. */
static void destinations(farcall_routine *dgesv)
{
    double a[4] = {4, 1, 1, 3}, b[2] = {1, 2}, x[4] = {-1, -1, -1, -1};
    uint64_t square[2] = {2, 2}, column[2] = {2, 1};
    int64_t rows[2] = {16, 8}, every_other[2] = {16, 8};
    farcall_argument arguments[8] = {{0}};
    farcall_results *results;
    farcall_array_view view;
    farcall_error *error;
    arguments[2] = matrix(a, square, rows);
    arguments[2].destination = FARCALL_IN_PLACE;
    arguments[5] = matrix(b, column, NULL);
    arguments[5].destination = FARCALL_INTO;
    arguments[5].into_element = FARCALL_FLOAT64;
    arguments[5].into = x;
    arguments[5].into_rank = 2;
    arguments[5].into_shape = column;
    arguments[5].into_strides = every_other;
    CHECK_OK(farcall_call_arguments(dgesv, arguments, 8, NULL, &results, &error), error);
    CHECK(a[2] == 0.25 && b[0] == 1); /* L(2,1) = 1/4, of rows */
    CHECK(
        x[0] > 1 / 11.0 - 1e-12 && x[0] < 1 / 11.0 + 1e-12 && x[1] == -1 && x[2] > 0 && x[3] == -1);
    CHECK(farcall_results_kind(results, 5) == FARCALL_RESULT_WRITTEN);
    CHECK_OK(farcall_results_array(results, 5, &view, &error), error);
    CHECK(view.data == NULL && view.rank == 2 && view.shape[0] == 2);
    farcall_results_free(results);
}

static void mistakes(farcall_routine *dgesv)
{
    double a[4] = {4, 1, 1, 3}, b[3] = {1, 2, 3};
    uint64_t square[2] = {2, 2}, column[2] = {3, 1},
             huge[2] = {(uint64_t) 1 << 62, (uint64_t) 1 << 62};
    farcall_argument arguments[8] = {{0}};
    farcall_error *error;
    arguments[2] = matrix(a, square, NULL);
    arguments[5] = matrix(b, column, NULL);
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 7, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "given: 7, parameters: 8");
    /* Three right-hand sides' rows for two equations. */
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "n");
    arguments[5].rank = 33;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "rank: 33");
    arguments[5].rank = -2;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "rank: -2");
    arguments[5].rank = 2;
    arguments[5].shape = NULL;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "NULL");
    arguments[5].shape = huge;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "shape");
    arguments[5].shape = square;
    arguments[5].element = FARCALL_FLOAT32;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "array of float");
    arguments[5].element = 77;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "element: 77");
    arguments[5].element = FARCALL_FLOAT64;
    arguments[5].reserved[3] = 1; /* a member of a later version */
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "reserved");
    arguments[5].reserved[3] = 0;
    arguments[5].kind = 99;
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "kind: 99");
    CHECK_ERROR(farcall_call_arguments(dgesv, NULL, 8, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "NULL");
}

static void texts(farcall_client *client)
{
    static const farcall_text words[] = {
        {"one", FARCALL_NUL_TERMINATED}, {NULL, 0}, {"threefold", 5}};
    farcall_argument greet[2] = {{.kind = FARCALL_TEXT, .value.text = {"world!", 5}}};
    farcall_argument join[3] = {{.kind = FARCALL_INTEGER, .value.integer = 3},
                                {.kind = FARCALL_TEXTS, .value.texts = {words, 3}}};
    farcall_routine *routine;
    farcall_results *results;
    farcall_array_view view;
    farcall_error *error;
    size_t bytes = 0;
    const char *text;
    CHECK_OK(farcall_lookup(client, "greet", &routine, &error), error);
    CHECK_OK(farcall_call_arguments(routine, greet, 2, NULL, &results, &error), error);
    CHECK(
        farcall_results_text_count(results, 1) == 1 && farcall_results_text_count(results, 0) == 0);
    text = farcall_results_text(results, 1, 0, &bytes);
    CHECK(text && strcmp(text, "hello, world") == 0 && bytes == 12);
    CHECK(farcall_results_text(results, 1, 1, &bytes) == NULL && bytes == 0);
    farcall_results_free(results);
    farcall_routine_free(routine);
    CHECK_OK(farcall_lookup(client, "join", &routine, &error), error);
    CHECK_OK(farcall_call_arguments(routine, join, 3, NULL, &results, &error), error);
    CHECK_OK(farcall_results_array(results, 2, &view, &error), error);
    CHECK(*(int *)view.data == 1008);
    farcall_results_free(results);
    farcall_routine_free(routine);
}

/* Results in shared memory: handles keep it from being used again. */
static void memories(farcall_client *client)
{
    farcall_argument arguments[2] = {{.kind = FARCALL_INTEGER, .value.integer = 100000}};
    farcall_routine *count;
    farcall_results *results;
    farcall_memory *memory[8];
    farcall_array_view view[8];
    farcall_error *error;
    int index, wrong = 0;
    CHECK_OK(farcall_lookup(client, "count", &count, &error), error);
    for (index = 0; index < 8; index++) {
        CHECK_OK(farcall_call_arguments(count, arguments, 2, NULL, &results, &error), error);
        CHECK_OK(farcall_results_take(results, 1, &view[index], &memory[index], &error), error);
        farcall_results_free(results);
        ((double *)view[index].data)[7] = index; /* it is ours */
    }
    for (index = 0; index < 8; index++) {
        wrong += ((double *) view[index].data)[7] != index ||
                 ((double *) view[index].data)[99999] != 99999;
        farcall_memory_free(memory[index]);
    }
    CHECK(wrong == 0);
    farcall_routine_free(count);
}

/* The program's own memory: the routine writes where the array lies; two calls at once may not. */
static void own_memory(farcall_client *client)
{
    const uint64_t shape[1] = {50000};
    farcall_argument arguments[2] = {{.kind = FARCALL_INTEGER, .value.integer = 50000},
                                     {.kind = FARCALL_ARRAY, .rank = 1, .shape = shape}};
    farcall_routine *count;
    farcall_call *call;
    farcall_memory *memory;
    farcall_error *error;
    void *data = NULL;
    double *x;
    CHECK_ERROR(
        farcall_memory_allocate(8, NULL, &memory, &error), error, FARCALL_INVALID_ARGUMENT, "NULL");
    CHECK_ERROR(farcall_memory_allocate((size_t) -1, &data, &memory, &error), error,
        FARCALL_LIMIT_EXCEEDED, "without a copy");
    CHECK(memory == NULL && data == NULL);
    CHECK_OK(farcall_memory_allocate(8 * 50000, &data, &memory, &error), error);
    CHECK_OK(farcall_lookup(client, "count", &count, &error), error);
    arguments[1].data = x = data;
    CHECK_OK(farcall_call_arguments(count, arguments, 2, NULL, NULL, &error), error);
    CHECK(x[1] == 1 && x[49999] == 49999);
    CHECK_OK(farcall_start_arguments(count, arguments, 2, NULL, &call, &error), error);
    CHECK_ERROR(farcall_call_arguments(count, arguments, 2, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "running call");
    CHECK_OK(farcall_call_wait(call, -1, NULL, &error), error);
    farcall_call_free(call);
    farcall_memory_free(memory);
    farcall_routine_free(count);
}

static void descriptions(farcall_client *client, farcall_routine *dgesv)
{
    uint32_t indexes[8] = {99, 99, 99, 99, 99, 99, 99, 99};
    char *json;
    farcall_error *error;
    CHECK(strcmp(farcall_routine_name(dgesv), "lapack/dgesv") == 0);
    CHECK(farcall_routine_parameters(dgesv) == 8 && farcall_routine_contract(dgesv) != NULL);
    CHECK(farcall_routine_find(dgesv, "ldb") == 6 && farcall_routine_find(dgesv, "nobody") == -1);
    CHECK(
        farcall_routine_positional(dgesv, indexes, 1) == 2 && indexes[0] == 2 && indexes[1] == 99);
    CHECK(farcall_routine_passing(dgesv, indexes, 8) == 8 && indexes[0] == FARCALL_INT32);
    CHECK(indexes[2] == (FARCALL_FLOAT64 | FARCALL_TAG_POINTER));
    CHECK(strstr(farcall_routine_json(dgesv), "\"full_name\":\"lapack/dgesv\""));
    CHECK(farcall_routine_json(dgesv) == farcall_routine_json(dgesv));
    CHECK(strstr(farcall_routine_signature(dgesv), "dgesv(a, b, *") &&
          strstr(farcall_routine_help(dgesv), "Solves"));
    CHECK_OK(farcall_list(client, &json, &error), error);
    CHECK(
        json && json[0] == '[' && strstr(json, "\"checks/add\"") && strstr(json, "\"blas/ddot\""));
    farcall_text_free(json);
    CHECK(strncmp(farcall_version(), "0.1", 3) == 0);
}

/* A call can be bound to a server; what is asked of one that knows no others says where it is. */
static void servers(farcall_client *client, farcall_routine *dgesv)
{
    double a[4] = {4, 1, 1, 3}, b[2] = {1, 2};
    uint64_t square[2] = {2, 2}, column[2] = {2, 1};
    farcall_argument arguments[8] = {{0}};
    farcall_call_options options = {.size = sizeof options};
    farcall_results *results;
    farcall_error *error;
    char *json;
    arguments[2] = matrix(a, square, NULL);
    arguments[5] = matrix(b, column, NULL);
    options.at = farcall_address(client);
    CHECK_OK(farcall_call_arguments(dgesv, arguments, 8, &options, &results, &error), error);
    CHECK(strcmp(farcall_results_server(results), farcall_address(client)) == 0);
    farcall_results_free(results);
    options.at = "tls://nowhere:1";
    CHECK_ERROR(farcall_call_arguments(dgesv, arguments, 8, &options, &results, &error), error,
        FARCALL_NOT_FOUND, "no server is called \"tls://nowhere:1\"");
    CHECK_OK(farcall_explain(dgesv, arguments, 8, &json, &error), error);
    CHECK(strncmp(json, "[{\"server\":\"", 12) == 0 && strstr(json, "\"chosen\":true"));
    farcall_text_free(json);
    CHECK_ERROR(farcall_explain(dgesv, arguments, 7, &json, &error), error,
        FARCALL_INVALID_ARGUMENT, "the wrong number of arguments");
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    farcall_routine *dgesv;
    farcall_error *error;
    CHECK_OK(farcall_lookup(client, "dgesv", &dgesv, &error), error);
    descriptions(client, dgesv);
    inferred(dgesv);
    servers(client, dgesv);
    destinations(dgesv);
    mistakes(dgesv);
    texts(client);
    memories(client);
    own_memory(client);
    farcall_routine_free(dgesv);
    return check_end(server, client);
}
