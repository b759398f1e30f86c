/* What routines of Ninf-G and its kin ask while they run, under the names that they know. */
#ifndef GRPC_EXECUTABLE_H
#define GRPC_EXECUTABLE_H

#include "grpc_numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef GRPC_ERROR_T_DEFINED
#define GRPC_ERROR_T_DEFINED
typedef int grpc_error_t;
#endif

/* Complex numbers as Ninf-G has them; grpc.h has them, too. */
#ifndef FARCALL_COMPLEX_TYPES
#define FARCALL_COMPLEX_TYPES
typedef struct { float r, i; } scomplex;
typedef struct { double r, i; } dcomplex;
#endif

/* 1 if the session that runs was cancelled, 0 if not; *error becomes 0 (GRPC_NO_ERROR), or 1
 * (GRPC_NOT_INITIALIZED) where none runs. `error` may be NULL. A routine that asks has a while to
 * return (cancel_grace_ms in the server's farcall.toml); one that does not is ended with its
 * process. Thread-safe. */
int grpc_is_canceled_np(grpc_error_t *error) __asm__("farcall_grpc_is_canceled_np");
/* The same under its name in Ninf-G 2; programs call it with the place for an error, and without
   one. */
#ifdef __cplusplus
int ngexIsCanceled(int *error = 0) __asm__("farcall_ngexIsCanceled");
#else
int ngexIsCanceled(int *error) __asm__("farcall_ngexIsCanceled");
/* No standard before C99 has the following, and it is this header's own matter. */
#if defined __GNUC__
#pragma GCC system_header
#endif
#define ngexIsCanceled(...) ngexIsCanceled((int *)(__VA_ARGS__ + 0))
#endif
/* The same under its name in the papers. */
int ngstb_is_canceled(void) __asm__("farcall_ngstb_is_canceled");

#ifdef __cplusplus
}
#endif

#endif
