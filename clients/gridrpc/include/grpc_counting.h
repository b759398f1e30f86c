/* The variadic calls of grpc.h with their arguments counted, for compilers that can: a part of
 * grpc.h, which includes it inside its extern "C". */
#ifndef FARCALL_GRPC_COUNTING_H
#define FARCALL_GRPC_COUNTING_H

#if (defined __clang__ || defined FARCALL_GRPC_COUNT_BY_MACRO) && !defined __cplusplus
/* Clang has no such functions: macros count. One argument with a comma outside of any parentheses,
 * as {1, 2} of a compound literal, is to stand in parentheses. What follows is no standard before
 * C99, and this header's own matter. */
#pragma GCC system_header
/* How many follow the handle: what stands before a comma that vanishes is to have a name, or strict
   standards keep it. */
#define FARCALL_GRPC_COUNT(...) \
    FARCALL_GRPC_PICK(__VA_ARGS__, 128, 127, 126, 125, 124, 123, 122, 121, 120, 119, 118, 117, \
        116, 115, 114, 113, 112, 111, 110, 109, 108, 107, 106, 105, 104, 103, 102, 101, 100, 99, \
        98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 88, 87, 86, 85, 84, 83, 82, 81, 80, 79, 78, 77, \
        76, 75, 74, 73, 72, 71, 70, 69, 68, 67, 66, 65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, \
        54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, \
        32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
        10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define FARCALL_GRPC_PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, \
    _16, _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, \
    _35, _36, _37, _38, _39, _40, _41, _42, _43, _44, _45, _46, _47, _48, _49, _50, _51, _52, _53, \
    _54, _55, _56, _57, _58, _59, _60, _61, _62, _63, _64, _65, _66, _67, _68, _69, _70, _71, _72, \
    _73, _74, _75, _76, _77, _78, _79, _80, _81, _82, _83, _84, _85, _86, _87, _88, _89, _90, _91, \
    _92, _93, _94, _95, _96, _97, _98, _99, _100, _101, _102, _103, _104, _105, _106, _107, _108, \
    _109, _110, _111, _112, _113, _114, _115, _116, _117, _118, _119, _120, _121, _122, _123, \
    _124, _125, _126, _127, _128, count, ...) \
    count

#define grpc_call(handle, ...) \
    farcall_grpc_call_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), handle, ##__VA_ARGS__)
#define grpc_call_async(handle, session, ...) \
    farcall_grpc_call_async_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), \
                                    handle, session, ##__VA_ARGS__)
#define grpc_call_with_attr_np(handle, attr, ...) \
    farcall_grpc_call_with_attr_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), \
                                        handle, attr, ##__VA_ARGS__)
#define grpc_call_async_with_attr_np(handle, session, attr, ...) \
    farcall_grpc_call_async_with_attr_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), \
                                              handle, session, attr, ##__VA_ARGS__)
#define grpc_invoke_np(handle, method, ...) \
    farcall_grpc_invoke_counted( \
        FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), handle, method, ##__VA_ARGS__)
#define grpc_invoke_async_np(handle, method, session, ...) \
    farcall_grpc_invoke_async_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), \
                                      handle, method, session, ##__VA_ARGS__)
#define grpc_invoke_with_attr_np(handle, method, attr, ...) \
    farcall_grpc_invoke_with_attr_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), \
                                          handle, method, attr, ##__VA_ARGS__)
