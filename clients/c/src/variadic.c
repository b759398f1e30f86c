/* The plain variadic call: Rust cannot define one. The interface tells which type to fetch next;
   nothing checks it. */
#include <stdarg.h>
#include <stdlib.h>

#include "variadic.h"

/* Complex numbers by value, as the GridRPC has them; passed like C's own on every ABI that Farcall
   runs on. */
struct single_complex {
    float real, imaginary;
};
struct double_complex {
    double real, imaginary;
};

/* A scalar: what C's promotions leave of it. */
static farcall_value fetch_value(uint32_t element, va_list *arguments)
{
    struct single_complex single;
    struct double_complex whole;
    farcall_value value = {element, 0, {0}};
    switch (element) {
    case FARCALL_INT64:
        value.value.integer = va_arg(*arguments, int64_t);
        break;
    case FARCALL_UINT64:
        value.value.natural = va_arg(*arguments, uint64_t);
        break;
    case FARCALL_UINT32:
        value.value.natural = va_arg(*arguments, uint32_t);
        break;
    case FARCALL_FLOAT32:
    case FARCALL_FLOAT64:
        value.value.real[0] = va_arg(*arguments, double);
        break;
    case FARCALL_COMPLEX64:
        single = va_arg(*arguments, struct single_complex);
        value.value.real[0] = single.real;
        value.value.real[1] = single.imaginary;
        break;
    case FARCALL_COMPLEX128:
        whole = va_arg(*arguments, struct double_complex);
        value.value.real[0] = whole.real;
        value.value.real[1] = whole.imaginary;
        break;
    default:
        /* Everything shorter than int is an int now, signed or not. */
        value.tag = FARCALL_INT32;
        value.value.integer = va_arg(*arguments, int);
        break;
    }
    return value;
}

void variadic_fetch(uint32_t tag, void *arguments, farcall_value *value)
{
    if (tag & FARCALL_TAG_POINTER)
        *value = (farcall_value){FARCALL_VOID | FARCALL_TAG_POINTER, 0,
            {.pointer = va_arg(*(va_list *) arguments, void *)}};
    else
        *value = fetch_value(tag, arguments);
}

/* The routine's name, and after it the arguments that its interface says; NULL when there is no
   memory. */
static farcall_value *fetch_all(
    const farcall_routine *routine, const char *name, va_list *arguments, size_t *count)
{
    size_t index, parameters = farcall_routine_passing(routine, NULL, 0);
    uint32_t *tags = malloc((parameters + 1) * sizeof *tags);
    farcall_value *values = malloc((parameters + 1) * sizeof *values);
    if (tags && values) {
        farcall_routine_passing(routine, tags, parameters);
        values[0] = (farcall_value){FARCALL_CHAR | FARCALL_TAG_POINTER, 0, {.pointer = name}};
        for (index = 0; index < parameters; index++)
            variadic_fetch(tags[index], arguments, &values[index + 1]);
        *count = parameters + 1;
    } else {
        free(values);
        values = NULL;
    }
    free(tags);
    return values;
}

/* Calls, or starts a call where `call` is not NULL. Without memory there is no error object either.
   */
static int act(farcall_client *client, farcall_error **error, farcall_call **call, const char *name,
    va_list *arguments)
{
    farcall_routine *routine;
    farcall_value *values;
    size_t count = 0;
    int status = farcall_lookup(client, name, &routine, error);
    if (status != FARCALL_OK)
        return status;
    values = fetch_all(routine, name, arguments, &count);
    farcall_routine_free(routine);
    if (!values)
        status = FARCALL_SYSTEM;
    else if (call)
        status = farcall_start_tagged(client, error, call, values, count);
    else
        status = farcall_call_tagged(client, error, values, count);
    free(values);
    return status;
}

int farcall_call_variadic(farcall_client *client, farcall_error **error, const char *name, ...)
{
    va_list arguments;
    int status;
    va_start(arguments, name);
    status = act(client, error, NULL, name, &arguments);
    va_end(arguments);
    return status;
}

int farcall_start_variadic(
    farcall_client *client, farcall_error **error, farcall_call **call, const char *name, ...)
{
    va_list arguments;
    int status;
    if (!call) /* the checked form says what is wrong */
        return farcall_start_tagged(client, error, NULL, NULL, 0);
    *call = NULL;
    va_start(arguments, name);
    status = act(client, error, call, name, &arguments);
    va_end(arguments);
    return status;
}
