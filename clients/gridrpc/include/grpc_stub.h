/* What the code that ng_gen writes has in front of bodies, which rely on it: codes, types, and the poll for
 * cancellation. */
#ifndef GRPC_STUB_H
#define GRPC_STUB_H

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

#ifdef __cplusplus
}
#endif

#endif
