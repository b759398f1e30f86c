/* The variadic calls of ninf.h. See variadic.c. */
#define GRPC_NO_COUNT
#include <stdarg.h>

#include "ninf.h"
#include "variadic.h"

/* What ninf/calls.rs knows as RawCall. */
struct ninf_request {
    const char *name;
    int count; /* -1: not known */
    int asynchronous;
    const char *entry; /* or one of these: */
    const char *program;
    Ninf_stub_t *stub;
    Ninf_executable_t *executable;
    Ninf_group_t *group;
    void (*fetch)(uint32_t tag, void *arguments, farcall_value *value);
    void *arguments;
};

int ninf_request(const struct ninf_request *request);

/* Calls what `last` is, with what follows it. */
#define REQUEST(name, known, starts, last) \
    va_list arguments; \
    int status; \
    struct ninf_request request = { \
        name, known, starts, .last = last, .fetch = variadic_fetch, .arguments = &arguments}; \
    va_start(arguments, last); \
    status = ninf_request(&request); \
    va_end(arguments); \
    return status

/* Each entry twice: without the number of arguments, and with it. */
int Ninf_call(char *entry, ...)
{
    REQUEST("Ninf_call", -1, 0, entry);
}
int farcall_Ninf_call_counted(int count, const char *entry, ...)
{
    REQUEST("Ninf_call", count, 0, entry);
}

int Ninf_call_async(char *entry, ...)
{
    REQUEST("Ninf_call_async", -1, 1, entry);
}
int farcall_Ninf_call_async_counted(int count, const char *entry, ...)
{
    REQUEST("Ninf_call_async", count, 1, entry);
}

int Ninf_call_body(Ninf_stub_t *stub, ...)
{
    REQUEST("Ninf_call_body", -1, 0, stub);
}
int farcall_Ninf_call_body_counted(int count, Ninf_stub_t *stub, ...)
{
    REQUEST("Ninf_call_body", count, 0, stub);
}

int Ninf_call_body_async(Ninf_stub_t *stub, ...)
{
    REQUEST("Ninf_call_body_async", -1, 1, stub);
}
int farcall_Ninf_call_body_async_counted(int count, Ninf_stub_t *stub, ...)
{
    REQUEST("Ninf_call_body_async", count, 1, stub);
}

int Ninf_call_executable(Ninf_executable_t *executable, ...)
{
    REQUEST("Ninf_call_executable", -1, 0, executable);
}
int farcall_Ninf_call_executable_counted(int count, Ninf_executable_t *executable, ...)
{
    REQUEST("Ninf_call_executable", count, 0, executable);
}

int Ninf_call_executable_async(Ninf_executable_t *executable, ...)
{
    REQUEST("Ninf_call_executable_async", -1, 1, executable);
}
int farcall_Ninf_call_executable_async_counted(int count, Ninf_executable_t *executable, ...)
{
    REQUEST("Ninf_call_executable_async", count, 1, executable);
}

int Ninf_group_call_async(Ninf_group_t *group, ...)
{
    REQUEST("Ninf_group_call_async", -1, 1, group);
}
int farcall_Ninf_group_call_async_counted(int count, Ninf_group_t *group, ...)
{
    REQUEST("Ninf_group_call_async", count, 1, group);
}

int Ninf_local_exec(char *program, ...)
{
    REQUEST("Ninf_local_exec", -1, 0, program);
}
int farcall_Ninf_local_exec_counted(int count, const char *program, ...)
{
    REQUEST("Ninf_local_exec", count, 0, program);
}

int Ninf_call_exec(char *program, ...)
{
    REQUEST("Ninf_call_exec", -1, 0, program);
}
int farcall_Ninf_call_exec_counted(int count, const char *program, ...)
{
    REQUEST("Ninf_call_exec", count, 0, program);
}
