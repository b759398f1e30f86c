/* ck_async.c: asynchronous calls, from threads, too */
#include "ck.h"

#define N 4

static grpc_function_handle_t *h[N];

struct job {
    grpc_function_handle_t *handle;
    int pid, rounds;
    pthread_t thread;
};

static void *work(void *arg)
{
    struct job *job = arg;
    int pid = 0, i;

    for (i = 0; i < job->rounds; i++) {
	grpc_sessionid_t id;

	OK(grpc_call_async(job->handle, &id, 0.002, &pid));
	OK(grpc_wait(id));
	ASSERT(i == 0 || pid == job->pid);
	job->pid = pid;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    grpc_sessionid_t id[N], any;
    grpc_session_info_t_np *info = NULL;
    grpc_function_handle_t many[N];
    struct job jobs[N];
    int pid[N], i, left, status = 0;
    grpc_error_t rc;

    ck_begin(argc, argv);
    for (i = 0; i < N; i++)
	h[i] = ck_handle("wait");

    for (i = 0; i < N; i++)
	OK(grpc_call_async(h[i], &id[i], 0.01 * (N - i), &pid[i]));
    for (left = N; left > 0; ) {
	rc = grpc_probe_or(id, N, &any);
	if (rc == GRPC_NONE_COMPLETED) {
	    usleep(1000);
	    continue;
	}
	OK(rc);
	OK(grpc_wait(any));
	for (i = 0; i < left && id[i] != any; i++)
	    ;
	ASSERT(i < left);
	left--;
	id[i] = id[left];
	if (left == 0)
	    break;
	OK(grpc_wait_or(id, left, &any));
	ASSERT(any != GRPC_SESSIONID_VOID);
	OK(grpc_wait_and(id, left));
	left = 0;
    }

    /* arrays of handles, each with its process */
    OK(grpc_function_handle_array_default_np(many, N, "check/wait"));
    for (i = 0; i < N; i++)
	OK(grpc_call_async(&many[i], &id[i], 0.0, &pid[i]));
    OK(grpc_wait_all());
    for (i = 1; i < N; i++)
	ASSERT(pid[i] != pid[0]);
    memset(jobs, 0, sizeof jobs);
    for (i = 0; i < N; i++) {
	jobs[i].handle = &many[i];
	jobs[i].rounds = 5;
	assert(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) == 0);
    }
    for (i = 0; i < N; i++) {
	assert(pthread_join(jobs[i].thread, NULL) == 0);
	ASSERT(jobs[i].pid == pid[i]);
    }
    OK(grpc_function_handle_array_destruct_np(many, N));

    OK(grpc_call_async(h[0], &id[0], 0.05, &pid[0]));
    OK(grpc_session_info_get_np(id[0], NULL, &status));
    ASSERT(status == GRPC_SESSION_EXECUTING || status == GRPC_SESSION_ARG_IS_NOT_TRANSMITED);
    OK(grpc_wait_any(&any));
    ASSERT(any == id[0]);
    OK(grpc_session_info_get_np(any, &info, &status));
    ASSERT(status == GRPC_SESSION_DONE && info != NULL);
    if (info != NULL)
	ASSERT(info->gei_measureClient.calculationRealTime.tv_sec * 1000000L
	       + info->gei_measureClient.calculationRealTime.tv_usec > 40000);
    OK(grpc_session_info_release_np(info));
    OK(grpc_wait_all());

    for (i = 0; i < N; i++)
	ck_release(h[i]);
    return ck_end();
}
