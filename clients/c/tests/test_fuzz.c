/* Arguments at random, from a fixed seed: whatever a caller sets, there is a result or an error,
 * and never a crash.
 *
 * All pointers lie within `memory`, far from its ends, because a pointer to nowhere is beyond what
 * anybody can check.
 */
#include "check.h"

enum { WORDS = 1 << 16, ROUNDS = 4000 };

static uint64_t seed = 1997;
static uint64_t memory[WORDS];

static uint64_t number(uint64_t bound)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % bound;
}

/* The middle of the memory, which holds small numbers, empty strings and NULL pointers all at once:
   zeros. */
static void *middle(void)
{
    memset(memory, 0, sizeof memory);
    return memory + WORDS / 2;
}

static const char *const names[] = {
    "dgesv", "kinds", "transpose", "doubled", "grow", "join", "greet", "mirror", "ddot"};
static const int64_t integers[] = {-1, 0, 1, 2, 3, 77, INT64_MIN, INT64_MAX};

/* Success without an error object, or an error that is not ours. */
static void expect(int status, const farcall_error *error)
{
    if (status < 0 || status >= FARCALL_INTERNAL || farcall_error_kind(error) != status)
        check_that(0, farcall_error_message(error), __LINE__);
}

static void tagged(farcall_client *client)
{
    farcall_value values[12];
    farcall_error *error;
    size_t index, count = 1 + number(11);
    int status;
    values[0] =
        (farcall_value){FARCALL_CHAR | FARCALL_TAG_POINTER, 0, {.pointer = names[number(9)]}};
    for (index = 1; index < count; index++) {
        values[index].tag = (uint32_t)(number(16) | number(16) << 8);
        values[index].reserved = 0;
        values[index].value.real[1] = 0;
        if (values[index].tag & FARCALL_TAG_POINTER)
            values[index].value.pointer = number(8) ? middle() : NULL;
        else
            values[index].value.integer = integers[number(5)];
    }
    status = farcall_call_tagged(client, &error, values, count);
    expect(status, error);
    farcall_error_free(error);
}

static uint64_t shape[32];
static int64_t strides[32];

/* Ranks, shapes and strides that stay within the memory, unless they are refused. */
static farcall_argument random_argument(void)
{
    farcall_argument argument;
    size_t index;
    memset(&argument, 0, sizeof argument);
    for (index = 0; index < 32; index++) {
        shape[index] = number(4);
        strides[index] = ((int64_t)number(9) - 4) * 8;
    }
    argument.kind = (uint32_t)number(10);
    argument.element = (uint32_t)number(16);
    argument.destination = (uint32_t)number(4);
    argument.into_element = FARCALL_FLOAT64;
    argument.data = argument.into = middle();
    argument.rank = (int64_t)number(6) - 2;
    argument.into_rank = (int64_t)number(6) - 2;
    argument.shape = argument.into_shape = number(16) ? shape : NULL;
    argument.strides = argument.into_strides = number(2) ? strides : NULL;
    if (argument.kind == FARCALL_INTEGER || argument.kind == FARCALL_REAL ||
        argument.kind == FARCALL_COMPLEX)
        argument.value.integer = integers[number(8)];
    else
        argument.value.text = (farcall_text){memory, number(40)};
    return argument;
}

static void described(farcall_routine *const *routines)
{
    farcall_argument arguments[16];
    farcall_routine *routine = routines[number(9)];
    farcall_results *results;
    farcall_error *error;
    size_t index, count = farcall_routine_parameters(routine);
    int status;
    memset(memory, 0, sizeof memory);
    for (index = 0; index < count; index++)
        arguments[index] = random_argument();
    status = farcall_call_arguments(routine, arguments, count, NULL, &results, &error);
    expect(status, error);
    farcall_results_free(results);
    farcall_error_free(error);
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    farcall_routine *routines[9];
    farcall_error *error;
    double sum = 0;
    int round;
    for (round = 0; round < 9; round++)
        CHECK_OK(farcall_lookup(client, names[round], &routines[round], &error), error);
    for (round = 0; round < ROUNDS; round++) {
        tagged(client);
        described(routines);
    }
    /* The connection is as good as before. */
    CHECK_OK(farcall_call(client, &error, "add", 1, 2.0, &sum), error);
    CHECK(sum == 3);
    for (round = 0; round < 9; round++)
        farcall_routine_free(routines[round]);
    return check_end(server, client);
}
