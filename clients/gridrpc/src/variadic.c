/* The variadic calls of grpc.h: Rust cannot define them. Each hands its arguments over one by one,
 * as the interface asks for them; counted ones know how many there are. */
#define GRPC_NO_COUNT
#include <stdarg.h>

#include "grpc.h"
#include "variadic.h"

/* What information.rs lays out. */
typedef char information_is_as_long_as_said[sizeof(grpc_session_info_t_np) == 584 ? 1 : -1];

/* What calling.rs knows as RawRequest. */
struct gridrpc_request {
    const char *name;
    int count; /* -1: not known */
    int asynchronous;
    grpc_function_handle_t *function; /* or: */
    grpc_object_handle_t_np *object;
    int invokes; /* a method of the object */
    const char *method;
    grpc_sessionid_t *session;
    int has_attributes;
    grpc_session_attr_t_np *attributes;
    void (*fetch)(uint32_t tag, void *arguments, farcall_value *value);
    void *arguments;
};

grpc_error_t gridrpc_request(const struct gridrpc_request *request);

/* Calls with what follows `last`. The request's members that are not set are zero. */
#define REQUEST(last, ...) \
    va_list arguments; \
    grpc_error_t status; \
    struct gridrpc_request request = { \
        __VA_ARGS__, .fetch = variadic_fetch, .arguments = &arguments}; \
    va_start(arguments, last); \
    status = gridrpc_request(&request); \
    va_end(arguments); \
    return status

/* Each entry twice: without the number of arguments, and with it. */
grpc_error_t grpc_call(grpc_function_handle_t *handle, ...)
{
    REQUEST(handle, "grpc_call", -1, 0, handle);
}
grpc_error_t farcall_grpc_call_counted(int count, grpc_function_handle_t *handle, ...)
{
    REQUEST(handle, "grpc_call", count, 0, handle);
}

grpc_error_t grpc_call_async(grpc_function_handle_t *handle, grpc_sessionid_t *session, ...)
{
    REQUEST(session, "grpc_call_async", -1, 1, handle, .session = session);
}
grpc_error_t farcall_grpc_call_async_counted(
    int count, grpc_function_handle_t *handle, grpc_sessionid_t *session, ...)
{
    REQUEST(session, "grpc_call_async", count, 1, handle, .session = session);
}

grpc_error_t grpc_call_with_attr_np(
    grpc_function_handle_t *handle, grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_call_with_attr_np", -1, 0, handle, .has_attributes = 1, .attributes = attr);
}
grpc_error_t farcall_grpc_call_with_attr_counted(int count, grpc_function_handle_t *handle,
                                                 grpc_session_attr_t_np *attr, ...)
{
    REQUEST(
        attr, "grpc_call_with_attr_np", count, 0, handle, .has_attributes = 1, .attributes = attr);
}

grpc_error_t grpc_call_async_with_attr_np(grpc_function_handle_t *handle, grpc_sessionid_t *session,
                                          grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_call_async_with_attr_np", -1, 1, handle, .session = session,
        .has_attributes = 1, .attributes = attr);
}
grpc_error_t farcall_grpc_call_async_with_attr_counted(int count, grpc_function_handle_t *handle,
    grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_call_async_with_attr_np", count, 1, handle, .session = session,
        .has_attributes = 1, .attributes = attr);
}

#define METHOD .object = handle, .invokes = 1, .method = method

grpc_error_t grpc_invoke_np(grpc_object_handle_t_np *handle, char *method, ...)
{
    REQUEST(method, "grpc_invoke_np", -1, 0, NULL, METHOD);
}
grpc_error_t farcall_grpc_invoke_counted(
    int count, grpc_object_handle_t_np *handle, const char *method, ...)
{
    REQUEST(method, "grpc_invoke_np", count, 0, NULL, METHOD);
}

grpc_error_t grpc_invoke_async_np(
    grpc_object_handle_t_np *handle, char *method, grpc_sessionid_t *session, ...)
{
    REQUEST(session, "grpc_invoke_async_np", -1, 1, NULL, METHOD, .session = session);
}
grpc_error_t farcall_grpc_invoke_async_counted(
    int count, grpc_object_handle_t_np *handle, const char *method, grpc_sessionid_t *session, ...)
{
    REQUEST(session, "grpc_invoke_async_np", count, 1, NULL, METHOD, .session = session);
}

grpc_error_t grpc_invoke_with_attr_np(
    grpc_object_handle_t_np *handle, char *method, grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_invoke_with_attr_np", -1, 0, NULL, METHOD, .has_attributes = 1,
        .attributes = attr);
}
grpc_error_t farcall_grpc_invoke_with_attr_counted(int count, grpc_object_handle_t_np *handle,
    const char *method, grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_invoke_with_attr_np", count, 0, NULL, METHOD, .has_attributes = 1,
        .attributes = attr);
}

grpc_error_t grpc_invoke_async_with_attr_np(grpc_object_handle_t_np *handle, char *method,
    grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_invoke_async_with_attr_np", -1, 1, NULL, METHOD, .session = session,
        .has_attributes = 1, .attributes = attr);
}
grpc_error_t farcall_grpc_invoke_async_with_attr_counted(int count, grpc_object_handle_t_np *handle,
    const char *method, grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...)
{
    REQUEST(attr, "grpc_invoke_async_with_attr_np", count, 1, NULL, METHOD, .session = session,
        .has_attributes = 1, .attributes = attr);
}
