/*
 * stack.c: argument stacks, attributes of handles and sessions
 */
#include "check.h"

main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_function_handle_t h;
	grpc_handle_attr_t_np attr;
	grpc_session_attr_t_np sattr;
	grpc_arg_stack_t *st;
	grpc_argument_transfer_t_np how, *howp;
	grpc_sessionid_t id;
	int n = 3, first = 20, tag = 7, r = 0, timeout = 60, port = 2119, *ip;
	double x[3], sum = 0;
	char *name;

	x[0] = 1; x[1] = 2; x[2] = 4;
	START(argc, argv);

	CALL(grpc_handle_attr_initialize_np(&attr));
	CALL(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_HOSTNAME, "here"));
	CALL(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_PORT, &port));
	CALL(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_JOBMANAGER, "jobmanager-fork"));
	CALL(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_FUNCNAME, "numeric/vsum"));
	CALL(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, &timeout));
	CALL(grpc_handle_attr_get_np(&attr, GRPC_HANDLE_ATTR_FUNCNAME, (void **)&name));
	CHECK(strcmp(name, "numeric/vsum") == 0);
	CALL(grpc_handle_attr_release_np(name));
	CALL(grpc_handle_attr_get_np(&attr, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, (void **)&ip));
	CHECK(*ip == 60);
	CALL(grpc_handle_attr_release_np(ip));
	CALL(grpc_function_handle_init_with_attr_np(&h, &attr));
	CALL(grpc_handle_attr_destruct_np(&attr));

	st = grpc_arg_stack_new(3);
	CHECK(st != NULL);
	CHECK(grpc_arg_stack_push_arg(st, &n) == 0);
	CHECK(grpc_arg_stack_push_arg(st, x) == 0);
	CHECK(grpc_arg_stack_push_arg(st, &sum) == 0);
	CHECK(grpc_call_arg_stack(&h, st) == 0);
	CHECK(sum == 7);
	CHECK(grpc_arg_stack_pop_arg(st) == (void *)&sum);
	CHECK(grpc_arg_stack_pop_arg(st) == (void *)x);
	CHECK(grpc_arg_stack_destruct(st) == 0);
	CALL(grpc_function_handle_destruct(&h));

	CALL(grpc_function_handle_default(&h, "control/nap"));
	CALL(grpc_session_attr_initialize_np(&h, &sattr));
	how = GRPC_ARGUMENT_TRANSFER_COPY;
	CALL(grpc_session_attr_set_np(&sattr, GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER, &how));
	CALL(grpc_session_attr_get_np(&sattr, GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER, (void **)&howp));
	CHECK(*howp == GRPC_ARGUMENT_TRANSFER_COPY);
	CALL(grpc_session_attr_release_np(howp));
	CALL(grpc_call_with_attr_np(&h, &sattr, first, tag, &r));
	CHECK(r == 7);
	tag = 8;
	CALL(grpc_call_async_with_attr_np(&h, &id, &sattr, first, tag, &r));
	CALL(grpc_wait(id));
	CHECK(r == 8);
	CALL(grpc_session_attr_destruct_np(&sattr));
	CALL(grpc_function_handle_destruct(&h));
	FINISH("stack");
}
