/* Stacks of arguments in both spellings, attributes of handles, arrays of handles, and what there
   is of objects. */
#include "grpc_check.h"

static void stacks(void)
{
    grpc_function_handle_t handle;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(4), *small;
    int n = 2;
    double a = 3, x[2] = {1, 2}, y[2] = {10, 20};
    diet_grpc_arg_t *last = NULL;
    grpc_sessionid_t session;
    CHECK_OK(grpc_function_handle_default(&handle, "scale"));
    CHECK(stack != NULL);
    CHECK(grpc_arg_stack_push_arg(stack, &n) == 0 && grpc_arg_stack_push_arg(stack, &a) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, x) == 0);
    CHECK(grpc_call_arg_stack(&handle, stack) == -1);
    CHECK_CODE(grpc_last_error_get_np(), GRPC_OTHER_ERROR_CODE);
    CHECK(grpc_arg_stack_push_arg(stack, y) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, y) == -1);
    CHECK(grpc_call_arg_stack(&handle, stack) == 0);
    CHECK(y[0] == 13 && y[1] == 26);
    CHECK(grpc_call_arg_stack_async(&handle, stack) == 0);
    CHECK_OK(grpc_wait_all());
    CHECK(y[0] == 16 && y[1] == 32);
    CHECK_OK(grpc_call_argstack(&handle, stack));
    CHECK_OK(grpc_call_argstack_async(&handle, &session, stack));
    CHECK_OK(grpc_wait(session));
    CHECK(y[0] == 22 && y[1] == 44);
    CHECK(grpc_arg_stack_pop_arg(stack) == y && grpc_arg_stack_pop_arg(stack) == x);
    CHECK_OK(grpc_stack_pop(stack, &last));
    CHECK(last == &a);
    CHECK_OK(grpc_stack_pop(stack, &last));
    CHECK(grpc_arg_stack_pop_arg(stack) == NULL);
    CHECK_CODE(grpc_stack_pop(stack, &last), GRPC_OTHER_ERROR_CODE);
    CHECK(grpc_arg_stack_destruct(stack) == 0);
    CHECK(grpc_arg_stack_destruct(NULL) == -1 && grpc_arg_stack_push_arg(NULL, &n) == -1);
    CHECK(grpc_arg_stack_new(-1) == NULL && grpc_stack_create((size_t)-1) == NULL);
    small = grpc_stack_create(1);
    CHECK_OK(grpc_stack_push(small, &n));
    CHECK_CODE(grpc_stack_push(small, &n), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_stack_destruct(small));
    CHECK_CODE(grpc_stack_destruct(NULL), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* Scalars of every type by address. */
static void stacked_scalars(void)
{
    struct { float r, i; } z = {7, -8};
    struct { double r, i; } w = {9, -10};
    char c = 'b';
    short s = -2;
    int i = 3;
    long l = 4;
    float f = 5.5f;
    double d = 6.5, seen[10] = {0};
    void *all[] = {&c, &s, &i, &l, &f, &d, &z, &w, seen};
    grpc_function_handle_t handle;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(9);
    size_t index;
    for (index = 0; index < 9; index++)
        CHECK(grpc_arg_stack_push_arg(stack, all[index]) == 0);
    CHECK_OK(grpc_function_handle_default(&handle, "kinds"));
    CHECK(grpc_call_arg_stack(&handle, stack) == 0);
    CHECK(seen[0] == 'b' && seen[1] == -2 && seen[2] == 3 && seen[3] == 4 && seen[4] == 5.5 &&
          seen[5] == 6.5 && seen[6] == 7 && seen[7] == -8 && seen[8] == 9 && seen[9] == -10);
    CHECK(grpc_arg_stack_destruct(stack) == 0);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

/* What each process of a handle is given. */
static void resources(void)
{
    grpc_handle_attr_t_np attributes, own;
    grpc_function_handle_t handle;
    void *value = NULL;
    int x = 1, y = 0;
    CHECK_OK(grpc_handle_attr_initialize_np(&attributes));
    CHECK_OK(
        grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_HOSTNAME, getenv("FARCALL_SERVER")));
    CHECK_OK(grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_FUNCNAME, "grpcchecks/succeed"));
    CHECK_OK(grpc_handle_attr_set_np(
        &attributes, GRPC_HANDLE_ATTR_RESOURCES, "cores=1, memory=2 GB, wall_time=1 min"));
    CHECK_CODE(grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_RESOURCES, "cores=0"),
        GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_function_handle_init_with_attr_np(&handle, &attributes));
    CHECK_OK(grpc_handle_attr_destruct_np(&attributes));
    CHECK_OK(grpc_function_handle_get_attr_np(&handle, &own));
    CHECK_OK(grpc_handle_attr_get_np(&own, GRPC_HANDLE_ATTR_RESOURCES, &value));
    CHECK(value && strcmp(value, "cores=1, memory=2 GB, wall_time=1 min") == 0);
    CHECK_OK(grpc_handle_attr_release_np(value));
    CHECK_OK(grpc_handle_attr_destruct_np(&own));
    CHECK_OK(grpc_call(&handle, x, &y));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void attributes(void)
{
    grpc_handle_attr_t_np attributes, own, unset = {0};
    grpc_session_attr_t_np session_attributes;
    grpc_function_handle_t handle;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(2);
    grpc_argument_transfer_t_np transfer = GRPC_ARGUMENT_TRANSFER_NOWAIT;
    int seconds = 30, wrong = 77, x = 1, y = 0;
    void *value = NULL;
    CHECK_OK(grpc_handle_attr_initialize_np(&attributes));
    CHECK_CODE(grpc_function_handle_init_with_attr_np(&handle, &attributes), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(
        grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_HOSTNAME, getenv("FARCALL_SERVER")));
    CHECK_OK(grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_FUNCNAME, "grpcchecks/succeed"));
    CHECK_OK(grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, &seconds));
    CHECK_OK(grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_WAIT_ARG_TRANSFER, &transfer));
    CHECK_CODE(grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_WAIT_ARG_TRANSFER, &wrong),
        GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(
        grpc_handle_attr_set_np(&attributes, GRPC_HANDLE_ATTR_PORT, NULL), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_handle_attr_set_np(&attributes, (grpc_handle_attr_name_t_np) 99, &x),
        GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(
        grpc_handle_attr_get_np(&unset, GRPC_HANDLE_ATTR_PORT, &value), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_function_handle_init_with_attr_np(&handle, &attributes));
    CHECK_OK(grpc_handle_attr_destruct_np(&attributes));
    CHECK_OK(grpc_function_handle_get_attr_np(&handle, &own));
    CHECK_OK(grpc_handle_attr_get_np(&own, GRPC_HANDLE_ATTR_FUNCNAME, &value));
    CHECK(value && strcmp(value, "grpcchecks/succeed") == 0);
    CHECK_OK(grpc_handle_attr_release_np(value));
    CHECK_OK(grpc_handle_attr_get_np(&own, GRPC_HANDLE_ATTR_SUBJECT, &value));
    CHECK(value == NULL);
    CHECK_OK(grpc_handle_attr_get_np(&own, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, &value));
    CHECK(value && *(int *)value == 30);
    CHECK_OK(grpc_handle_attr_release_np(value));
    CHECK_OK(grpc_handle_attr_destruct_np(&own));

    CHECK_OK(grpc_session_attr_initialize_np(&handle, &session_attributes));
    CHECK_OK(
        grpc_session_attr_get_np(&session_attributes, GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER, &value));
    CHECK(value && *(grpc_argument_transfer_t_np *)value == GRPC_ARGUMENT_TRANSFER_NOWAIT);
    CHECK_OK(grpc_session_attr_release_np(value));
    CHECK(grpc_arg_stack_push_arg(stack, &x) == 0 && grpc_arg_stack_push_arg(stack, &y) == 0);
    CHECK(grpc_call_arg_stack_with_attr_np(&handle, &session_attributes, stack) == 0);
    CHECK(y == 2);
    x = 8;
    CHECK(grpc_call_arg_stack_async_with_attr_np(&handle, &session_attributes, stack) == 0);
    CHECK_OK(grpc_wait_all());
    CHECK(y == 9);
    CHECK_OK(grpc_session_attr_destruct_np(&session_attributes));
    CHECK(grpc_call_arg_stack_with_attr_np(&handle, &session_attributes, stack) == -1);
    CHECK_CODE(grpc_call_with_attr_np(&handle, &session_attributes, 1, &y), GRPC_OTHER_ERROR_CODE);
    CHECK(grpc_arg_stack_destruct(stack) == 0);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void arrays_of_handles(void)
{
    grpc_function_handle_t handles[10];
    grpc_sessionid_t sessions[10];
    int y[10], index;
    CHECK_OK(grpc_function_handle_array_default_np(handles, 10, "succeed"));
    for (index = 0; index < 10; index++)
        CHECK_OK(grpc_call_async(&handles[index], &sessions[index], index, &y[index]));
    CHECK_OK(grpc_wait_and(sessions, 10));
    for (index = 0; index < 10; index++)
        CHECK(y[index] == index + 1);
    CHECK_OK(grpc_function_handle_array_destruct_np(handles, 10));
    CHECK_CODE(grpc_function_handle_array_destruct_np(handles, 10), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(
        grpc_function_handle_array_default_np(handles, 10, "nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_array_init_np(handles, 10, "unix:/nonexistent", "nobody"),
        GRPC_SERVER_NOT_FOUND);
}

static void objects(void)
{
    grpc_object_handle_t_np object = {0};
    grpc_sessionid_t session;
    CHECK_CODE(
        grpc_object_handle_default_np(&object, "grpcchecks/Nobody"), GRPC_CLASS_NOT_FOUND_NP);
    CHECK_CODE(grpc_invoke_np(&object, "method", 1), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_CODE(grpc_invoke_async_np(&object, "method", &session, 1), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_CODE(grpc_object_handle_destruct_np(&object), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_CODE(grpc_object_handle_is_ready_np(&object), GRPC_INVALID_OBJECT_HANDLE_NP);
}

static volatile int signals, others;

static void count_signal(int number)
{
    signals += number == SIGUSR1;
}

static void count_other(int number)
{
    others += number == SIGUSR2;
}

static void signal_handlers(void)
{
    CHECK_OK(grpc_signal_handler_set_np(SIGUSR1, count_signal));
    raise(SIGUSR1);
    CHECK(signals == 1);
    /* Taken off again, it leaves the one that was there. */
    signal(SIGUSR2, count_other);
    CHECK_OK(grpc_signal_handler_set_np(SIGUSR2, count_signal));
    CHECK_OK(grpc_signal_handler_set_np(SIGUSR2, NULL));
    raise(SIGUSR2);
    CHECK(others == 1);
    CHECK_CODE(grpc_signal_handler_set_np(12345, NULL), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_signal_handler_set_np(SIGKILL, count_signal), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_signal_handler_set_np(12345, count_signal), GRPC_OTHER_ERROR_CODE);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    signal(SIGUSR1, SIG_IGN);
    CHECK_OK(grpc_initialize(NULL));
    stacks();
    stacked_scalars();
    attributes();
    resources();
    arrays_of_handles();
    objects();
    signal_handlers();
    CHECK_OK(grpc_finalize());
    raise(SIGUSR1);
    CHECK(signals == 1);
    return check_end(server);
}
