/* Turns the actual arguments of a Fortran call into those of the C interface. Internal to the
   Fortran library. */
#ifndef FARCALL_FORTRAN_ARGUMENTS_H
#define FARCALL_FORTRAN_ARGUMENTS_H

#include "objects.h"

/* As many actual arguments as farcall.f90 declares. */
#define ARGUMENTS_MAX 64
/* Extents and strides of calls with few arrays need no memory of their own. */
#define RANK_MAX 15

/* The arguments of one call. */
struct binding {
    const struct routine *routine;
    farcall_argument *arguments; /* one per parameter */
    /* Extents and strides of each actual argument; one more for the length of CHARACTERs. */
    uint64_t shapes[ARGUMENTS_MAX][RANK_MAX + 1];
    int64_t strides[ARGUMENTS_MAX][RANK_MAX + 1];
    farcall_text *texts[ARGUMENTS_MAX];
    struct text_place *places;
    size_t place_count;
    farcall_argument few[ARGUMENTS_MAX];
};

/* Binds the actual arguments, which end with `count`, to the parameters that `names` says ("a, b";
 * NULL: all, in order). Returns 1; or 0 after it has ended the call with what is wrong.
 * binding_free in either case. */
int binding_make(struct binding *binding, const struct routine *routine, const char *names,
                 CFI_cdesc_t *const *actual, size_t count, struct ending ending);
void binding_free(struct binding *binding);

/* Copies texts of results to where they are wanted. Returns 1; or 0 after it has ended the call,
   since one was cut off. */
int places_fill(const struct text_place *places, size_t count, const struct routine *routine,
                const farcall_results *results, struct ending ending);

#endif
