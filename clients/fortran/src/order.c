/* Finds the parameter of each actual argument, by its name or its position. See order.h. */
#include "order.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Names of the parameters that a caller passes. */
static void list_names(const struct routine *routine, char *words, size_t room)
{
    size_t used = 0;
    words[0] = 0;
    for (size_t index = 0; index < routine->count && used < room; index++) {
        if (routine->declared[index].mode != FARCALL_MODE_WORK)
            used += (size_t) snprintf(
                words + used, room - used, "%s%s", used ? ", " : "", routine->declared[index].name);
    }
}

/* The parameter of the name, in any case, as Fortran's are; NULL after the call has been ended. */
static const farcall_declared *find(
    const struct routine *routine, const char *name, size_t length, struct ending ending)
{
    const farcall_declared *found = NULL;
    for (size_t index = 0; index < routine->count; index++) {
        const farcall_declared *declared = &routine->declared[index];
        if (declared->mode == FARCALL_MODE_WORK || strlen(declared->name) != length ||
            strncasecmp(declared->name, name, length))
            continue;
        /* Of two that differ in case alone, the one that was written. */
        if (!found || !memcmp(declared->name, name, length))
            found = declared;
    }
    if (found)
        return found;
    char names[400];
    list_names(routine, names, sizeof names);
    end_saying(ending, FARCALL_INVALID_ARGUMENT,
        "call %s: it has no argument \"%.*s\"; its arguments are %s", routine->name,
        (int) (length < 80 ? length : 80), name, names[0] ? names : "none");
    return NULL;
}

/* Blanks around names mean nothing. */
static int is_blank(char character)
{
    return character == ' ' || character == '\t';
}

/* The parameters that a list of names says, one per actual argument. */
int order_by_names(const struct routine *routine, const char *names,
    const farcall_declared **order, size_t count, struct ending ending)
{
    size_t found = 0;
    for (const char *rest = names; *rest;) {
        size_t length = strcspn(rest, ",");
        const char *begin = rest, *end = rest + length;
        rest += length + (rest[length] == ',');
        while (begin < end && is_blank(*begin))
            begin++;
        while (begin < end && is_blank(end[-1]))
            end--;
        const farcall_declared *declared = find(routine, begin, (size_t)(end - begin), ending);
        if (!declared)
            return 0;
        for (size_t other = 0; other < found && other < count; other++) {
            if (order[other] == declared) {
                end_saying(ending, FARCALL_INVALID_ARGUMENT,
                    "call %s: argument \"%s\" is named twice", routine->name, declared->name);
                return 0;
            }
        }
        if (found < count)
            order[found] = declared;
        found++;
    }
    if (found == count)
        return 1;
    end_saying(ending, FARCALL_INVALID_ARGUMENT,
        "call %s: %zu arguments for %zu names (%s); pass one for each, and none that is absent",
        routine->name, count, found, names);
    return 0;
}

/* The parameters that a caller passes, in order; those at the end may be left out. What is missing
 * there and is not to be inferred is the library's to name. */
int order_by_position(const struct routine *routine, const farcall_declared **order,
    size_t count, struct ending ending)
{
    size_t found = 0;
    for (size_t index = 0; index < routine->count; index++) {
        if (routine->declared[index].mode == FARCALL_MODE_WORK)
            continue;
        if (found < count)
            order[found] = &routine->declared[index];
        found++;
    }
    if (count <= found)
        return 1;
    char names[400];
    list_names(routine, names, sizeof names);
    end_saying(ending, FARCALL_INVALID_ARGUMENT, "call %s: it takes %zu arguments (%s), not %zu",
        routine->name, found, names[0] ? names : "none", count);
    return 0;
}
