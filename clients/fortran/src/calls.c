/* Calls: what farcall.f90 declares under the generic names farcall_call and farcall_submit, and
   what waits for the latter. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arguments.h"
#include "connections.h"

/* An actual argument for each of farcall.f90's dummies: those behind the last one that is there are
   absent. */
#define P(n) CFI_cdesc_t *a##n
#define ACTUAL \
    P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), P(14), \
        P(15), P(16), P(17), P(18), P(19), P(20), P(21), P(22), P(23), P(24), P(25), P(26), P(27), \
        P(28), P(29), P(30), P(31), P(32), P(33), P(34), P(35), P(36), P(37), P(38), P(39), P(40), \
        P(41), P(42), P(43), P(44), P(45), P(46), P(47), P(48), P(49), P(50), P(51), P(52), P(53), \
        P(54), P(55), P(56), P(57), P(58), P(59), P(60), P(61), P(62), P(63), P(64)
#define GIVEN \
    a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, \
        a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, \
        a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, \
        a57, a58, a59, a60, a61, a62, a63, a64

/* A call as an entry is given it. */
struct wanted {
    const struct routine *routine;
    const char *names;
    struct object *server;
    const unsigned char *on;
    const double *timeout;
    const double *run_timeout;
    CFI_cdesc_t *const *actual;
    int64_t *future; /* to be started; or NULL */
    struct ending ending;
    const char *resources; /* or NULL */
    const CFI_cdesc_t *at; /* or NULL */
    CFI_cdesc_t *ran_on; /* or NULL */
};

/* Optional dummies that are absent are NULL; those before the last that is present are told one by
   one. */
static size_t count_of(CFI_cdesc_t *const *actual)
{
    size_t count = ARGUMENTS_MAX;
    while (count > 0 && !actual[count - 1])
        count--;
    return count;
}

/* Results are asked for only where texts come back, or the server's name: arrays are written in
   place. */
static void call_now(
    const struct wanted *wanted, struct binding *binding, const farcall_call_options *options)
{
    farcall_error *error;
    farcall_results *results = NULL;
    int status = farcall_call_arguments(wanted->routine->routine, binding->arguments,
        wanted->routine->count, options,
        binding->place_count || wanted->ran_on ? &results : NULL, &error);
    if (status == FARCALL_INTERFACE_CHANGED && wanted->server)
        server_forget(wanted->server, wanted->routine);
    if (status != FARCALL_OK)
        end_with(wanted->ending, status, error);
    else if (places_fill(
                 binding->places, binding->place_count, wanted->routine, results, wanted->ending)) {
        if (wanted->ran_on)
            text_give(wanted->ran_on, farcall_results_server(results), wanted->ending);
        else
            end_well(wanted->ending);
    }
    farcall_results_free(results);
}

/* The places of texts belong to the call from here on: it fills them when it is over. */
static void start(
    const struct wanted *wanted, struct binding *binding, const farcall_call_options *options)
{
    farcall_error *error;
    struct object *object = object_new(FUTURE);
    if (end_without_memory(wanted->ending, object))
        return;
    struct future *future = &object->future;
    int status = farcall_start_arguments(wanted->routine->routine, binding->arguments,
        wanted->routine->count, options, &future->call, &error);
    if (status != FARCALL_OK) {
        if (status == FARCALL_INTERFACE_CHANGED && wanted->server)
            server_forget(wanted->server, wanted->routine);
        object_release(object);
        end_with(wanted->ending, status, error);
        return;
    }
    future->routine = (struct routine *)wanted->routine;
    routine_keep(future->routine);
    if (wanted->server) {
        object_keep(wanted->server);
        future->server = wanted->server;
        future->client = wanted->server->server.client;
    }
    future->places = binding->places;
    future->place_count = binding->place_count;
    binding->places = NULL;
    *wanted->future = object_publish(object);
    if (!end_without_memory(wanted->ending, (void *)*wanted->future))
        end_well(wanted->ending);
}

