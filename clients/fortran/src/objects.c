/* The table of objects, and how functions end. See objects.h. */
#include "objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number is a slot's index and how often the slot was used before: no number comes twice. */
struct slot {
    uint32_t used;
    struct object *object;
};

/* More than this is a program that closes nothing. */
#define SLOTS_MAX (1u << 20)

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static uint32_t slot_count, first_free;

/* Its one user is the caller, until a number is. */
struct object *object_new(enum kind kind)
{
    struct object *object = calloc(1, sizeof *object);
    if (object) {
        object->users = 1;
        object->kind = kind;
        pthread_mutex_init(&object->lock, NULL);
    }
    return object;
}

/* A slot that is free; slot_count for none. The table is locked. */
static uint32_t free_slot(void)
{
    uint32_t index = first_free;
    while (index < slot_count && slots[index].object)
        index++;
    if (index < slot_count || slot_count == SLOTS_MAX)
        return index;
    uint32_t count = slot_count ? 2 * slot_count : 64;
    struct slot *more = realloc(slots, count * sizeof *slots);
    if (!more)
        return slot_count;
    memset(more + slot_count, 0, (count - slot_count) * sizeof *slots);
    slots = more;
    slot_count = count;
    return index;
}

int64_t object_publish(struct object *object)
{
    int64_t number = 0;
    pthread_mutex_lock(&table);
    uint32_t index = free_slot();
    if (index < slot_count) {
        slots[index].object = object;
        slots[index].used++;
        first_free = index + 1;
        number = ((int64_t)(slots[index].used & 0x7fffffff) << 32) | (index + 1);
    }
    pthread_mutex_unlock(&table);
    if (!number)
        object_release(object);
    return number;
}

/* The slot of a number; NULL if it is nobody's. The table is locked. */
static struct slot *slot_of(int64_t number, enum kind kind)
{
    uint32_t index = (uint32_t)number - 1;
    if ((uint32_t)number == 0 || index >= slot_count || !slots[index].object)
        return NULL;
    struct slot *slot = &slots[index];
    return (slot->used & 0x7fffffff) == (uint32_t) (number >> 32) && slot->object->kind == kind
               ? slot
               : NULL;
}

/* Counted as a user while the table is locked: nobody can free it in between. */
struct object *object_find(int64_t number, enum kind kind)
{
    pthread_mutex_lock(&table);
    struct slot *slot = slot_of(number, kind);
    struct object *object = slot ? slot->object : NULL;
    if (object)
        object_keep(object);
    pthread_mutex_unlock(&table);
    return object;
}

/* The slot may be used again at once, under another number. */
struct object *object_take(int64_t number, enum kind kind)
{
    pthread_mutex_lock(&table);
    struct slot *slot = slot_of(number, kind);
    struct object *object = slot ? slot->object : NULL;
    if (slot) {
        slot->object = NULL;
        uint32_t index = (uint32_t)(slot - slots);
        if (index < first_free)
            first_free = index;
    }
    pthread_mutex_unlock(&table);
    return object;
}

/* Whoever has a user's right already may make another. */
void object_keep(struct object *object)
{
    __atomic_add_fetch(&object->users, 1, __ATOMIC_RELAXED);
}

/* The server that is the program's own ends last: the connection to it says goodbye first. */
static void free_server(struct server *server)
{
    for (size_t index = 0; index < CACHED; index++)
        routine_release(server->cached[index]);
    farcall_disconnect(server->client);
    farcall_server_stop(server->own);
}

/* The last user frees it, with what it stands on. */
void object_release(struct object *object)
{
    if (!object || __atomic_sub_fetch(&object->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    switch (object->kind) {
    case SERVER:
        free_server(&object->server);
        break;
    case ROUTINE:
        routine_release(object->routine.routine);
        free(object->routine.names);
        free(object->routine.resources);
        break;
    case FUTURE:
        farcall_call_free(object->future.call);
        farcall_error_free(object->future.error);
        routine_release(object->future.routine);
        object_release(object->future.server);
        free(object->future.places);
        free(object->future.ran_on);
        break;
    case OBJECT:
        hold_release(object->held.hold);
        object_release(object->held.server);
        break;
    }
    pthread_mutex_destroy(&object->lock);
    free(object);
}

/* Shared by a server's cache, calls under way and variables. */
void routine_keep(struct routine *routine)
{
    __atomic_add_fetch(&routine->users, 1, __ATOMIC_RELAXED);
}

/* NULL does nothing. */
void routine_release(struct routine *routine)
{
    if (!routine || __atomic_sub_fetch(&routine->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    farcall_routine_free(routine->routine);
    free(routine->declared);
    free(routine->name);
    free(routine);
}

/* What was not released ends when the last of its objects does. */
void hold_release(struct hold *hold)
{
    if (!hold || __atomic_sub_fetch(&hold->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    farcall_hold_free(hold->hold);
    free(hold->name);
    free(hold);
}

/* ---- Endings --------------------------------------------------------------------------------- */

/* Fortran's ERROR STOP (farcall.f90): its units are flushed. */
void farcall_fortran_stop(const char *words, size_t bytes);

/* The words first: without `stat` nothing comes after them. */
static void end(struct ending ending, int status, const char *words)
{
    if (ending.errmsg && ending.errmsg->base_addr)
        assign(ending.errmsg->base_addr, ending.errmsg->elem_len, words, strlen(words));
    if (ending.stat)
        *ending.stat = status;
    else
        farcall_fortran_stop(words, strlen(words));
}

/* `errmsg` stays as it was, as in a Fortran statement. */
void end_well(struct ending ending)
{
    if (ending.stat)
        *ending.stat = FARCALL_OK;
}

/* FARCALL_PENDING is no error of the library's, and has no words there. */
void end_with(struct ending ending, int status, farcall_error *error)
{
    const char *words =
        status == FARCALL_PENDING ? "the call is not over yet" : farcall_error_message(error);
    end(ending, status, words);
    farcall_error_free(error);
}

/* Longer words than these are cut off; no name in them is that long. */
void end_saying(struct ending ending, int status, const char *format, ...)
{
    char words[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    end(ending, status, words);
}

/* Says so for whatever was to be allocated. */
int end_without_memory(struct ending ending, const void *memory)
{
    if (!memory)
        end_saying(ending, FARCALL_SYSTEM, "call: there is no memory left");
    return !memory;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

size_t trimmed(const char *text, size_t length)
{
    const char *nul = length ? memchr(text, 0, length) : NULL;
    if (nul)
        return (size_t)(nul - text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

char *text_of(const CFI_cdesc_t *text)
{
    const char *begin = text && text->base_addr ? text->base_addr : "";
    size_t length = text && text->base_addr ? trimmed(begin, text->elem_len) : 0;
    while (length > 0 && *begin == ' ') {
        begin++;
        length--;
    }
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, begin, length);
        copy[length] = 0;
    }
    return copy;
}

/* As an assignment of CHARACTERs. */
void assign(char *place, size_t length, const char *text, size_t bytes)
{
    size_t copied = bytes < length ? bytes : length;
    memcpy(place, text, copied);
    memset(place + copied, ' ', length - copied);
}
