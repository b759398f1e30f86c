/* Binds actual arguments, as their descriptors say what they are, to the parameters of an
 * interface: type, rank and order are checked here, extents by the library. See arguments.h. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "arguments.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "types.h"

/* type(farcall_callback) of farcall.f90. */
#define CALLBACK_MARK 0x66617263616c6c70
struct callback {
    int64_t mark;
    void (*address)(void);
};

/* ---- Constants ------------------------------------------------------------------------------- */

/* Whether an object that is loaded now, the program or a library, has the address in memory that
 * may only be read: its code and its constants. Asked again each time: a library may be unloaded,
 * and writable memory come in its place. */
static int has_read_only(struct dl_phdr_info *object, size_t size, void *address)
{
    (void)size;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) &&
            (uintptr_t)address - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return 1;
    }
    return 0;
}

/* Whether a result would go over a constant (PARAMETER), which ends a program by a signal. */
static int is_constant(const CFI_cdesc_t *actual)
{
    return dl_iterate_phdr(has_read_only, actual->base_addr);
}

/* ---- Scalars --------------------------------------------------------------------------------- */

/* An integer or LOGICAL of this kind. */
static int64_t whole_at(const void *address, size_t bytes)
{
    switch (bytes) {
    case 1:
        return *(const int8_t *)address;
    case 2:
        return *(const int16_t *)address;
    case 4:
        return *(const int32_t *)address;
    default:
        return *(const int64_t *)address;
    }
}

/* Complex numbers go as two doubles, which hold those of kind 4 exactly. */
static int bind_complex(const struct pair *pair, farcall_argument *argument)
{
    const void *address = pair->actual->base_addr;
    argument->kind = FARCALL_COMPLEX;
    if (pair->bytes == 8) {
        argument->value.parts.real = ((const float *)address)[0];
        argument->value.parts.imaginary = ((const float *)address)[1];
    } else {
        argument->value.parts.real = ((const double *)address)[0];
        argument->value.parts.imaginary = ((const double *)address)[1];
    }
    return 1;
}

/* Whole numbers serve as real ones, and real ones as complex, as for C; never the other way round.
   */
