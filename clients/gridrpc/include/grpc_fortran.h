/* What the FORTRAN 77 names of GridRPC and Ninf stand on (libfarcall_fortran.a): calls whose
 * arguments are addresses, with the lengths of CHARACTERs behind all of them. */
#ifndef FARCALL_GRPC_FORTRAN_H
#define FARCALL_GRPC_FORTRAN_H

#include "grpc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call. Members that mean nothing for it are NULL. */
typedef struct farcall_fortran_request {
    const char *name;                 /* the entry's, for messages */
    grpc_function_handle_t *function; /* or: */
    grpc_object_handle_t_np *object;
    void *variable; /* what grpc_get_handle gives of a session: the program's INTEGER*8 */
    const char *called;               /* the method; for Ninf, what is called */
    /* NULL: the call is waited for. Ninf returns the session instead, and looks at no more than
     * whether this is NULL */
    int *session;
    void *const
        *words;   /* the arguments, and then the lengths of those that are CHARACTERs, as size_t */
    size_t count; /* of words that may be looked at; the interface says how many there are */
    size_t before;                    /* lengths that stand before those of the arguments */
    grpc_session_attr_t_np *attributes; /* NULL: the handle's */
} farcall_fortran_request;

grpc_error_t farcall_grpc_fortran(const farcall_fortran_request *request);
/* What Ninf_call or Ninf_call_async returns. */
int farcall_Ninf_fortran(const farcall_fortran_request *request);
/* Gives attributes of which only the number was kept their members back. */
grpc_error_t farcall_grpc_handle_attr_restore(grpc_handle_attr_t_np *attributes);

#ifdef __cplusplus
}
#endif

#endif
