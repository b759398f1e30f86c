/* Servers and routines: making and closing them. See connections.h. */
#include "connections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Servers --------------------------------------------------------------------------------- */

int has_words(const CFI_cdesc_t *text)
{
    return text && text->base_addr && trimmed(text->base_addr, text->elem_len) > 0;
}

/* Gives the object to the program; without memory it is freed, and the connection with it. */
static void publish_server(int64_t *number, struct object *object, struct ending ending)
{
    *number = object_publish(object);
    if (!end_without_memory(ending, (void *)*number))
        end_well(ending);
}

/* Calls that are under way keep what they stand on until they end. */
static void close_server(int64_t *number)
{
    object_release(object_take(*number, SERVER));
    *number = 0;
}

/* A variable that names a server already leaves that one. */
void farcall_fortran_connect(int64_t *number, CFI_cdesc_t *address, CFI_cdesc_t *token_file,
    double *timeout, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    close_server(number);
    struct object *object = object_new(SERVER);
    char *place = has_words(address) ? text_of(address) : NULL,
         *token = has_words(token_file) ? text_of(token_file) : NULL;
    int missing = !object || (has_words(address) && !place) || (has_words(token_file) && !token);
    if (!end_without_memory(ending, missing ? NULL : object)) {
        farcall_connect_options options = {
            .size = sizeof options, .address = place, .token_file = token};
        if (timeout)
            options.timeout_seconds = *timeout;
        farcall_error *error;
        int status = farcall_connect_with(&options, &object->server.client, &error);
        if (status == FARCALL_OK) {
            publish_server(number, object, ending);
            object = NULL;
        } else {
            end_with(ending, status, error);
        }
    }
    object_release(object);
    free(place);
    free(token);
}

/* How long a private server may take to begin: it may have code to compile. */
#define BEGIN_SECONDS 300.0

/* A server of this program's own, and a connection to it. */
void farcall_fortran_serve(int64_t *number, CFI_cdesc_t *file, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    close_server(number);
    struct object *object = object_new(SERVER);
    char *path = has_words(file) ? text_of(file) : NULL;
    const char *files[] = {path};
    farcall_server_options options = {.size = sizeof options,
        .files = files,
        .file_count = path ? 1 : 0,
        .timeout_seconds = BEGIN_SECONDS};
    farcall_error *error;
    if (!end_without_memory(ending, object)) {
        int status = farcall_server_start(&options, &object->server.own, &error);
        if (status == FARCALL_OK)
            status = farcall_connect(
                farcall_server_address(object->server.own), &object->server.client, &error);
        if (status == FARCALL_OK) {
            publish_server(number, object, ending);
            object = NULL;
        } else {
            end_with(ending, status, error);
        }
    }
    object_release(object);
    free(path);
}

/* Closing what is closed does nothing, as in a CLOSE statement. */
void farcall_fortran_close_server(int64_t *number, int *stat, CFI_cdesc_t *errmsg)
{
    close_server(number);
    end_well((struct ending){stat, errmsg});
}

/* A server for the procedure `what`; NULL after the caller was told. */
struct object *find_server(int64_t number, const char *what, struct ending ending)
{
    struct object *server = object_find(number, SERVER);
    if (!server)
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "%s: this farcall_server is not connected; use farcall_connect first", what);
    return server;
}

void text_give(CFI_cdesc_t *place, const char *text, struct ending ending)
{
    if (end_without_memory(ending, text))
        return;
    size_t bytes = strlen(text);
    if (place->base_addr)
        CFI_deallocate(place);
    if (CFI_allocate(place, NULL, NULL, bytes) != CFI_SUCCESS) {
        end_without_memory(ending, NULL);
        return;
    }
    memcpy(place->base_addr, text, bytes);
    end_well(ending);
}

/* The place is of deferred length: it takes the whole address. */
void farcall_fortran_address(
    const int64_t *number, CFI_cdesc_t *address, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    struct object *server = find_server(*number, "farcall_address", ending);
    if (server)
        text_give(address, farcall_address(server->server.client), ending);
    object_release(server);
}

/* All interfaces are asked for again each time. */
void farcall_fortran_list(const int64_t *number, CFI_cdesc_t *json, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    struct object *server = find_server(*number, "farcall_list", ending);
    if (!server)
        return;
    char *text;
    farcall_error *error;
    int status = farcall_list(server->server.client, &text, &error);
    if (status == FARCALL_OK)
        text_give(json, text, ending);
    else
        end_with(ending, status, error);
    farcall_text_free(text);
    object_release(server);
}

/* ---- Routines -------------------------------------------------------------------------------- */

/* FNV-1a. */
static size_t slot_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32) % CACHED;
}

