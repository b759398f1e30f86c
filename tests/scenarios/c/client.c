/* The scenarios with the C client: `client LIST [NAME]`, at the server that $FARCALL_SERVER names
   (../README.md). */
#define _GNU_SOURCE
#include "values.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 16, KEPT_MAX = 64, WAIT_MAX = 60 };

typedef struct action {
    argument arguments[ARGUMENTS_MAX];
    size_t count;
    double timeout;
} action;

/* What a later step names: a call with its arguments, or a hold. */
typedef struct kept {
    char name[32], of[64];
    action action;
    farcall_routine *routine;
    farcall_call *call;
    farcall_hold *hold;
    int is_over;                 /* these two are its outcome */
    farcall_results *results;
    farcall_error *error;
} kept;

static farcall_client *client;
static action pending;
static kept slots[KEPT_MAX];
/* What is said by the scenario, or by calls that are compared with one another. */
static char *said;
static size_t said_bytes;

/* Prints what was said since the last time; it stays in `said` until more is said. */
static void tell(int visibly)
{
    fclose(saying);
    if (visibly)
        fputs(said, stdout);
    fflush(stdout);
    free(said);
    saying = open_memstream(&said, &said_bytes);
}

/* ---- Calling --------------------------------------------------------------------------------- */

/* Whether nothing comes back. */
static int is_in(const argument *one) { return strcmp(one->mode, "in") == 0; }

/* A number by value: what is beyond a signed one of 64 bits goes as its bytes. */
static void pass_scalar(farcall_argument *to, const argument *one)
{
    char sort = one->type->sort;
    uint64_t bits = bits_of(one->data, one->type->bytes < 8 ? one->type->bytes : 8);
    unsigned unused = 64 - 8 * (unsigned) one->type->bytes;
    if (sort == 'c') {
        int narrow = one->type->bytes == 8;
        to->kind = FARCALL_COMPLEX;
        to->value.parts.real = narrow ? ((float *) one->data)[0] : ((double *) one->data)[0];
        to->value.parts.imaginary = narrow ? ((float *) one->data)[1] : ((double *) one->data)[1];
    } else if (sort == 'f') {
        to->kind = FARCALL_REAL;
        to->value.real = one->type->bytes == 4 ? *(float *) one->data : *(double *) one->data;
    } else if (sort == 'u' && bits > INT64_MAX) {
        to->kind = FARCALL_RAW;
        to->value.text = (farcall_text) {one->data, one->type->bytes};
    } else {
        to->kind = FARCALL_INTEGER;
        to->value.integer = sort == 'u' ? (int64_t) bits : (int64_t) (bits << unused) >> unused;
    }
}

/* An array where it lies, results in their place; a scalar that comes back is an array of one. */
static void pass_array(farcall_argument *to, const argument *one)
{
    static const uint64_t single[] = {1};
    to->kind = FARCALL_ARRAY;
    to->element = one->type->element;
    to->data = one->data;
    to->rank = one->rank ? (int64_t) one->rank : 1;
    to->shape = one->rank ? one->shape : single;
    to->strides = one->rank ? one->strides : NULL;
    to->destination = strcmp(one->mode, "inout") == 0 ? FARCALL_IN_PLACE : FARCALL_NEW;
}

/* One argument of the list as the C interface wants it. */
static void pass(farcall_argument *to, const argument *one)
{
    char sort = one->type->sort;
    memset(to, 0, sizeof *to);
    if (sort == 'x') {
        to->kind = one->function ? FARCALL_FUNCTION : FARCALL_NULL;
        to->value.function = one->function;
    } else if (sort == 'p') {
        to->kind = FARCALL_TEXT;
        to->value.text = (farcall_text) {one->path, FARCALL_NUL_TERMINATED};
    } else if (sort == 's' && strcmp(one->mode, "out") == 0) {
        to->kind = FARCALL_UNSET;
    } else if (sort == 's' && one->rank) {
        to->kind = FARCALL_TEXTS;
        to->value.texts = (farcall_texts) {one->texts, elements(one)};
    } else if (sort == 's') {
        to->kind = one->is_null ? FARCALL_NULL : FARCALL_TEXT;
        to->value.text = one->texts[0];
    } else if (is_in(one) && !one->rank) {
        pass_scalar(to, one);
    } else {
        pass_array(to, one);
    }
}

