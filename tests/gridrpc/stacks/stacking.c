/* Arguments as stacks, in two spellings. */
#include <grpc.h>
#include "check.h"

int main(int argc, char *argv[])
{
    grpc_function_handle_t handle;
    grpc_object_handle_t_np object;
    grpc_arg_stack_t *stack;
    double a[3] = {1, 2, 3}, b[3] = {0, 0, 0}, x = 2.5;
    char *text = "twelve bytes";
    int n = 3, kept = 77, back = 0;
    long length = 0;
    void *popped;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, argv[2], "stacks/mixed"));

    stack = grpc_arg_stack_new(6);
    CHECK(stack != NULL);
    CHECK(grpc_arg_stack_push_arg(stack, &n) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, &x) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, a) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, b) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, text) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, &length) == 0);
    CHECK(grpc_arg_stack_push_arg(stack, &length) == -1); /* it is full */
    CHECK(grpc_call_arg_stack(&handle, stack) == 0);
    CHECK(b[0] == 2.5 && b[2] == 7.5 && length == 12);
    popped = grpc_arg_stack_pop_arg(stack);
    CHECK(popped == &length);
    CHECK(grpc_arg_stack_destruct(stack) == 0);

    EXPECT(GRPC_NO_ERROR, grpc_object_handle_init_np(&object, argv[2], "stacks/holder"));
    stack = grpc_arg_stack_new(1);
    CHECK(grpc_arg_stack_push_arg(stack, &kept) == 0);
    CHECK(grpc_invoke_arg_stack_np(&object, "put", stack) == 0);
    CHECK(grpc_arg_stack_destruct(stack) == 0);
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "take", &back));
    CHECK(back == 77);
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_destruct_np(&object));
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
