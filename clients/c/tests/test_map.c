/* farcall_map: columns of numbers and arrays, failures, ends, and the farm below it. */
#include "check.h"

enum { COUNT = 500 };

static farcall_argument column(void *data, uint32_t element)
{
    farcall_argument argument;
    memset(&argument, 0, sizeof argument);
    argument.kind = FARCALL_ARRAY;
    argument.element = element;
    argument.data = data;
    argument.rank = FARCALL_RAW_LAYOUT;
    return argument;
}

static farcall_routine *found(farcall_client *client, const char *name)
{
    farcall_routine *routine;
    farcall_error *error;
    CHECK_OK(farcall_lookup(client, name, &routine, &error), error);
    return routine;
}

static void numbers(farcall_client *client)
{
    static int a[COUNT], statuses[COUNT];
    static double b[COUNT], sums[COUNT];
    farcall_routine *add = found(client, "add");
    farcall_argument arguments[3];
    farcall_step steps[3] = {{sizeof *a, 0}, {sizeof *b, 0}, {sizeof *sums, 0}};
    farcall_map_options options = {.size = sizeof options, .window = 7};
    farcall_error *error;
    int i, right = 0;
    for (i = 0; i < COUNT; i++) {
        a[i] = i;
        b[i] = i * 0.25;
    }
    arguments[0] = column(a, FARCALL_INT32);
    arguments[1] = column(b, FARCALL_FLOAT64);
    arguments[2] = column(sums, FARCALL_FLOAT64);
    CHECK_OK(farcall_map(add, COUNT, arguments, steps, 3, &options, statuses, &error), error);
    for (i = 0; i < COUNT; i++)
        right += sums[i] == i * 1.25 && statuses[i] == FARCALL_OK;
    CHECK(right == COUNT);
    /* One number for all, given as a value and as a column that goes nowhere. */
    arguments[0].kind = FARCALL_INTEGER;
    arguments[0].value.integer = 3;
    CHECK_OK(farcall_map(add, COUNT, arguments, steps, 3, NULL, NULL, &error), error);
    CHECK(sums[4] == 4);
    arguments[0] = column(a + 5, FARCALL_INT32);
    steps[0].data = 0;
    CHECK_OK(farcall_map(add, COUNT, arguments, steps, 3, NULL, NULL, &error), error);
    CHECK(sums[4] == 6);
    /* None, and backwards. */
    CHECK_OK(farcall_map(add, 0, arguments, steps, 3, NULL, NULL, &error), error);
    arguments[0] = column(a + COUNT - 1, FARCALL_INT32);
    steps[0].data = -(int64_t)sizeof *a;
    CHECK_OK(farcall_map(add, COUNT, arguments, steps, 3, NULL, NULL, &error), error);
    CHECK(sums[0] == COUNT - 1 && sums[COUNT - 1] == (COUNT - 1) * 0.25);
    farcall_routine_free(add);
}

static void arrays(farcall_client *client)
{
    static double a[20][6], b[20][6];
    static float x[20][3], y[20][3];
    farcall_routine *transpose = found(client, "transpose"), *doubled = found(client, "doubled");
    uint64_t three = 3;
    int64_t gap = sizeof(float);
    farcall_argument arguments[4], both[2];
    farcall_step steps[4] = {{0, 0}, {0, 0}, {sizeof *a, 0}, {sizeof *b, 0}};
    farcall_step apart[2] = {{0, 0}, {sizeof *x, sizeof *y}};
    farcall_error *error;
    int i, j, right = 0;
    for (i = 0; i < 20; i++)
        for (j = 0; j < 6; j++) {
            a[i][j] = i * 10 + j;
            x[i][j / 2] = (float)(i + j / 2);
        }
    memset(arguments, 0, sizeof arguments);
    arguments[0].kind = arguments[1].kind = FARCALL_INTEGER;
    arguments[0].value.integer = 2;
    arguments[1].value.integer = 3;
    arguments[2] = column(a, FARCALL_FLOAT64);
    arguments[3] = column(b, FARCALL_FLOAT64);
    CHECK_OK(farcall_map(transpose, 20, arguments, steps, 4, NULL, NULL, &error), error);
    for (i = 0; i < 20; i++)
        right += b[i][1] == a[i][3] && b[i][4] == a[i][2] && b[i][5] == a[i][5];
    CHECK(right == 20);
    /* INOUT: into another array, and in place. */
    memset(both, 0, sizeof both);
    both[1] = column(x, FARCALL_FLOAT32);
    both[1].rank = both[1].into_rank = 1;
    both[1].shape = both[1].into_shape = &three;
    both[1].strides = both[1].into_strides = &gap;
    both[1].destination = FARCALL_INTO;
    both[1].into_element = FARCALL_FLOAT32;
    both[1].into = y;
    CHECK_OK(farcall_map(doubled, 20, both, apart, 2, NULL, NULL, &error), error);
    CHECK(y[0][0] == 0 && y[19][2] == 42 && x[19][2] == 21);
    both[1].destination = FARCALL_IN_PLACE;
    CHECK_OK(farcall_map(doubled, 20, both, apart, 2, NULL, NULL, &error), error);
    CHECK(x[19][2] == 42 && x[1][0] == 2);
    farcall_routine_free(transpose);
    farcall_routine_free(doubled);
}

