/* Call backs that are none, block, call back again, or end their process; forks that go their own
   way. */
#include <sys/wait.h>

#include "grpc_exchange.h"

static grpc_function_handle_t answering;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_open, waiting, depth;

static void double_it(int k, int *reply) { *reply = 2 * k; }

/* Waits until the gate is open, but no longer than ten seconds. */
static void block(int k, int *reply)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_broadcast(&changed);
    while (!is_open && pthread_cond_timedwait(&changed, &lock, &until) == 0) {
    }
    pthread_mutex_unlock(&lock);
    *reply = k;
}

static void set_gate(int opens)
{
    pthread_mutex_lock(&lock);
    is_open = opens;
    waiting = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static int somebody_waits(void)
{
    double begun = check_now();
    int found = 0;
    while (!found && check_now() - begun < 10) {
        pthread_mutex_lock(&lock);
        found = waiting;
        pthread_mutex_unlock(&lock);
        usleep(1000);
    }
    return found;
}

static void again(int k, int *reply)
{
    grpc_sessionid_t session;
    int sum = 0;
    if (++depth < 4) {
        CHECK_OK(grpc_call(&answering, 1, &sum, again));
    } else {
        CHECK_OK(grpc_call_async(&answering, &session, 3, &sum, double_it));
        CHECK_OK(grpc_wait(session));
        CHECK(sum == 6);
    }
    depth--;
    *reply = k + 1;
}

static void that_are_none_or_nested(void)
{
    int sum = 0;
    CHECK(grpc_call(&answering, 3, &sum, NULL) != GRPC_NO_ERROR);
    CHECK_OK(grpc_call(&answering, 4, &sum, double_it));
    CHECK(sum == 12);
    CHECK_OK(grpc_call(&answering, 2, &sum, again));
    CHECK(sum == 3 && depth == 0);
}

static void *call_and_block(void *place)
{
    return (void *)(long)grpc_call(&answering, 3, place, block);
}

/* One that blocks keeps up its own call alone. */
static void that_block(void)
{
    grpc_function_handle_t nap;
    grpc_sessionid_t other, plain;
    pthread_t thread;
    void *status = NULL;
    int sum = 0, sum_of_other = 0, done = 0;
    double begun = check_now();
    CHECK_OK(grpc_function_handle_default(&nap, "nap"));
    pthread_create(&thread, NULL, call_and_block, &sum);
    CHECK(somebody_waits());
    CHECK_OK(grpc_call_async(&nap, &plain, 0.0, &done));
    CHECK_OK(grpc_wait(plain));
    CHECK_OK(grpc_call(&answering, 3, &sum_of_other, double_it));
    CHECK_OK(grpc_call_async(&answering, &other, 3, &sum_of_other, double_it));
    CHECK_OK(grpc_wait(other));
    CHECK(sum_of_other == 6 && done == 1 && sum == 0 && check_now() - begun < 5);
    set_gate(1);
    pthread_join(thread, &status);
    CHECK_OK((long)status);
    CHECK(sum == 3);
    set_gate(0);
    CHECK_OK(grpc_function_handle_destruct(&nap));
}

static void take_long(int k, int *reply)
{
    usleep(1500000);
    *reply = k;
}

/* A call whose call back takes longer than it may has failed when that is over. */
static void that_take_too_long(void)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    grpc_sessionid_t session;
    int sum = 0, seconds = 1;
    double begun;
    CHECK_OK(grpc_function_handle_default(&handle, "answer"));
    CHECK_OK(grpc_session_attr_initialize_np(&handle, &attributes));
    CHECK_OK(grpc_session_attr_set_np(&attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &seconds));
    begun = check_now();
    CHECK_OK(grpc_call_async_with_attr_np(&handle, &session, &attributes, 5, &sum, take_long));
    CHECK_CODE(grpc_wait(session), GRPC_TIMEOUT_NP);
    CHECK(check_now() - begun < 5);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    /* Cancelled in one, and waited for twice. */
    CHECK_OK(grpc_function_handle_default(&handle, "answer"));
    CHECK_OK(grpc_call_async(&handle, &session, 5, &sum, take_long));
    usleep(200000);
    CHECK_OK(grpc_cancel(session));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_get_error(session), GRPC_CANCELED_NP);
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static grpc_object_handle_t_np object;
static int of_inner;

static void on_the_same(int process, int *answer)
{
    static double x[1], y[1];
    (void)process;
    of_inner = grpc_invoke_np(&object, "exchange", 1, x, y, on_the_same);
    *answer = 1;
}

