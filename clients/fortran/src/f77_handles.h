/* Handles of GridRPC in FORTRAN 77: the numbers that the structs of C begin with. Internal to the
   Fortran library. */
#ifndef FARCALL_FORTRAN_F77_HANDLES_H
#define FARCALL_FORTRAN_F77_HANDLES_H

#define GRPC_NO_COUNT
#include "grpc_fortran.h"

#include "f77.h"

/* The struct of C that a number stands for: all else in it is zero (spec/c-abi.md, section 10). */
static inline grpc_function_handle_t function_of(const int64_t *handle)
{
    grpc_function_handle_t function;
    memset(&function, 0, sizeof function);
    memcpy(&function, handle, sizeof *handle);
    return function;
}

/* The same of an object's. */
static inline grpc_object_handle_t_np object_of(const int64_t *handle)
{
    grpc_object_handle_t_np object;
    memset(&object, 0, sizeof object);
    memcpy(&object, handle, sizeof *handle);
    return object;
}

/* Has `make` fill so many handles of C, whose numbers go to those of FORTRAN. */
#define MAKE_ARRAY(type, make) \
    size_t number = *count > 0 ? (size_t)*count : 0; \
    type *all = calloc(number + 1, sizeof *all); \
    if (!all) \
        return GRPC_OTHER_ERROR_CODE; \
    int status = (make); \
    for (size_t index = 0; index < number; index++) \
        memcpy(&handles[index], &all[index], sizeof *handles); \
    free(all); \
    return status

#endif