/* Says how a call ended, and frees what told it. */
static void conclude(const action *of, const farcall_routine *routine, farcall_results *results,
    farcall_error *error)
{
    if (error)
        say("error %s\n", farcall_error_kind_name(error));
    else
        for (size_t k = 0; k < of->count; k++)
            if (!is_in(&of->arguments[k]))
                show_result(of->arguments[k], results,
                    routine ? (size_t) farcall_routine_find(routine, of->arguments[k].name) : 0);
    farcall_results_free(results);
    farcall_error_free(error);
}

/* The native call, whose arguments go by their position. */
static void call_natively(const action *of, const char *name)
{
    farcall_value values[ARGUMENTS_MAX + 1] = {
        {FARCALL_CHAR | FARCALL_TAG_POINTER, 0, {.pointer = name}}};
    farcall_error *error;
    for (size_t k = 0; k < of->count; k++) {
        const argument *one = &of->arguments[k];
        values[k + 1].tag = one->type->element;
        if (is_in(one) && !one->rank && one->type->sort == 'f')
            values[k + 1].value.real[0] = *(double *) one->data;
        else if (is_in(one) && !one->rank)
            wrong("only numbers of type double go by position", one->name);
        else values[k + 1].tag |= FARCALL_TAG_POINTER, values[k + 1].value.pointer = one->data;
    }
    farcall_call_tagged(client, &error, values, of->count + 1);
    conclude(of, NULL, NULL, error);
}

/* Starts a call by the names of its arguments; on an object, if `on` is one. */
static int start(kept *slot, const char *name, const unsigned char *on, farcall_error **error)
{
    farcall_argument arguments[ARGUMENTS_MAX];
    farcall_call_options options = {
        .size = sizeof options, .timeout_seconds = slot->action.timeout, .on = on};
    int status = farcall_lookup(client, name, &slot->routine, error);
    if (status != FARCALL_OK)
        return status;
    size_t count = farcall_routine_parameters(slot->routine);
    memset(arguments, 0, sizeof arguments);
    for (size_t k = 0; k < slot->action.count; k++) {
        int index = farcall_routine_find(slot->routine, slot->action.arguments[k].name);
        if (index < 0 || count > ARGUMENTS_MAX)
            wrong("no such parameter", slot->action.arguments[k].name);
        pass(&arguments[index], &slot->action.arguments[k]);
    }
    return farcall_start_arguments(slot->routine, arguments, count, &options, &slot->call, error);
}

/* What was kept under a name; "" finds a free slot. */
static kept *slot_of(const char *name)
{
    for (size_t k = 0; k < KEPT_MAX; k++)
        if (strcmp(slots[k].name, name) == 0)
            return &slots[k];
    wrong("nothing has this name", name);
    return NULL;
}

/* A slot with this name for the arguments that were read. */
static kept *keep(const char *name)
{
    kept *slot = slot_of("");
    memset(slot, 0, sizeof *slot);
    snprintf(slot->name, sizeof slot->name, "%s", name);
    slot->action = pending;
    if (slot->action.timeout == 0)
        slot->action.timeout = WAIT_MAX;
    return slot;
}

/* Frees a slot and all that it holds. */
static void release(kept *slot)
{
    for (size_t k = 0; k < slot->action.count; k++)
        free_argument(&slot->action.arguments[k]);
    farcall_call_free(slot->call);
    farcall_routine_free(slot->routine);
    farcall_hold_free(slot->hold);
    memset(slot, 0, sizeof *slot);
}

/* Starts; what is wrong is for whoever waits. */
static void start_and_keep(const char *name, const char *routine)
{
    kept *slot = keep(name);
    slot->is_over = start(slot, routine, NULL, &slot->error) != FARCALL_OK;
}

/* Says how a call that was started ended, and forgets it. */
static void wait_for(kept *slot)
{
    if (!slot->is_over &&
        farcall_call_wait(slot->call, WAIT_MAX, &slot->results, &slot->error) == FARCALL_PENDING)
        wrong("a call does not end", slot->name);
    conclude(&slot->action, slot->routine, slot->results, slot->error);
    release(slot);
}

