/* t_array.c: arrays of handles, attributes, information on sessions */
#include "survey.h"

#define NH 4

void test_array(void)
{
    grpc_function_handle_t h[NH];
    grpc_handle_attr_t_np attr, got;
    grpc_session_attr_t_np sattr;
    grpc_session_info_t_np *info;
    grpc_argument_transfer_t_np transfer = GRPC_ARGUMENT_TRANSFER_NOWAIT;
    grpc_sessionid_t id[NH];
    int i, nth[NH], status, seconds = 30, *number;
    char *text;

    G(grpc_function_handle_array_init_np(h, NH, "cluster", "work/busy"));
    for (i = 0; i < NH; i++)
	while (grpc_function_handle_is_ready_np(&h[i]) == GRPC_NOT_COMPLETED)
	    usleep(1000);
    for (i = 0; i < NH; i++)
	G(grpc_call_async(&h[i], &id[i], 5, &nth[i]));
    G(grpc_wait_all());
    for (i = 0; i < NH; i++)
	TRUTH(nth[i] == 1);
    G(grpc_call(&h[NH - 1], 0, &nth[0]));
    TRUTH(nth[0] == 2);

    G(grpc_function_handle_get_attr_np(&h[0], &got));
    G(grpc_handle_attr_get_np(&got, GRPC_HANDLE_ATTR_FUNCNAME, (void **)&text));
    TRUTH(strcmp(text, "work/busy") == 0);
    G(grpc_handle_attr_release_np(text));
    G(grpc_handle_attr_destruct_np(&got));
    G(grpc_function_handle_array_destruct_np(h, NH));

    G(grpc_handle_attr_initialize_np(&attr));
    G(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_HOSTNAME, "localhost"));
    G(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_FUNCNAME, "work/busy"));
    G(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, &seconds));
    G(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_JOBSTOPTIMEOUT, &seconds));
    G(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_WAIT_ARG_TRANSFER, &transfer));
    G(grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_QUEUENAME, "short"));
    G(grpc_handle_attr_get_np(&attr, GRPC_HANDLE_ATTR_JOBSTOPTIMEOUT, (void **)&number));
    TRUTH(*number == 30);
    G(grpc_handle_attr_release_np(number));
    G(grpc_function_handle_array_init_with_attr_np(h, 2, &attr));
    G(grpc_call_async(&h[0], &id[0], 20, &nth[0]));
    G(grpc_call_async(&h[1], &id[1], 0, &nth[1]));
    G(grpc_wait_and(id, 2));
    TRUTH(nth[0] == 1 && nth[1] == 1);
    G(grpc_session_info_get_np(id[0], &info, &status));
    TRUTH(status == GRPC_SESSION_DONE);
    TRUTH(info->gei_measureExecutable.calculationRealTime.tv_usec >= 15000
	  || info->gei_measureExecutable.calculationRealTime.tv_sec > 0);
    TRUTH(info->gei_measureExecutable.callbackNtimesCalled == 0);
    G(grpc_session_info_release_np(info));
    G(grpc_session_info_remove_np(id[0]));
    G(grpc_function_handle_array_destruct_np(h, 2));
    G(grpc_handle_attr_destruct_np(&attr));

    /* a session that takes too long */
    G(grpc_function_handle_default(&h[0], "work/busy"));
    G(grpc_session_attr_initialize_np(&h[0], &sattr));
    seconds = 1;
    G(grpc_session_attr_set_np(&sattr, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &seconds));
    WANT(GRPC_TIMEOUT_NP, grpc_call_with_attr_np(&h[0], &sattr, 60000, &nth[0]));
    WANT(GRPC_INVALID_FUNCTION_HANDLE, grpc_call(&h[0], 0, &nth[0]));
    G(grpc_session_attr_destruct_np(&sattr));
    grpc_function_handle_destruct(&h[0]);
    WANT(GRPC_FUNCTION_NOT_FOUND, grpc_function_handle_default(&h[0], "work/unknown"));
}
