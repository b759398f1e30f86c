/* The spellings of the first GridRPC draft and of NetSolve 2, for grpc.h: the same functions under
 * their older names.
 *
 * Errors are those of grpc.h. Stacks are grpc_arg_stack_t: every element is the address of an
 * argument.
 */
#ifndef FARCALL_NETSOLVE_GRPC_H
#define FARCALL_NETSOLVE_GRPC_H

#include "grpc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GRPC_OK GRPC_NO_ERROR
#define GRPC_ERROR (-1)

typedef grpc_arg_stack_t ArgStack;

/* A stack of at most `max` arguments; NULL on error. */
ArgStack *newArgStack(int max) FARCALL_GRPC_SYMBOL(grpc_arg_stack_new);
/* 0, or -1 when it is full. */
int pushArg(ArgStack *stack, void *argument) FARCALL_GRPC_SYMBOL(grpc_arg_stack_push_arg);
/* The last one; NULL when there is none. */
void *popArg(ArgStack *stack) FARCALL_GRPC_SYMBOL(grpc_arg_stack_pop_arg);
int destructArgStack(ArgStack *stack) FARCALL_GRPC_SYMBOL(grpc_arg_stack_destruct);

#ifdef __cplusplus
}
#endif

#endif
