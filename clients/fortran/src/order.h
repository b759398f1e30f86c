/* Which parameter each actual argument of a call is for. Internal to the Fortran library. */
#ifndef FARCALL_FORTRAN_ORDER_H
#define FARCALL_FORTRAN_ORDER_H

#include "objects.h"

/* Both find the parameters of `count` arguments. They return 1; or 0 after they have ended the call
   with what is wrong. */
/* The parameters that a list of names says, one per actual argument. */
int order_by_names(const struct routine *routine, const char *names,
    const farcall_declared **order, size_t count, struct ending ending);
/* All that a caller passes, in order; those at the end may be left out. */
int order_by_position(const struct routine *routine, const farcall_declared **order, size_t count,
    struct ending ending);

#endif