static int bind_scalar(const struct pair *pair, farcall_argument *argument, struct ending ending)
{
    const CFI_cdesc_t *actual = pair->actual;
    enum class wanted = class_of_element(pair->declared->element);
    if (actual->rank > 0)
        return refuse(pair, ending, "a scalar", "pass one element of it");
    if (pair->class == WHOLE && pair->bytes <= 8 && wanted <= COMPLEX) {
        argument->kind = FARCALL_INTEGER;
        argument->value.integer = whole_at(actual->base_addr, pair->bytes);
        return 1;
    }
    if (pair->class == LOGICAL && wanted == WHOLE) {
        argument->kind = FARCALL_INTEGER;
        argument->value.integer = whole_at(actual->base_addr, pair->bytes) != 0;
        return 1;
    }
    if (pair->class == REAL && (wanted == REAL || wanted == COMPLEX) &&
        (pair->bytes == 4 || pair->bytes == 8)) {
        argument->kind = FARCALL_REAL;
        argument->value.real = pair->bytes == 4 ? *(const float *) actual->base_addr
                                                : *(const double *) actual->base_addr;
        return 1;
    }
    if (pair->class == COMPLEX && wanted == COMPLEX && (pair->bytes == 8 || pair->bytes == 16))
        return bind_complex(pair, argument);
    if (pair->class == CHARACTER && wanted == CHARACTER) {
        if (trimmed(actual->base_addr, actual->elem_len) > 1)
            return refuse(pair, ending, "one character", "pass one, such as 'N'");
        argument->kind = FARCALL_INTEGER;
        argument->value.integer =
            actual->elem_len ? *(const unsigned char *) actual->base_addr : ' ';
        return 1;
    }
    if (wanted == DERIVED && actual->elem_len == pair->declared->element_bytes) {
        argument->kind = FARCALL_RAW;
        argument->value.text.data = actual->base_addr;
        argument->value.text.bytes = actual->elem_len;
        return 1;
    }
    return refuse_type(pair, ending);
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* Whether elements may be written to and read by the routine as they lie: no array is converted. */
static int element_fits(const struct pair *pair)
{
    const farcall_declared *declared = pair->declared;
    enum class wanted = class_of_element(declared->element);
    if (pair->class == CHARACTER)
        return declared->element_bytes == 1;
    /* There are no unsigned integers, and LOGICALs are integers to routines. */
    int same = pair->class == wanted || (wanted == WHOLE && pair->class == LOGICAL) ||
               (wanted == CHARACTER && pair->class == WHOLE && pair->bytes == 1);
    return same && pair->bytes == declared->element_bytes;
}

/* Passes an array as its descriptor has it: extents in the order of Fortran's indexes, which is the
 * interface's, and distances in bytes, so that sections need no copy. */
static int bind_array(const struct pair *pair, farcall_argument *argument, uint64_t *shape,
    int64_t *strides, struct ending ending)
{
    const CFI_cdesc_t *actual = pair->actual;
    const farcall_declared *declared = pair->declared;
    if (!element_fits(pair))
        return refuse_type(pair, ending);
    /* CHARACTERs have one dimension more, that of their lengths, unless these are the interface's
       elements. */
    int lengthy = pair->class == CHARACTER &&
                  (actual->elem_len > 1 || (uint32_t) actual->rank < declared->rank);
    size_t rank = 0;
    if (lengthy && declared->column) {
        shape[rank] = actual->elem_len;
        strides[rank++] = 1;
    }
    for (int index = 0; index < actual->rank; index++) {
        if (actual->dim[index].extent < 0)
            return refuse(pair, ending, "an array whose size is known",
                "pass a section of it with an upper bound: a(1:n)");
        shape[rank] = (uint64_t)actual->dim[index].extent;
        strides[rank++] = actual->dim[index].sm;
    }
    if (lengthy && !declared->column) {
        shape[rank] = actual->elem_len;
        strides[rank++] = 1;
    }
    if (rank > declared->rank) {
        char wanted[40];
        snprintf(wanted, sizeof wanted, "an array of rank %u", (unsigned)declared->rank);
        return refuse(pair, ending, wanted, "pass a section of that rank");
    }
    if (rank == 0) {
        shape[rank] = 1;
        strides[rank++] = (int64_t)pair->bytes;
    }
    argument->kind = FARCALL_ARRAY;
    argument->element = declared->element;
    argument->data = actual->base_addr;
    argument->rank = (int64_t)rank;
    argument->shape = shape;
    argument->strides = strides;
    argument->destination = declared->mode == FARCALL_MODE_IN ? FARCALL_NEW : FARCALL_IN_PLACE;
    return 1;
}

/* ---- Texts and functions --------------------------------------------------------------------- */

/* Passes a text. A result gets a place instead: it comes with the results, whatever its length is.
   */
static int bind_text(const struct pair *pair, farcall_argument *argument, struct binding *binding,
    struct ending ending)
{
    const CFI_cdesc_t *actual = pair->actual;
    if (pair->class != CHARACTER || actual->rank > 0)
        return refuse(pair, ending, "a text", "pass a character variable or constant");
    int is_file = pair->declared->kind == FARCALL_PARAMETER_FILE;
    if (pair->declared->mode != FARCALL_MODE_OUT || is_file) {
        argument->kind = FARCALL_TEXT;
        argument->value.text.data = actual->base_addr ? actual->base_addr : "";
        argument->value.text.bytes = trimmed(actual->base_addr, actual->elem_len);
    }
    if (pair->declared->mode != FARCALL_MODE_IN && !is_file) {
        struct text_place *place = &binding->places[binding->place_count++];
        *place =
            (struct text_place){.base = actual->base_addr, .length = actual->elem_len, .count = 1};
        place->parameter = (size_t)(pair->declared - binding->routine->declared);
    }
    return 1;
}

/* The same for an array of texts, or one text where the interface has an array of one. */
static int bind_texts(const struct pair *pair, farcall_argument *argument, struct binding *binding,
    struct ending ending)
{
    const CFI_cdesc_t *actual = pair->actual;
    int is_one = actual->rank == 0;
    if (pair->class != CHARACTER || actual->rank > 1 || pair->declared->rank != 1 ||
        (!is_one && actual->dim[0].extent < 0))
        return refuse(
            pair, ending, "texts", "pass a character variable or a character array of rank 1");
    size_t count = is_one ? 1 : (size_t)actual->dim[0].extent;
    ptrdiff_t step = is_one ? 0 : actual->dim[0].sm;
    if (pair->declared->mode != FARCALL_MODE_IN) {
        struct text_place *place = &binding->places[binding->place_count++];
        *place = (struct text_place){
            .base = actual->base_addr, .length = actual->elem_len, .count = count, .step = step};
        place->parameter = (size_t)(pair->declared - binding->routine->declared);
    }
    if (pair->declared->mode == FARCALL_MODE_OUT)
        return 1;
    farcall_text *texts = binding->texts[pair->position] = calloc(count ? count : 1, sizeof *texts);
    if (end_without_memory(ending, texts))
        return 0;
    for (size_t index = 0; index < count; index++) {
        const char *text = (const char *)actual->base_addr + (ptrdiff_t)index * step;
        texts[index] = (farcall_text){.data = text, .bytes = trimmed(text, actual->elem_len)};
    }
    argument->kind = FARCALL_TEXTS;
    argument->value.texts = (farcall_texts){.items = texts, .count = count};
    return 1;
}

/* Passes a procedure, which the library calls by reference. */
static int bind_function(const struct pair *pair, farcall_argument *argument, struct ending ending)
{
    struct callback callback = {0, NULL};
    if (pair->actual->elem_len == sizeof callback)
        memcpy(&callback, pair->actual->base_addr, sizeof callback);
    if (callback.mark != CALLBACK_MARK || pair->actual->rank > 0)
        return refuse(pair, ending, "a procedure", "pass farcall_procedure(name)");
    void (*function)(void) = callback.address;
    argument->kind = function ? FARCALL_PROCEDURE : FARCALL_NULL;
    argument->value.function = function;
    return 1;
}

/* Binds one actual argument by the kind of its parameter. */
static int bind(struct pair *pair, struct binding *binding, struct ending ending)
{
    farcall_argument *argument = &binding->arguments[pair->declared - binding->routine->declared];
    pair->class = class_of(pair->actual);
    pair->bytes = pair->class == CHARACTER ? 1 : pair->actual->elem_len;
    switch (pair->declared->kind) {
    case FARCALL_PARAMETER_NUMBER:
        return bind_scalar(pair, argument, ending);
    case FARCALL_PARAMETER_ARRAY:
        return bind_array(pair, argument, binding->shapes[pair->position],
            binding->strides[pair->position], ending);
    case FARCALL_PARAMETER_TEXT:
    case FARCALL_PARAMETER_FILE:
        return bind_text(pair, argument, binding, ending);
    case FARCALL_PARAMETER_TEXTS:
        return bind_texts(pair, argument, binding, ending);
    default:
        return bind_function(pair, argument, ending);
    }
}

/* ---- All arguments ----------------------------------------------------------------------- */

/* Works out the order first, and then each argument; the first mistake ends the call, before
   anything was sent. */
int binding_make(struct binding *binding, const struct routine *routine, const char *names,
                 CFI_cdesc_t *const *actual, size_t count, struct ending ending)
{
    const farcall_declared *order[ARGUMENTS_MAX];
    binding->routine = routine;
    binding->place_count = 0;
    binding->places = NULL;
    memset(binding->texts, 0, sizeof binding->texts);
    binding->arguments = binding->few;
    if (routine->count > ARGUMENTS_MAX) {
        binding->arguments = calloc(routine->count, sizeof *binding->arguments);
        if (end_without_memory(ending, binding->arguments))
            return 0;
    }
    memset(binding->arguments, 0, routine->count * sizeof *binding->arguments);
    if (!(names ? order_by_names(routine, names, order, count, ending)
                : order_by_position(routine, order, count, ending)))
        return 0;
    for (size_t index = 0; index < count; index++) {
        struct pair pair = {.routine = routine,
            .declared = order[index],
            .actual = actual[index],
            .position = index};
        /* What is not allocated has no address, and dimensions of any value. */
        if (!actual[index] || (!actual[index]->base_addr && actual[index]->elem_len > 0)) {
            end_saying(ending, FARCALL_INVALID_ARGUMENT,
                "call %s: argument %zu (%s) is absent; allocate it, or name the others: \"%s(…)\"",
                routine->name, index + 1, order[index]->name, routine->name);
            return 0;
        }
        uint32_t kind = order[index]->kind;
        int is_text = kind == FARCALL_PARAMETER_TEXT || kind == FARCALL_PARAMETER_TEXTS;
        if (is_text && order[index]->mode != FARCALL_MODE_IN && !binding->places) {
            binding->places = calloc(count, sizeof *binding->places);
            if (end_without_memory(ending, binding->places))
                return 0;
        }
        if (!bind(&pair, binding, ending))
            return 0;
        int is_result = order[index]->mode != FARCALL_MODE_IN && kind != FARCALL_PARAMETER_FILE;
        if (is_result && is_constant(actual[index]))
            return refuse(&pair, ending, "a place for the result",
                "pass a variable, not a constant or expression");
    }
    return 1;
}

/* Frees what lies outside of the structure. */
void binding_free(struct binding *binding)
{
    if (binding->arguments != binding->few)
        free(binding->arguments);
    free(binding->places);
    for (size_t index = 0; index < ARGUMENTS_MAX; index++)
        free(binding->texts[index]);
}

/* As Fortran assigns; that a text was too long is told all the same, since the caller cannot see
   it. */
int places_fill(const struct text_place *places, size_t count, const struct routine *routine,
                const farcall_results *results, struct ending ending)
{
    const struct text_place *cut = NULL;
    size_t needed = 0;
    for (size_t index = 0; index < count; index++) {
        const struct text_place *place = &places[index];
        for (size_t item = 0; item < place->count; item++) {
            size_t bytes = 0;
            const char *text = farcall_results_text(results, place->parameter, item, &bytes);
            assign(place->base + (ptrdiff_t) item * place->step, place->length, text ? text : "",
                text ? bytes : 0);
            if (text && bytes > place->length && bytes > needed) {
                cut = place;
                needed = bytes;
            }
        }
    }
    if (!cut)
        return 1;
    end_saying(ending, FARCALL_LIMIT_EXCEEDED,
        "call %s: the text of argument \"%s\" has %zu characters and was cut off to %zu; declare "
        "it longer",
        routine->name, routine->declared[cut->parameter].name, needed, cut->length);
    return 0;
}