/* Binds the arguments, and calls or starts. */
static void act(const struct wanted *wanted)
{
    struct binding binding;
    farcall_call_options options = {
        .size = sizeof options, .on = wanted->on, .resources = wanted->resources};
    if (wanted->timeout)
        options.timeout_seconds = *wanted->timeout;
    if (wanted->run_timeout)
        options.run_timeout_seconds = *wanted->run_timeout;
    char *at = wanted->at ? text_of(wanted->at) : NULL;
    if (wanted->at && end_without_memory(wanted->ending, at))
        return;
    options.at = at && *at ? at : NULL;
    size_t count = count_of(wanted->actual);
    if (binding_make(
            &binding, wanted->routine, wanted->names, wanted->actual, count, wanted->ending)) {
        int plain = !wanted->on && !wanted->timeout && !wanted->run_timeout && !wanted->resources
                    && !options.at;
        (wanted->future ? start : call_now)(wanted, &binding, plain ? NULL : &options);
    }
    binding_free(&binding);
    free(at);
}

/* Calls what a server has under the name. */
static void call_named(int64_t number, const CFI_cdesc_t *name, struct wanted wanted)
{
    struct object *server = object_find(number, SERVER);
    if (!server) {
        end_saying(wanted.ending, FARCALL_INVALID_ARGUMENT,
            "call: this farcall_server is not connected; use farcall_connect first");
        return;
    }
    char *text = text_of(name), *names;
    if (!end_without_memory(wanted.ending, text)) {
        struct routine *routine = server_routine(server, text, &names, wanted.ending);
        if (routine) {
            wanted.routine = routine;
            wanted.names = names;
            wanted.server = server;
            act(&wanted);
            routine_release(routine);
        }
    }
    free(text);
    object_release(server);
}

/* What stands behind the arguments of each. */
#define CHOICES \
    double *timeout, int *stat, CFI_cdesc_t *errmsg, double *run_timeout, CFI_cdesc_t *at
#define CHOSEN \
    .timeout = timeout, .run_timeout = run_timeout, .at = at, .actual = actual, \
    .ending = {stat, errmsg}
/* And behind these, where a call is waited for. */
#define OUTCOME CFI_cdesc_t *ran_on

/* farcall_call(server, name, …). */
void farcall_fortran_call(const int64_t *callee, CFI_cdesc_t *name, ACTUAL, CHOICES, OUTCOME)
{
    CFI_cdesc_t *actual[] = {GIVEN};
    call_named(*callee, name, (struct wanted){CHOSEN, .ran_on = ran_on});
}

/* farcall_submit(future, server, name, …). */
void farcall_fortran_submit(
    int64_t *future, const int64_t *callee, CFI_cdesc_t *name, ACTUAL, CHOICES)
{
    CFI_cdesc_t *actual[] = {GIVEN};
    struct wanted wanted = {CHOSEN, .future = future};
    *future = 0;
    call_named(*callee, name, wanted);
}

/* Calls a routine that was looked up. */
static void call_routine(int64_t number, struct wanted wanted)
{
    struct object *object = object_find(number, ROUTINE);
    if (!object) {
        end_saying(wanted.ending, FARCALL_INVALID_ARGUMENT,
            "call: this farcall_routine is not set; use farcall_lookup first");
        return;
    }
    wanted.routine = object->routine.routine;
    wanted.names = object->routine.names;
    wanted.resources = object->routine.resources;
    act(&wanted);
    object_release(object);
}

/* farcall_call(routine, …). */
void farcall_fortran_call_routine(const int64_t *callee, ACTUAL, CHOICES, OUTCOME)
{
    CFI_cdesc_t *actual[] = {GIVEN};
    call_routine(*callee, (struct wanted){CHOSEN, .ran_on = ran_on});
}

