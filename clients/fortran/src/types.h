/* Types of actual arguments, and what is said of those that do not fit. Internal to the Fortran
   library. */
#ifndef FARCALL_FORTRAN_TYPES_H
#define FARCALL_FORTRAN_TYPES_H

#include "objects.h"

/* Classes of types. */
enum class { WHOLE, REAL, COMPLEX, LOGICAL, CHARACTER, DERIVED, UNKNOWN };

/* One actual argument and its parameter. */
struct pair {
    const struct routine *routine;
    const farcall_declared *declared;
    const CFI_cdesc_t *actual;
    size_t position; /* from 0 */
    enum class class;
    size_t bytes; /* of one element */
};

/* What a descriptor says of the type, without its kind. */
enum class class_of(const CFI_cdesc_t *actual);
/* The class that elements of this type have. */
enum class class_of_element(uint32_t element);

/* Ends the call: what the argument is, what the interface wants, and what to do. Returns 0. */
int refuse(
    const struct pair *pair, struct ending ending, const char *wanted, const char *advice);
/* The same for a type. */
int refuse_type(const struct pair *pair, struct ending ending);

#endif
