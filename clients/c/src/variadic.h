/* What the variadic calls share: fetching an argument of the type that an interface says. */
#ifndef FARCALL_VARIADIC_H
#define FARCALL_VARIADIC_H

#include "farcall.h"

/* Takes the next argument of this tag from `arguments`, which is a va_list *. */
void variadic_fetch(uint32_t tag, void *arguments, farcall_value *value);

#endif