/* farcall_submit(future, routine, …). */
void farcall_fortran_submit_routine(int64_t *future, const int64_t *callee, ACTUAL, CHOICES)
{
    CFI_cdesc_t *actual[] = {GIVEN};
    struct wanted wanted = {CHOSEN, .future = future};
    *future = 0;
    call_routine(*callee, wanted);
}

/* Calls a method of an object; a blank one is the routine that the object is of. */
static void call_method(int64_t number, const CFI_cdesc_t *name, struct wanted wanted)
{
    struct object *object = object_find(number, OBJECT);
    if (!object) {
        end_saying(wanted.ending, FARCALL_INVALID_ARGUMENT,
            "call: this farcall_object is not set; use farcall_hold first");
        return;
    }
    char *method = text_of(name), *names, *text = NULL;
    const char *of = object->held.hold->name;
    if (method)
        text = malloc(strlen(of) + strlen(method) + 2);
    if (!end_without_memory(wanted.ending, text)) {
        int named = *method && *method != '(';
        strcpy(text, of);
        strcat(strcat(text, named ? "." : ""), method);
        struct routine *routine = server_routine(object->held.server, text, &names, wanted.ending);
        if (routine) {
            wanted.routine = routine;
            wanted.names = names;
            wanted.server = object->held.server;
            wanted.on = object->held.id;
            act(&wanted);
            routine_release(routine);
        }
    }
    free(text);
    free(method);
    object_release(object);
}

/* farcall_call(object, method, …). */
void farcall_fortran_call_object(const int64_t *callee, CFI_cdesc_t *name, ACTUAL, CHOICES, OUTCOME)
{
    CFI_cdesc_t *actual[] = {GIVEN};
    call_method(*callee, name, (struct wanted){CHOSEN, .ran_on = ran_on});
}

/* farcall_submit(future, object, method, …). */
void farcall_fortran_submit_object(
    int64_t *future, const int64_t *callee, CFI_cdesc_t *name, ACTUAL, CHOICES)
{
    CFI_cdesc_t *actual[] = {GIVEN};
    struct wanted wanted = {CHOSEN, .future = future};
    *future = 0;
    call_method(*callee, name, wanted);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Takes the outcome if the call is over within the time (< 0: for ever). The object is locked. */
static int look(struct future *future, double seconds)
{
    if (future->over)
        return 1;
    farcall_results *results = NULL;
    farcall_error *error;
    int status = farcall_call_wait(future->call, seconds, &results, &error);
    if (status == FARCALL_PENDING)
        return 0;
    future->over = 1;
    future->status = status;
    future->error = error;
    if (status == FARCALL_OK) {
        struct ending kept = {.stat = &future->status, .errmsg = NULL};
        places_fill(future->places, future->place_count, future->routine, results, kept);
        const char *server = farcall_results_server(results);
        future->ran_on = server ? strdup(server) : NULL;
    }
    farcall_results_free(results);
    return 1;
}

/* A call that was submitted and not waited for yet; NULL after the caller was told. */
static struct object *find_future(int64_t number, struct ending ending)
{
    struct object *object = object_find(number, FUTURE);
    if (!object)
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "wait: this farcall_future has no running call; use farcall_submit first");
    return object;
}

/* The outcome is given once, and the number forgotten then. Other threads that wait for the same
   call find none. */
void farcall_fortran_wait(
    int64_t *number, double *timeout, int *stat, CFI_cdesc_t *errmsg, CFI_cdesc_t *ran_on)
{
    struct ending ending = {stat, errmsg};
    struct object *object = find_future(*number, ending);
    if (!object)
        return;
    pthread_mutex_lock(&object->lock);
    struct future *future = &object->future;
    int over = look(future, timeout ? *timeout : -1),
        status = over ? future->status : FARCALL_PENDING;
    farcall_error *error = future->error;
    if (over)
        future->error = NULL;
    const char *name = future->routine->name;
    if (over && status == FARCALL_LIMIT_EXCEEDED && !error)
        end_saying(ending, status,
            "call %s: a text was longer than its variable and was cut off; declare it longer",
            name);
    else if (status == FARCALL_OK && ran_on)
        text_give(ran_on, future->ran_on, ending);
    else if (status == FARCALL_OK)
        end_well(ending);
    else
        end_with(ending, status, over ? error : NULL);
    pthread_mutex_unlock(&object->lock);
    if (over) {
        object_release(object_take(*number, FUTURE));
        *number = 0;
    }
    object_release(object);
}