#define grpc_invoke_async_with_attr_np(handle, method, session, attr, ...) \
    farcall_grpc_invoke_async_with_attr_counted(FARCALL_GRPC_COUNT(handle, ##__VA_ARGS__), \
                                                handle, method, session, attr, ##__VA_ARGS__)
#elif (defined __clang__ || defined FARCALL_GRPC_COUNT_BY_MACRO)
/* The same in C++, where templates count, and no name is a macro. C++98 has none; calls without any
 * arguments are the functions themselves, which do not count. */
#if __cplusplus >= 201103L
}
template <typename... A>
inline grpc_error_t grpc_call(grpc_function_handle_t *handle, A... arguments)
{
    return farcall_grpc_call_counted(sizeof...(A), handle, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_call_async(
    grpc_function_handle_t *handle, grpc_sessionid_t *session, A... arguments)
{
    return farcall_grpc_call_async_counted(sizeof...(A), handle, session, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_call_with_attr_np(
    grpc_function_handle_t *handle, grpc_session_attr_t_np *attr, A... arguments)
{
    return farcall_grpc_call_with_attr_counted(sizeof...(A), handle, attr, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_call_async_with_attr_np(grpc_function_handle_t *handle,
    grpc_sessionid_t *session, grpc_session_attr_t_np *attr, A... arguments)
{
    return farcall_grpc_call_async_with_attr_counted(
        sizeof...(A), handle, session, attr, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_invoke_np(
    grpc_object_handle_t_np *handle, const char *method, A... arguments)
{
    return farcall_grpc_invoke_counted(sizeof...(A), handle, method, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_invoke_async_np(grpc_object_handle_t_np *handle, const char *method,
                                         grpc_sessionid_t *session, A... arguments)
{
    return farcall_grpc_invoke_async_counted(sizeof...(A), handle, method, session, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_invoke_with_attr_np(grpc_object_handle_t_np *handle, const char *method,
                                             grpc_session_attr_t_np *attr, A... arguments)
{
    return farcall_grpc_invoke_with_attr_counted(sizeof...(A), handle, method, attr, arguments...);
}
template <typename... A>
inline grpc_error_t grpc_invoke_async_with_attr_np(grpc_object_handle_t_np *handle,
    const char *method, grpc_sessionid_t *session, grpc_session_attr_t_np *attr, A... arguments)
{
    return farcall_grpc_invoke_async_with_attr_counted(
        sizeof...(A), handle, method, session, attr, arguments...);
}
extern "C" {
#endif
#elif defined __GNUC__
/* GCC counts what a function that it always inlines was given; so the names stay names, and no
   macros. */
#define FARCALL_GRPC_COUNTED \
    extern __inline__ \
        __attribute__((__always_inline__, __gnu_inline__, __artificial__)) grpc_error_t
#define FARCALL_GRPC_COUNT __builtin_va_arg_pack_len()
#define FARCALL_GRPC_REST __builtin_va_arg_pack()

FARCALL_GRPC_COUNTED grpc_call(grpc_function_handle_t *handle, ...)
{
    return farcall_grpc_call_counted(FARCALL_GRPC_COUNT, handle, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_call_async(grpc_function_handle_t *handle, grpc_sessionid_t *session, ...)
{
    return farcall_grpc_call_async_counted(FARCALL_GRPC_COUNT, handle, session, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_call_with_attr_np(
    grpc_function_handle_t *handle, grpc_session_attr_t_np *attr, ...)
{
    return farcall_grpc_call_with_attr_counted(FARCALL_GRPC_COUNT, handle, attr, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_call_async_with_attr_np(
    grpc_function_handle_t *handle, grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...)
{
    return farcall_grpc_call_async_with_attr_counted(
        FARCALL_GRPC_COUNT, handle, session, attr, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_invoke_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method, ...)
{
    return farcall_grpc_invoke_counted(FARCALL_GRPC_COUNT, handle, method, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_invoke_async_np(
    grpc_object_handle_t_np *handle, farcall_grpc_char *method, grpc_sessionid_t *session, ...)
{
    return farcall_grpc_invoke_async_counted(
        FARCALL_GRPC_COUNT, handle, method, session, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_invoke_with_attr_np(
    grpc_object_handle_t_np *handle, farcall_grpc_char *method, grpc_session_attr_t_np *attr, ...)
{
    return farcall_grpc_invoke_with_attr_counted(
        FARCALL_GRPC_COUNT, handle, method, attr, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED grpc_invoke_async_with_attr_np(grpc_object_handle_t_np *handle,
    farcall_grpc_char *method, grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...)
{
    return farcall_grpc_invoke_async_with_attr_counted(
        FARCALL_GRPC_COUNT, handle, method, session, attr, FARCALL_GRPC_REST);
}
#endif

#endif
