/* Servers, and what is looked up there. Internal to the Fortran library. */
#ifndef FARCALL_FORTRAN_CONNECTIONS_H
#define FARCALL_FORTRAN_CONNECTIONS_H

#include "objects.h"

/* The routine that `text` names, "module/name" or "module/name(a, b)", from what the server was
 * asked before if possible. `text` is cut at its parenthesis, and *names becomes what stands in it,
 * or NULL. The caller releases the routine; NULL after it has ended the call. */
struct routine *server_routine(
    struct object *server, char *text, char **names, struct ending ending);
/* Whether a text was given that is not blank. */
int has_words(const CFI_cdesc_t *text);
/* The server of this number, which the caller releases; NULL after it has ended the call. */
struct object *find_server(int64_t number, const char *what, struct ending ending);
/* Gives a text to a character variable of deferred length, and ends the call; NULL: there was no
 * memory for it. */
void text_give(CFI_cdesc_t *place, const char *text, struct ending ending);
/* Has the next call look the routine up again. */
void server_forget(struct object *server, const struct routine *routine);

#endif