/* Takes over what was found, and reads once what its interface declares. */
static struct routine *make_routine(farcall_routine *found, const char *name)
{
    struct routine *routine = calloc(1, sizeof *routine);
    if (!routine) {
        farcall_routine_free(found);
        return NULL;
    }
    routine->users = 1;
    routine->routine = found;
    routine->count = farcall_routine_parameters(found);
    routine->name = strdup(name);
    routine->declared = calloc(routine->count ? routine->count : 1, sizeof *routine->declared);
    if (!routine->name || !routine->declared) {
        routine_release(routine);
        return NULL;
    }
    for (size_t index = 0; index < routine->count; index++)
        farcall_routine_declared(found, index, &routine->declared[index]);
    return routine;
}

/* Cuts "name(a, b)" into both; an empty pair, as GridRPC's Fortran has it, is none. */
static int split(char *text, char **names, struct ending ending)
{
    char *open = strchr(text, '('), *close = open ? strrchr(open, ')') : NULL;
    *names = NULL;
    if (!open)
        return 1;
    if (!close || close[1] != 0) {
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "call: \"%.200s\" has no closing parenthesis at its end", text);
        return 0;
    }
    *close = 0;
    *open = 0;
    for (char *end = open; end > text && end[-1] == ' ';)
        *--end = 0;
    if (strspn(open + 1, " ") < strlen(open + 1))
        *names = open + 1;
    return 1;
}

/* Two threads that ask for one name at a time may both look it up; the later one stays. */
struct routine *server_routine(
    struct object *server, char *text, char **names, struct ending ending)
{
    if (!split(text, names, ending))
        return NULL;
    size_t slot = slot_of(text);
    pthread_mutex_lock(&server->lock);
    struct routine *routine = server->server.cached[slot];
    if (routine && !strcmp(routine->name, text)) {
        routine_keep(routine);
        pthread_mutex_unlock(&server->lock);
        return routine;
    }
    pthread_mutex_unlock(&server->lock);
    farcall_routine *found;
    farcall_error *error;
    int status = farcall_lookup(server->server.client, text, &found, &error);
    if (status != FARCALL_OK) {
        end_with(ending, status, error);
        return NULL;
    }
    routine = make_routine(found, text);
    if (end_without_memory(ending, routine))
        return NULL;
    pthread_mutex_lock(&server->lock);
    struct routine *old = server->server.cached[slot];
    server->server.cached[slot] = routine;
    routine_keep(routine);
    pthread_mutex_unlock(&server->lock);
    routine_release(old);
    return routine;
}

/* Only if no other call has looked it up again meanwhile. */
void server_forget(struct object *server, const struct routine *routine)
{
    struct routine **slot = &server->server.cached[slot_of(routine->name)], *old = NULL;
    pthread_mutex_lock(&server->lock);
    if (*slot == routine) {
        old = *slot;
        *slot = NULL;
    }
    pthread_mutex_unlock(&server->lock);
    routine_release(old);
}

/* Keeps the names with the routine: they need not be read in each call. */
void farcall_fortran_lookup(
    int64_t *number, const int64_t *server, CFI_cdesc_t *name, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    object_release(object_take(*number, ROUTINE));
    *number = 0;
    struct object *at = find_server(*server, "farcall_lookup", ending);
    if (!at)
        return;
    char *text = text_of(name), *names;
    struct object *object = object_new(ROUTINE);
    if (!end_without_memory(ending, text && object ? text : NULL)) {
        struct routine *routine = server_routine(at, text, &names, ending);
        if (routine) {
            object->routine.routine = routine;
            object->routine.names = names ? strdup(names) : NULL;
            *number = object_publish(object);
            object = NULL;
            if (!end_without_memory(ending, (void *)*number))
                end_well(ending);
        }
    }
    object_release(object);
    free(text);
    object_release(at);
}

/* What each process of the routine's calls is given, from the next call on. */
void farcall_fortran_give(
    const int64_t *number, CFI_cdesc_t *resources, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    struct object *object = object_find(*number, ROUTINE);
    if (!object) {
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "farcall_give: this farcall_routine is not set; use farcall_lookup first");
        return;
    }
    char *text = text_of(resources);
    if (!end_without_memory(ending, text)) {
        free(object->routine.resources);
        object->routine.resources = text;
        end_well(ending);
    }
    object_release(object);
}

/* The page that `farcall show` prints. */
void farcall_fortran_help(const int64_t *number, CFI_cdesc_t *text, int *stat, CFI_cdesc_t *errmsg)
{
    struct ending ending = {stat, errmsg};
    struct object *object = object_find(*number, ROUTINE);
    if (!object)
        end_saying(ending, FARCALL_INVALID_ARGUMENT,
            "farcall_help: this farcall_routine is not set; use farcall_lookup first");
    else
        text_give(text, farcall_routine_help(object->routine.routine->routine), ending);
    object_release(object);
}

/* The server keeps what it has looked up: the next call of the name costs no more. */
void farcall_fortran_close_routine(int64_t *number, int *stat, CFI_cdesc_t *errmsg)
{
    object_release(object_take(*number, ROUTINE));
    *number = 0;
    end_well((struct ending){stat, errmsg});
}
