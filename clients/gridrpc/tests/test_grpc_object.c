/* Objects and arrays of handles: state that stays, order, crashes, and the errors on the way. */
#include "ninf.h"

#include "grpc_check.h"

#define COUNT 5

static void one_object(void)
{
    grpc_object_handle_t_np object, copy, *found = NULL;
    grpc_session_attr_t_np attributes;
    grpc_arg_stack_t *stack = grpc_arg_stack_new(2);
    grpc_sessionid_t session, sessions[COUNT];
    int sum = 0, n = 2, sums[COUNT], index;
    CHECK_OK(grpc_object_handle_default_np(&object, "grpcchecks/Counter"));
    CHECK_OK(grpc_object_handle_is_ready_np(&object));
    CHECK_OK(grpc_invoke_np(&object, "add", 5, &sum));
    CHECK(sum == 15);
    copy = object;
    CHECK_OK(grpc_invoke_async_np(&copy, "add", &session, 1, &sum));
    CHECK_OK(grpc_object_handle_get_from_session_np(&found, session));
    CHECK(found == &copy);
    CHECK_OK(grpc_wait(session));
    CHECK(sum == 16);
    CHECK_OK(grpc_invoke_np(&object, "initialize", 100));
    CHECK(grpc_arg_stack_push_arg(stack, &n) == 0 && grpc_arg_stack_push_arg(stack, &sum) == 0);
    CHECK(grpc_invoke_arg_stack_np(&object, "add", stack) == 0);
    CHECK(sum == 102);
    CHECK(grpc_invoke_arg_stack_async_np(&object, "add", stack) == 0);
    CHECK_OK(grpc_wait_all());
    CHECK(sum == 104);
    CHECK_OK(grpc_session_attr_initialize_with_object_handle_np(&object, &attributes));
    CHECK_OK(grpc_invoke_with_attr_np(&object, "add", &attributes, 1, &sum));
    CHECK_OK(grpc_invoke_async_with_attr_np(&object, "add", &session, &attributes, 1, &sum));
    CHECK_OK(grpc_wait(session));
    CHECK(grpc_invoke_arg_stack_with_attr_np(&object, "add", &attributes, stack) == 0);
    CHECK(grpc_invoke_arg_stack_async_with_attr_np(&object, "add", &attributes, stack) == 0);
    CHECK_OK(grpc_wait_all());
    CHECK(sum == 110);
    CHECK_OK(grpc_session_attr_destruct_np(&attributes));
    CHECK(grpc_arg_stack_destruct(stack) == 0);

    /* Calls on one object run in the order of their starts. */
    for (index = 0; index < COUNT; index++)
        CHECK_OK(grpc_invoke_async_np(&object, "add", &sessions[index], 1, &sums[index]));
    CHECK_OK(grpc_wait_and(sessions, COUNT));
    for (index = 0; index < COUNT; index++)
        CHECK(sums[index] == 111 + index);

    CHECK_CODE(grpc_invoke_np(&object, "no_method", 1), GRPC_FUNCTION_NOT_FOUND);
    CHECK_CODE(grpc_invoke_np(&object, NULL, 1), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_invoke_np(&object, "add", 1), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_invoke_np(NULL, "add", 1, &sum), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_OK(grpc_object_handle_destruct_np(&object));
    CHECK_CODE(grpc_invoke_np(&copy, "add", 1, &sum), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_CODE(grpc_object_handle_destruct_np(&copy), GRPC_INVALID_OBJECT_HANDLE_NP);
}

static void ends(void)
{
    grpc_object_handle_t_np object, other;
    grpc_sessionid_t session, behind;
    int sum = 0;
    grpc_error_t status;
    CHECK_CODE(
        grpc_object_handle_default_np(&object, "grpcchecks/Nobody"), GRPC_CLASS_NOT_FOUND_NP);
    CHECK_CODE(grpc_invoke_np(&object, "add", 1, &sum), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_CODE(
        grpc_object_handle_default_np(&object, "grpcchecks/succeed"), GRPC_CLASS_NOT_FOUND_NP);
    CHECK_CODE(grpc_object_handle_init_np(&object, "unix:/nonexistent", "grpcchecks/Counter"),
        GRPC_SERVER_NOT_FOUND);
    CHECK(grpc_object_handle_default_np(&object, "grpcchecks/Stillborn") != GRPC_NO_ERROR);

    CHECK_OK(grpc_object_handle_default_np(&object, "grpcchecks/Counter"));
    CHECK_OK(grpc_object_handle_init_np(&other, getenv("FARCALL_SERVER"), "grpcchecks/Counter"));
    CHECK_OK(grpc_invoke_async_np(&object, "crash", &session));
    CHECK_OK(grpc_invoke_async_np(&object, "add", &behind, 1, &sum));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK(grpc_wait(behind) != GRPC_NO_ERROR);
    status = grpc_invoke_np(&object, "add", 1, &sum);
    CHECK(status == GRPC_INVALID_OBJECT_HANDLE_NP || status == GRPC_SESSION_FAILED);
    CHECK(grpc_object_handle_get_error_np(&object) != GRPC_NO_ERROR);
    CHECK_CODE(grpc_object_handle_is_ready_np(&object), GRPC_INVALID_OBJECT_HANDLE_NP);
    CHECK_OK(grpc_object_handle_is_ready_np(&other));
    CHECK_OK(grpc_object_handle_destruct_np(&object));
    CHECK_OK(grpc_invoke_np(&other, "add", 1, &sum));
    CHECK(sum == 11);
    CHECK_OK(grpc_invoke_async_np(&other, "spin", &session));
    CHECK_OK(grpc_cancel(session));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_get_error(session), GRPC_CANCELED_NP);
    CHECK_OK(grpc_object_handle_destruct_np(&other));
}

static void arrays(void)
{
    grpc_function_handle_t functions[COUNT];
    grpc_object_handle_t_np objects[COUNT];
    Ninf_executable_t *executable;
    int index, number = 0, sum = 0;
    CHECK_OK(grpc_function_handle_array_default_np(functions, COUNT, "tally"));
    for (index = 0; index < COUNT; index++) {
        CHECK_OK(grpc_call(&functions[index], &number));
        CHECK(number == 1);
    }
    CHECK_OK(grpc_call(&functions[2], &number));
    CHECK(number == 2);
    CHECK_OK(grpc_function_handle_is_ready_np(&functions[2]));
    /* One by itself, and the others with an error that says so. */
    CHECK_OK(grpc_function_handle_destruct(&functions[2]));
    CHECK_OK(grpc_call(&functions[3], &number));
    CHECK(number == 2);
    CHECK_CODE(
        grpc_function_handle_array_destruct_np(functions, COUNT), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_CODE(grpc_call(&functions[3], &number), GRPC_INVALID_FUNCTION_HANDLE);

    CHECK_OK(grpc_object_handle_array_init_np(
        objects, COUNT, getenv("FARCALL_SERVER"), "grpcchecks/Counter"));
    for (index = 0; index < COUNT; index++)
        CHECK_OK(grpc_invoke_np(&objects[index], "add", index, &sum));
    CHECK(sum == 14);
    CHECK_OK(grpc_invoke_np(&objects[1], "add", 0, &sum));
    CHECK(sum == 11);
    CHECK_OK(grpc_object_handle_array_destruct_np(objects, COUNT));

    executable = Ninf_get_executable("tally");
    CHECK(executable && Ninf_call_executable(executable, &number) == NINF_OK && number == 1);
    CHECK(Ninf_wait(Ninf_call_executable_async(executable, &number)) == NINF_OK && number == 2);
    CHECK(Ninf_executable_finalize(executable) == NINF_OK);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    CHECK_OK(grpc_initialize(NULL));
    one_object();
    ends();
    arrays();
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
