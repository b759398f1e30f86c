/* Objects and arrays of handles: making and closing them. See connections.h. */
#include <stdlib.h>
#include <string.h>

#include "connections.h"

/* How long the end of objects is waited for, where a program does not say so. */
#define END_SECONDS 30.0

/* The number in a variable of an array, whatever its stride. */
static int64_t *number_at(CFI_cdesc_t *objects, size_t index)
{
    ptrdiff_t step = objects->rank ? objects->dim[0].sm : 0;
    return (int64_t *)((char *)objects->base_addr + (ptrdiff_t)index * step);
}

/* Gives each of the objects its executable of the hold. */
static int share(CFI_cdesc_t *objects, size_t count, struct hold *hold, struct object *server)
{
    for (size_t index = 0; index < count; index++) {
        struct object *object = object_new(OBJECT);
        if (!object)
            return 0;
        __atomic_add_fetch(&hold->users, 1, __ATOMIC_RELAXED);
        object_keep(server);
        object->held.hold = hold;
        object->held.server = server;
        farcall_hold_id(hold->hold, (uint32_t)index, object->held.id, NULL);
        if (!(*number_at(objects, index) = object_publish(object)))
            return 0;
    }
    return 1;
}

/* As many executables of a class or routine as there are objects, in one request. */
static void hold(CFI_cdesc_t *objects, const int64_t *server, CFI_cdesc_t *name,
    const double *lease, const char *resources, struct ending ending)
{
    if (objects->rank > 1) {
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "farcall_hold: the objects are of rank %d, and should be a scalar or of rank 1",
            (int) objects->rank);
        return;
    }
    size_t count = objects->rank ? (size_t)objects->dim[0].extent : 1;
    for (size_t index = 0; index < count; index++)
        *number_at(objects, index) = 0;
    struct object *at = find_server(*server, "farcall_hold", ending);
    if (!at)
        return;
    farcall_hold_options options = {.size = sizeof options, .resources = resources};
    if (lease)
        options.lease_seconds = *lease;
    char *text = text_of(name);
    struct hold *held = calloc(1, sizeof *held);
    if (!end_without_memory(ending, text && held ? text : NULL)) {
        farcall_error *error;
        held->users = 1;
        int status = farcall_hold_start(
            at->server.client, text, (uint32_t) count, &options, &held->hold, &error);
        if (status != FARCALL_OK)
            end_with(ending, status, error);
        else if (!end_without_memory(ending, held->name = strdup(farcall_hold_name(held->hold))) &&
                 !end_without_memory(ending, share(objects, count, held, at) ? held : NULL))
            end_well(ending);
        hold_release(held);
        held = NULL;
    }
    free(held);
    free(text);
    object_release(at);
}

/* farcall_hold. */
void farcall_fortran_hold(CFI_cdesc_t *objects, const int64_t *server, CFI_cdesc_t *name,
    double *lease, int *stat, CFI_cdesc_t *errmsg)
{
    hold(objects, server, name, lease, NULL, (struct ending){stat, errmsg});
}

/* farcall_hold_given. */
void farcall_fortran_hold_given(CFI_cdesc_t *objects, const int64_t *server, CFI_cdesc_t *name,
    CFI_cdesc_t *resources, double *lease, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    char *text = text_of(resources);
    if (!end_without_memory(ending, text))
        hold(objects, server, name, lease, text, ending);
    free(text);
}

/* Waits for all that were made in one request: the server starts them together. */
void farcall_fortran_ready(const int64_t *number, double *timeout, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    struct object *object = object_find(*number, OBJECT);
    if (!object) {
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "farcall_ready: this farcall_object is not set; use farcall_hold first");
        return;
    }
    farcall_error *error;
    int status = farcall_hold_ready(object->held.hold->hold, timeout ? *timeout : -1, &error);
    if (status == FARCALL_OK)
        end_well(ending);
    else if (status == FARCALL_PENDING)
        end_saying(ending, status, "farcall_ready: not all objects take calls yet");
    else
        end_with(ending, status, error);
    object_release(object);
}

/* Ends the objects; the last of those that were made together waits for all of them. */
void farcall_fortran_close_object(CFI_cdesc_t *objects, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    size_t count = objects->rank ? (size_t)objects->dim[0].extent : 1;
    int worst = FARCALL_OK;
    farcall_error *kept = NULL;
    for (size_t index = 0; index < count; index++) {
        int64_t *number = number_at(objects, index);
        struct object *object = object_take(*number, OBJECT);
        *number = 0;
        if (object && __atomic_load_n(&object->held.hold->users, __ATOMIC_ACQUIRE) == 1) {
            farcall_error *error;
            int status = farcall_hold_release(object->held.hold->hold, END_SECONDS, &error);
            if (status != FARCALL_OK && worst == FARCALL_OK) {
                worst = status;
                kept = error;
            } else {
                farcall_error_free(error);
            }
        }
        object_release(object);
    }
    if (worst == FARCALL_OK)
        end_well(ending);
    else
        end_with(ending, worst, kept);
}

/* ---- For routines that Farcall runs ---------------------------------------------------------- */

/* Of farcall-executable.h, which is for routines. */
int farcall_progress(double done, const char *words);

/* Where no call runs it does nothing: the same procedure serves in a program of its own. */
void farcall_fortran_progress(const double *done, CFI_cdesc_t *words)
{
    char *text = has_words(words) ? text_of(words) : NULL;
    farcall_progress(*done, text);
    free(text);
}