/* Callbacks of the call run in here, too: it reads what has come. */
_Bool farcall_fortran_probe(const int64_t *number)
{
    struct object *object = object_find(*number, FUTURE);
    if (!object)
        return 1; /* nothing is under way: who waits hears why */
    _Bool over = 0;
    /* Who waits in another thread sees its end. */
    if (pthread_mutex_trylock(&object->lock) == 0) {
        over = look(&object->future, 0) != 0;
        pthread_mutex_unlock(&object->lock);
    }
    object_release(object);
    return over;
}

/* Waits for nothing, not even for who waits: the call is ended by the server. */
void farcall_fortran_cancel(const int64_t *number, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    struct object *object = find_future(*number, ending);
    if (!object)
        return;
    farcall_error *error;
    int status = farcall_call_cancel(object->future.call, &error);
    if (status == FARCALL_OK)
        end_well(ending);
    else
        end_with(ending, status, error);
    object_release(object);
}

/* Ends a call that is under way; its arrays are the caller's when this returns. */
void farcall_fortran_close_future(int64_t *number, int *stat, CFI_cdesc_t *errmsg)
{
    object_release(object_take(*number, FUTURE));
    *number = 0;
    end_well((struct ending){stat, errmsg});
}

/* Nothing that the events of a connection do not tell takes longer to be noticed. */
#define LOOK_MILLISECONDS 50

/* Seconds of a clock that nobody sets. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The index from 1 of a call that is over; 0 for none; -1 if none is under way. Lists what tells of
   the others. */
static int first_over(
    const int64_t *numbers, size_t count, struct pollfd *events, nfds_t *event_count)
{
    int under_way = 0;
    *event_count = 0;
    for (size_t index = 0; index < count; index++) {
        struct object *object = object_find(numbers[index], FUTURE);
        if (!object)
            continue;
        under_way = 1;
        int over = farcall_fortran_probe(&numbers[index]);
        int event = object->future.client ? farcall_events(object->future.client) : -1;
        object_release(object);
        if (over)
            return (int)index + 1;
        if (event >= 0)
            events[(*event_count)++] = (struct pollfd){.fd = event, .events = POLLIN};
    }
    return under_way ? 0 : -1;
}

/* Sleeps on the events of the connections, and looks at each call when there are any. */
void farcall_fortran_wait_any(
    CFI_cdesc_t *futures, int *which, double *timeout, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    size_t count = (size_t)futures->dim[0].extent;
    struct pollfd *events = calloc(count + 1, sizeof *events);
    int64_t *numbers = calloc(count + 1, sizeof *numbers);
    *which = 0;
    if (end_without_memory(ending, events && numbers ? events : NULL)) {
        free(events);
        free(numbers);
        return;
    }
    for (size_t index = 0; index < count; index++)
        numbers[index] =
            *(int64_t *) ((char *) futures->base_addr + (ptrdiff_t) index * futures->dim[0].sm);
    double end = timeout && *timeout >= 0 ? now() + *timeout : -1;
    int found;
    nfds_t event_count;
    while (
        (found = first_over(numbers, count, events, &event_count)) == 0 && (end < 0 || now() < end))
        poll(events, event_count, LOOK_MILLISECONDS);
    if (found > 0) {
        *which = found;
        end_well(ending);
    } else if (found < 0) {
        end_well(ending);
    } else {
        end_with(ending, FARCALL_PENDING, NULL);
    }
    free(events);
    free(numbers);
}
