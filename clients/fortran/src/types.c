/* Types of actual arguments and of parameters, in the words of Fortran. See types.h. */
#include "types.h"

#include <stdio.h>

/* What a descriptor says of the type, without its kind. */
enum class class_of(const CFI_cdesc_t *actual)
{
#ifdef CFI_type_ucs4_char /* gfortran's CHARACTERs of four bytes each */
    if (actual->type == CFI_type_ucs4_char)
        return UNKNOWN;
#endif
    switch (actual->type & CFI_type_mask) {
    case CFI_type_Integer:
        return WHOLE;
    case CFI_type_Logical:
        return LOGICAL;
    case CFI_type_Real:
        return REAL;
    case CFI_type_Complex:
        return COMPLEX;
    case CFI_type_Character:
        return CHARACTER;
    case CFI_type_struct:
        return DERIVED;
    default:
        return UNKNOWN;
    }
}

/* The class that elements of this type have. */
enum class class_of_element(uint32_t element)
{
    switch (element) {
    case FARCALL_CHAR:
        return CHARACTER;
    case FARCALL_FLOAT32:
    case FARCALL_FLOAT64:
        return REAL;
    case FARCALL_COMPLEX64:
    case FARCALL_COMPLEX128:
        return COMPLEX;
    case FARCALL_STRUCT:
        return DERIVED;
    default:
        return WHOLE;
    }
}

/* A type as Fortran writes it. `bytes` is of one element; kinds of complex numbers are of their
   halves. */
static void write_type(char *words, size_t room, enum class class, size_t bytes)
{
    static const char *const names[] = {"integer", "real", "complex", "logical"};
    if (class == COMPLEX)
        bytes /= 2;
    if (class <= LOGICAL)
        snprintf(words, room, "%s(%zu)", names[class], bytes);
    else if (class == CHARACTER)
        snprintf(words, room, "character");
    else if (class == DERIVED)
        snprintf(words, room, "a derived type of %zu bytes", bytes);
    else
        snprintf(words, room, "of a type that cannot be passed");
}

/* Ends the call: what the argument is, what the interface wants, and what to do. */
int refuse(
    const struct pair *pair, struct ending ending, const char *wanted, const char *advice)
{
    char given[80];
    write_type(given, sizeof given, pair->class, pair->bytes);
    char rank[24] = "";
    if (pair->actual->rank > 0)
        snprintf(rank, sizeof rank, " of rank %d", (int)pair->actual->rank);
    end_saying(ending, FARCALL_INVALID_ARGUMENT,
        "call %s: argument %zu (%s) is %s%s, the interface wants %s; %s", pair->routine->name,
        pair->position + 1, pair->declared->name, given, rank, wanted, advice);
    return 0;
}

/* The same for a type: of one class, it is the kind that differs, which options of compilers change
   unseen. */
int refuse_type(const struct pair *pair, struct ending ending)
{
    char wanted[80], advice[200];
    enum class class = class_of_element(pair->declared->element);
    /* To an interface, LOGICALs are integers. */
    if (class == WHOLE && pair->class == LOGICAL)
        class = LOGICAL;
    write_type(wanted, sizeof wanted, class, pair->declared->element_bytes);
    if (class == pair->class)
        snprintf(advice, sizeof advice,
            "declare it as %s (compiler options such as -fdefault-integer-8 and -fdefault-real-8 "
            "change kinds)",
            wanted);
    else
        snprintf(advice, sizeof advice, "declare it as %s, or convert it", wanted);
    return refuse(pair, ending, wanted, advice);
}
