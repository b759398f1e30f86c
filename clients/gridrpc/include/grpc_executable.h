/* What routines of Ninf-G and its kin ask while they run, under the names that they know. */
#ifndef GRPC_EXECUTABLE_H
#define GRPC_EXECUTABLE_H

#include "grpc_stub.h"

#ifdef __cplusplus
extern "C" {
#endif

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