/* A call with its end; on object number `index` of a hold, if there is one. */
static void call(const char *routine, const farcall_hold *hold, long index)
{
    unsigned char id[16];
    for (size_t k = 0; k < pending.count; k++)
        if (strcmp(pending.arguments[k].name, "-") == 0) {
            call_natively(&pending, routine);
            release(keep("call"));
            return;
        }
    kept *slot = keep("call");
    int status = hold ? farcall_hold_id(hold, (uint32_t) index, id, &slot->error) : FARCALL_OK;
    if (status == FARCALL_OK)
        status = start(slot, routine, hold ? id : NULL, &slot->error);
    slot->is_over = status != FARCALL_OK;
    wait_for(slot);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Makes objects of a class, or handles of a routine. */
static void hold(const char *name, const char *of, long count, int is_class)
{
    kept *slot = keep(name);
    action begin = slot->action;
    farcall_error *error;
    snprintf(slot->of, sizeof slot->of, "%s%s", is_class ? "scenarios/" : "", of);
    memset(&slot->action, 0, sizeof slot->action);
    int status = farcall_hold_start(client, slot->of, (uint32_t) count, NULL, &slot->hold, &error);
    if (status == FARCALL_OK)
        status = farcall_hold_ready(slot->hold, WAIT_MAX, &error);
    if (status != FARCALL_OK)
        say("error %s\n", farcall_error_kind_name(error));
    farcall_error_free(error);
    if (status == FARCALL_OK && is_class) {
        char method[96];
        snprintf(method, sizeof method, "%s._initialize", slot->of);
        pending = begin;
        call(method, slot->hold, 0);
    }
}

/* The same arguments in memory of their own. Only numbers are called with again and again. */
static action copied(const action *from)
{
    action to = *from;
    for (size_t k = 0; k < to.count; k++) {
        argument *one = &to.arguments[k];
        if (!one->memory)
            wrong("only numbers may be passed again and again", one->name);
        one->memory =
            memcpy(malloc(one->memory_bytes), from->arguments[k].memory, one->memory_bytes);
        one->data = one->memory + (from->arguments[k].data - from->arguments[k].memory);
    }
    return to;
}

/* What was said since the last time, which is not printed. The caller frees it. */
static char *unsaid(void)
{
    fflush(saying);
    char *words = strdup(said);
    tell(0);
    return words;
}

/* Calls of one routine, one after the other or all at once: the last outcome, and how many are like
   it. */
static void many(const char *routine, long count, int at_once)
{
    kept *common = keep("common");
    char **outcomes = calloc((size_t) count, sizeof *outcomes), name[32];
    long alike = 0;
    tell(1);
    for (long k = 0; at_once && k < count; k++) {
        snprintf(name, sizeof name, "many-%ld", k);
        pending = copied(&common->action);
        start_and_keep(name, routine);
    }
    for (long k = 0; k < count; k++) {
        snprintf(name, sizeof name, "many-%ld", count - 1 - k);
        pending = copied(&common->action);
        if (at_once) wait_for(slot_of(name)), release(keep("unused"));
        else call(routine, NULL, 0);
        outcomes[k] = unsaid();
    }
    for (long k = 0; k < count; k++)
        alike += strcmp(outcomes[k], outcomes[count - 1]) == 0;
    fputs(outcomes[count - 1], saying);
    say("%ld alike\n", alike);
    for (long k = 0; k < count; k++)
        free(outcomes[k]);
    free(outcomes);
    release(common);
}

/* Says whether a call is over, without waiting; its outcome is kept for who waits. */
static void probe(const char *name)
{
    kept *slot = slot_of(name);
    if (!slot->is_over)
        slot->is_over =
            farcall_call_poll(slot->call, &slot->results, &slot->error) != FARCALL_PENDING;
    say("%s %s\n", name, slot->is_over ? "done" : "open");
}

/* Ends what a hold has, and waits until it has ended. */
static void end(const char *name)
{
    kept *slot = slot_of(name);
    farcall_error *error;
    if (farcall_hold_release(slot->hold, WAIT_MAX, &error) != FARCALL_OK)
        say("error %s\n", farcall_error_kind_name(error));
    farcall_error_free(error);
    release(slot);
}

/* Says what becomes of connecting elsewhere. */
static void connect_to(const char *address)
{
    farcall_client *other;
    farcall_error *error;
    farcall_connect(address, &other, &error);
    if (error)
        say("error %s\n", farcall_error_kind_name(error));
    farcall_error_free(error);
    farcall_disconnect(other);
}

/* One action, with the arguments before it; `words` are what stands behind it. */
static void act(const char *action_name, char *words[4])
{
    farcall_error *error = NULL;
    char method[128];
    if (strcmp(action_name, "call") == 0) call(words[0], NULL, 0);
    else if (strcmp(action_name, "repeat") == 0) many(words[1], atol(words[0]), 0);
    else if (strcmp(action_name, "together") == 0) many(words[1], atol(words[0]), 1);
    else if (strcmp(action_name, "start") == 0) start_and_keep(words[0], words[1]);
    else if (strcmp(action_name, "probe") == 0) probe(words[0]);
    else if (strcmp(action_name, "cancel") == 0)
        farcall_call_cancel(slot_of(words[0])->call, &error);
    else if (strcmp(action_name, "wait") == 0) wait_for(slot_of(words[0]));
    else if (strcmp(action_name, "object") == 0) hold(words[0], words[1], 1, 1);
    else if (strcmp(action_name, "handles") == 0) hold(words[0], words[2], atol(words[1]), 0);
    else if (strcmp(action_name, "handle") == 0)
        call(slot_of(words[0])->of, slot_of(words[0])->hold, atol(words[1]));
    else if (strcmp(action_name, "end") == 0) end(words[0]);
    else if (strcmp(action_name, "connect") == 0) connect_to(words[0]);
    else if (strcmp(action_name, "method") == 0) {
        snprintf(method, sizeof method, "%s.%s", slot_of(words[0])->of, words[1]);
        call(method, slot_of(words[0])->hold, 0);
    } else wrong("no such step", action_name);
    if (error)
        wrong(action_name, farcall_error_message(error));
    memset(&pending, 0, sizeof pending);
    tell(1);
}

/* Reads a line; the scenario runs as it is read. */
static void read_line(char *line, const char *only, int *is_left_out)
{
    char *rest = NULL, *words[4] = {"", "", "", ""}, *first = line, *space = strchr(line, ' ');
    if (space)
        *space = 0, rest = space + 1;
    if (*first == 0 || *first == '#' || *first == '=')
        return;
    if (strcmp(first, "scenario") == 0) {
        snprintf(scenario, sizeof scenario, "%s", rest);
        *is_left_out = only && strcmp(only, scenario) != 0;
        return;
    }
    if (strcmp(first, "not") == 0 && strncmp(rest, "c ", 2) == 0)
        *is_left_out = 1;
    if (*is_left_out || strcmp(first, "not") == 0)
        return;
    if (strcmp(first, "timeout") == 0) {
        pending.timeout = strtod(rest, NULL);
    } else if (strcmp(first, "in") == 0 || strcmp(first, "inout") == 0 ||
               strcmp(first, "out") == 0) {
        read_argument(&pending.arguments[pending.count++], first, rest);
    } else {
        for (size_t k = 0; k < 4; k++) {
            char *word = strtok_r(k ? NULL : rest, " ", &space);
            words[k] = word ? word : "";
        }
        if (strcmp(first, "callback") == 0)
            read_callback(&pending.arguments[pending.count++], words[0], words[1]);
        else act(first, words);
    }
}

int main(int count, char **arguments)
{
    FILE *list = count > 1 ? fopen(arguments[1], "r") : NULL;
    char *line = NULL;
    size_t bytes = 0;
    int is_left_out = 0;
    farcall_error *error;
    if (!list)
        wrong("cannot read the list", count > 1 ? arguments[1] : "none");
    if (farcall_connect(NULL, &client, &error) != FARCALL_OK)
        wrong("connect", farcall_error_message(error));
    strcpy(folder, "/tmp/farcall-scenarios-XXXXXX");
    if (!mkdtemp(folder))
        wrong("no folder", folder);
    saying = open_memstream(&said, &said_bytes);
    while (getline(&line, &bytes, list) > 0) {
        line[strcspn(line, "\n")] = 0;
        read_line(line, count > 2 ? arguments[2] : NULL, &is_left_out);
    }
    for (const char *const *name = (const char *const[]){"given", "changed", "made", NULL}; *name;
        name++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, *name);
        remove(path);
    }
    rmdir(folder);
    fclose(saying);
    free(said);
    free(line);
    fclose(list);
    farcall_disconnect(client);
    return 0;
}