struct told {
    int ended, failed, last, stop;
    char text[200];
};

static int tell(void *context, size_t element, int status, const farcall_results *results,
    const farcall_error *error)
{
    struct told *told = context;
    told->ended++;
    told->failed += status != FARCALL_OK;
    told->last = (int)element;
    CHECK((status == FARCALL_OK) == (results != NULL) && !results == (error != NULL));
    if (results && farcall_results_kind(results, 1) == FARCALL_RESULT_TEXTS)
        snprintf(told->text, sizeof told->text, "%s", farcall_results_text(results, 1, 0, NULL));
    return told->ended == told->stop;
}

/* What is wrong with the arguments of each element is its outcome; with the call itself, its error. */
static void refusals(farcall_client *client)
{
    static double values[2];
    int statuses[2];
    farcall_routine *add = found(client, "add");
    farcall_argument arguments[3];
    farcall_step steps[3] = {{sizeof *values, 0}, {sizeof *values, 0}, {0, 0}};
    farcall_map_options options = {.size = 3};
    farcall_error *error;
    memset(arguments, 0, sizeof arguments);
    arguments[0] = column(values, FARCALL_FLOAT64);
    arguments[1] = column(values, FARCALL_FLOAT64);
    CHECK_ERROR(farcall_map(add, 2, arguments, steps, 3, NULL, statuses, &error), error,
        FARCALL_INVALID_ARGUMENT, "another type than the parameter");
    CHECK(statuses[0] == FARCALL_INVALID_ARGUMENT);
    CHECK_ERROR(farcall_map(add, 2, arguments, steps, 2, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "wrong number of arguments");
    CHECK_ERROR(farcall_map(NULL, 2, arguments, steps, 2, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "the routine is NULL");
    CHECK_ERROR(farcall_map(add, 2, NULL, steps, 3, NULL, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "the arguments is NULL");
    CHECK_ERROR(farcall_map(add, 2, arguments, steps, 3, &options, NULL, &error), error,
        FARCALL_INVALID_ARGUMENT, "farcall_map_options");
    farcall_routine_free(add);
}

/* Element 3 takes longer than it may: the others have their outcome, or all end with it. */
static void failures(farcall_client *client)
{
    static double seconds[4] = {0.01, 0.01, 0.01, 30};
    int statuses[4], done[4], i, left = 0;
    struct told told = {.stop = -1};
    farcall_routine *pause = found(client, "pause");
    farcall_argument arguments[2];
    farcall_step steps[2] = {{sizeof *seconds, 0}, {sizeof *done, 0}};
    farcall_call_options call = {.size = sizeof call, .timeout_seconds = 0.3};
    farcall_map_options options = {.size = sizeof options, .done = tell, .context = &told};
    farcall_error *error;
    arguments[0] = column(seconds, FARCALL_FLOAT64);
    arguments[1] = column(done, FARCALL_INT32);
    options.call = &call;
    options.goes_on = 1;
    CHECK_OK(farcall_map(pause, 4, arguments, steps, 2, &options, statuses, &error), error);
    CHECK(statuses[0] == 0 && statuses[2] == 0 && statuses[3] == FARCALL_TIMED_OUT);
    CHECK(told.ended == 4 && told.failed == 1);
    options.goes_on = 0;
    CHECK_ERROR(farcall_map(pause, 4, arguments, steps, 2, &options, statuses, &error), error,
        FARCALL_TIMED_OUT, "element: 3");
    /* The program wants no more after the second. */
    told.ended = 0;
    told.stop = 2;
    options.call = NULL;
    CHECK_ERROR(farcall_map(pause, 4, arguments, steps, 2, &options, statuses, &error), error,
        FARCALL_CANCELLED, "wanted no more");
    for (i = 0; i < 4; i++)
        left += statuses[i] == FARCALL_PENDING;
    CHECK(left == 2 && statuses[3] == FARCALL_PENDING);
    farcall_routine_free(pause);
}

/* Each element with arguments of its own, and a text for a result. */
static void texts(farcall_client *client)
{
    struct told told = {.stop = -1};
    farcall_routine *greet = found(client, "greet");
    farcall_argument each[6];
    farcall_map_options options = {.size = sizeof options, .done = tell, .context = &told};
    farcall_error *error;
    int i;
    memset(each, 0, sizeof each);
    options.window = 1;
    for (i = 0; i < 3; i++) {
        each[2 * i].kind = FARCALL_TEXT;
        each[2 * i].value.text.data = i == 2 ? "Ada" : "Bob";
        each[2 * i].value.text.bytes = FARCALL_NUL_TERMINATED;
    }
    CHECK_OK(farcall_map(greet, 3, each, NULL, 2, &options, NULL, &error), error);
    CHECK(told.ended == 3 && told.last == 2 && strcmp(told.text, "hello, Ada") == 0);
    farcall_routine_free(greet);
}

/* What bindings do: numbers apart from results, and calls that nobody waits for. */
static void farm(farcall_client *client)
{
    static int a[COUNT];
    farcall_routine *add = found(client, "add"), *pause = found(client, "pause");
    farcall_argument arguments[3];
    farcall_step steps[3] = {{sizeof *a, 0}, {0, 0}, {0, 0}};
    farcall_outcome outcomes[64];
    farcall_number numbers[64];
    farcall_farm *farm;
    farcall_error *error;
    size_t started, count, ended = 0, right = 0, i;
    uint64_t number;
    memset(arguments, 0, sizeof arguments);
    for (i = 0; i < COUNT; i++)
        a[i] = (int)i;
    arguments[0] = column(a, FARCALL_VOID);
    arguments[1].kind = FARCALL_REAL;
    arguments[1].value.real = 0.5;
    CHECK_OK(farcall_farm_open(add, NULL, &farm, &error), error);
    CHECK(farcall_farm_next(farm, -1, outcomes, 64, numbers, &count, &error) == FARCALL_PENDING);
    CHECK_OK(
        farcall_farm_start(farm, 100, COUNT, arguments, steps, 3, -1, &started, &error), error);
    CHECK(started == COUNT && farcall_farm_under_way(farm) == COUNT);
    CHECK(farcall_next_finished(client, 0, &number, &error) == FARCALL_PENDING);
    while (farcall_farm_next(farm, 20, outcomes, 64, numbers, &count, &error) == FARCALL_OK) {
        for (i = 0; i < count; i++, ended++) {
            right += numbers[i].bytes[0] == (double)outcomes[i].element - 100 + 0.5 &&
                     !outcomes[i].results && !outcomes[i].error &&
                     outcomes[i].times.finished >= outcomes[i].times.started;
        }
    }
    CHECK(ended == COUNT && right == COUNT && farcall_farm_under_way(farm) == 0);
    CHECK(strcmp(farcall_farm_server(farm, 0), farcall_address(client)) == 0);
    CHECK(farcall_farm_server(farm, 1) == NULL && farcall_farm_server(NULL, 0) == NULL);
    CHECK_OK(farcall_farm_start(farm, 0, 3, arguments, steps, 3, -1, &started, &error), error);
    CHECK_OK(farcall_farm_next(farm, 20, outcomes, 1, NULL, &count, &error), error);
    CHECK(count == 1 && outcomes[0].results && !outcomes[0].error);
    farcall_results_free(outcomes[0].results);
    CHECK_ERROR(farcall_farm_next(farm, 0, outcomes, 0, NULL, &count, &error), error,
        FARCALL_INVALID_ARGUMENT, "no place for outcomes");
    farcall_farm_free(farm);
    farcall_farm_free(NULL);
    /* What is running is cancelled. */
    arguments[0].kind = FARCALL_REAL;
    arguments[0].value.real = 30;
    arguments[1].kind = FARCALL_UNSET;
    CHECK_OK(farcall_farm_open(pause, NULL, &farm, &error), error);
    CHECK_OK(farcall_farm_start(farm, 0, 4, arguments, steps, 2, -1, &started, &error), error);
    CHECK(farcall_farm_next(farm, 0.1, outcomes, 4, NULL, &count, &error) == FARCALL_PENDING);
    farcall_farm_free(farm);
    CHECK_OK(farcall_call(client, &error, "nothing"), error);
    farcall_routine_free(add);
    farcall_routine_free(pause);
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    numbers(client);
    arrays(client);
    refusals(client);
    failures(client);
    texts(client);
    farm(client);
    return check_end(server, client);
}