/* A call on the object whose call back this is would wait for itself: it is refused at once. */
static void on_one_object(void)
{
    double x[1] = {4}, y[1] = {0}, begun = check_now();
    CHECK_OK(grpc_object_handle_default_np(&object, "grpcfaults/Exchanger"));
    CHECK_OK(grpc_invoke_np(&object, "exchange", 1, x, y, on_the_same));
    CHECK(y[0] == 9 && of_inner == GRPC_RPC_REFUSED && check_now() - begun < 10);
    CHECK_OK(grpc_object_handle_destruct_np(&object));
}

static grpc_sessionid_t of_itself;
static int of_wait[3];

static void wait_for_itself(int k, int *reply)
{
    grpc_sessionid_t any;
    of_wait[0] = grpc_wait(of_itself);
    of_wait[1] = grpc_wait_all();
    of_wait[2] = grpc_wait_any(&any);
    *reply = k;
}

/* Nor does a session's function wait for its own session. */
static void on_one_session(void)
{
    int sum = 0, index;
    CHECK_OK(grpc_call_async(&answering, &of_itself, 1, &sum, wait_for_itself));
    CHECK_OK(grpc_wait(of_itself));
    for (index = 0; index < 3; index++)
        CHECK_CODE(of_wait[index], GRPC_OTHER_ERROR_CODE);
}

static void leave(int k, int *reply)
{
    (void)reply;
    _exit(k + 7);
}

static int child_leaves_in_a_call_back(void)
{
    grpc_function_handle_t handle;
    int sum;
    if (grpc_initialize(NULL) == GRPC_NO_ERROR &&
        grpc_function_handle_default(&handle, "answer") == GRPC_NO_ERROR)
        grpc_call(&handle, 1, &sum, leave);
    return 1;
}

static int child_goes_on(void)
{
    int status = grpc_finalize() == GRPC_NOT_INITIALIZED ? 0 : 1;
#ifdef __SANITIZE_ADDRESS__
    /* What its parent had is not touched in a child, and not freed: the leak check would count it.
       */
    _exit(status);
#else
    /* With all that runs at the end of a program. */
    exit(status);
#endif
}

static int child_becomes_another(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return 1;
}

/* Runs a child while a session of the parent is under way, whose result comes all the same. */
static void beside(int (*child)(void), int wanted)
{
    grpc_function_handle_t nap;
    grpc_sessionid_t session;
    int done = 0, status = -1;
    pid_t process;
    CHECK_OK(grpc_function_handle_default(&nap, "nap"));
    CHECK_OK(grpc_call_async(&nap, &session, 0.4, &done));
    fflush(stdout);
    process = fork();
    if (process == 0) {
        alarm(20);
        _exit(child());
    }
    CHECK(process > 0 && waitpid(process, &status, 0) == process);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
    CHECK_OK(grpc_wait(session));
    CHECK(done == 1);
    CHECK_OK(grpc_function_handle_destruct(&nap));
}

static void finalize(int k, int *reply)
{
    *reply = k;
    CHECK_OK(grpc_finalize());
}

/* The end of everything, with calls under way: in a call back, and of one whose call back takes its
   time. */
static void at_the_end(void)
{
    grpc_sessionid_t session;
    int sum = 0;
    double begun = check_now();
    CHECK(grpc_call(&answering, 3, &sum, finalize) != GRPC_NO_ERROR);
    CHECK_CODE(grpc_call(&answering, 3, &sum, double_it), GRPC_NOT_INITIALIZED);
    CHECK_OK(grpc_initialize(NULL));
    CHECK_OK(grpc_function_handle_default(&answering, "answer"));
    CHECK_OK(grpc_call_async(&answering, &session, 50, &sum, take_long));
    usleep(200000);
    CHECK_OK(grpc_finalize());
    CHECK_CODE(grpc_wait(session), GRPC_NOT_INITIALIZED);
    CHECK(check_now() - begun < 8);
}

int main(void)
{
    static const char *const files[] = {"clients/gridrpc/tests/faults.idl"};
    farcall_server *server = check_begin_with(files, 1, NULL, 0);
    snprintf(exchange_direct, sizeof exchange_direct, "%s", farcall_server_address(server));
    alarm(120);
    CHECK_OK(grpc_initialize(NULL));
    CHECK_OK(grpc_function_handle_default(&answering, "answer"));
    that_are_none_or_nested();
    that_block();
    that_take_too_long();
    on_one_object();
    on_one_session();
    beside(child_leaves_in_a_call_back, 7);
    beside(child_goes_on, 0);
    beside(child_becomes_another, 0);
    at_the_end();
    exchange_settles("calls_open", 0, 10);
    return check_end(server);
}
