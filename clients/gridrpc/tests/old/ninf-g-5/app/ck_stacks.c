/* ck_stacks.c: stacks of arguments, attributes by their members */
#include "ck.h"

int main(int argc, char **argv)
{
    grpc_function_handle_t h;
    grpc_handle_attr_t_np attr;
    grpc_session_attr_t_np sa;
    grpc_arg_stack_t *stack;
    grpc_sessionid_t id;
    double seconds = 0.001;
    int pid = 0, seconds_max = 50, *got;

    ck_begin(argc, argv);
    OK(grpc_handle_attr_initialize_np(&attr));
    attr.gha_remoteHostName = "localhost";
    attr.gha_functionName = "check/wait";
    attr.gha_jobStartTimeout = 60;
    OK(grpc_function_handle_init_with_attr_np(&h, &attr));
    OK(grpc_handle_attr_destruct_np(&attr));

    stack = grpc_arg_stack_new(2);
    ASSERT(stack != NULL);
    ASSERT(grpc_arg_stack_push_arg(stack, &seconds) == 0);
    ASSERT(grpc_arg_stack_push_arg(stack, &pid) == 0);
    ASSERT(grpc_arg_stack_push_arg(stack, &pid) == -1);
    ASSERT(grpc_call_arg_stack(&h, stack) == 0);
    ASSERT(pid > 1);
    pid = 0;
    ASSERT(grpc_call_arg_stack_async(&h, stack) == 0);
    OK(grpc_wait_all());
    ASSERT(pid > 1);
    pid = 0;
    OK(grpc_call_argstack_async(&h, &id, stack));
    OK(grpc_wait(id));
    ASSERT(pid > 1);

    OK(grpc_session_attr_initialize_np(&h, &sa));
    OK(grpc_session_attr_set_np(&sa, GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT, &seconds_max));
    OK(grpc_session_attr_get_np(&sa, GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT, (void **)&got));
    ASSERT(*got == 50);
    OK(grpc_session_attr_release_np(got));
    ASSERT(grpc_call_arg_stack_with_attr_np(&h, &sa, stack) == 0);
    OK(grpc_session_attr_destruct_np(&sa));

    ASSERT(grpc_arg_stack_pop_arg(stack) == &pid);
    ASSERT(grpc_arg_stack_destruct(stack) == 0);
    OK(grpc_function_handle_is_ready_np(&h));
    OK(grpc_function_handle_get_error_np(&h));
    OK(grpc_function_handle_destruct(&h));
    return ck_end();
}
