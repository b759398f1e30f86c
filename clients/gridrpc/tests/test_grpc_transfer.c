/* What moves, over a connection that a relay holds up: when asynchronous calls return, and the time
 * limits of arguments, results and those of callbacks. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "grpc_check.h"

enum { N = 4 << 20 }; /* 32 MB: more than all sockets on the way hold */
enum { UP, DOWN };

static volatile int held[2], server_port;
/* Bytes that still pass in a direction that is held up. */
static volatile long left[2], passed[2];
static char token[] = "/tmp/farcall-grpc-XXXXXX";
static double *x, *y;

/* One direction of a relayed connection. */
struct way {
    int from, to, direction;
};

static void *pass(void *given)
{
    struct way way = *(struct way *)given;
    static __thread char bytes[64 << 10];
    ssize_t count;
    free(given);
    for (;;) {
        count = recv(way.from, bytes, sizeof bytes, 0);
        while (held[way.direction] && left[way.direction] < count)
            usleep(1000);
        passed[way.direction] += count > 0 ? count : 0;
        left[way.direction] -= held[way.direction] ? count : 0;
        if (count <= 0 || send(way.to, bytes, (size_t)count, MSG_NOSIGNAL) != count)
            break;
    }
    shutdown(way.to, SHUT_RDWR);
    shutdown(way.from, SHUT_RDWR);
    return NULL;
}

static int tcp_socket(int port, int listens)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int made = socket(AF_INET, SOCK_STREAM, 0), small = 64 << 10;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(made, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    setsockopt(made, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    if (listens ? bind(made, (struct sockaddr *)&address, sizeof address) || listen(made, 8)
                : connect(made, (struct sockaddr *)&address, sizeof address))
        exit(1);
    return made;
}

static void *relay(void *listener)
{
    for (;;) {
        int one = accept(*(int *) listener, NULL, NULL),
            other = one < 0 ? -1 : tcp_socket(server_port, 0), index;
        if (one < 0)
            return NULL;
        for (index = 0; index < 2; index++) {
            struct way *way = malloc(sizeof *way);
            pthread_t thread;
            *way = (struct way){index ? other : one, index ? one : other, index ? DOWN : UP};
            pthread_create(&thread, NULL, pass, way);
            pthread_detach(thread);
        }
    }
}

/* Holds a direction up when a megabyte has passed: heads of frames come, but not what they tell of.
   */
static void hold(int direction)
{
    left[direction] = 1 << 20;
    held[direction] = 1;
}

static void let_go(void)
{
    held[UP] = held[DOWN] = 0;
}

/* A handle that is not spoilt by an earlier time-out, and attributes for its sessions. */
static void fresh(grpc_function_handle_t *handle, char *name, grpc_session_attr_t_np *attributes,
    int mode, int limit)
{
    grpc_argument_transfer_t_np transfer = (grpc_argument_transfer_t_np)mode;
    int seconds = 1;
    CHECK_OK(grpc_function_handle_default(handle, name));
    CHECK_OK(grpc_session_attr_initialize_np(handle, attributes));
    CHECK_OK(grpc_session_attr_set_np(attributes, GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER, &transfer));
    if (limit)
        CHECK_OK(
            grpc_session_attr_set_np(attributes, (grpc_session_attr_name_t_np) limit, &seconds));
}

static void fill_with(double value)
{
    int index;
    for (index = 0; index < N; index++)
        x[index] = value;
}

/* What the routine sees when the array changes right after the call was started. */
static double changed_after(int mode, double *took, int *status)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    grpc_sessionid_t session;
    double total = 0, begun;
    fill_with(1);
    fresh(&handle, "sum", &attributes, mode, 0);
    hold(UP);
    begun = check_now();
    CHECK_OK(grpc_call_async_with_attr_np(&handle, &session, &attributes, N, x, &total));
    *took = check_now() - begun;
    CHECK_OK(grpc_session_info_get_np(session, NULL, status));
    fill_with(2);
    let_go();
    CHECK_OK(grpc_wait(session));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    return total;
}

/* Megabytes that leave for an array of 32 that repeats itself, with these lines in the section of
   the server. */
static long sent_with(const char *lines)
{
    static char path[] = "/tmp/farcall-grpc-conf";
    grpc_function_handle_t handle;
    double total = 0;
    FILE *file = fopen(path, "w");
    fprintf(file, "<SERVER>\nhostname %s\n%s</SERVER>\n", getenv("FARCALL_SERVER"), lines);
    fclose(file);
    CHECK_OK(grpc_initialize(path));
    CHECK_OK(grpc_function_handle_default(&handle, "sum"));
    passed[UP] = 0;
    CHECK_OK(grpc_call(&handle, N, x, &total));
    CHECK(total == N);
    CHECK_OK(grpc_finalize());
    unlink(path);
    return passed[UP] >> 20;
}

static void compression(void)
{
    fill_with(1);
    CHECK(sent_with("compress zlib\n") < 8);
    CHECK(sent_with("compress raw\n") >= 32);
    CHECK(sent_with("compress zlib\ncompress_threshold 64 Mega\n") >= 32);
}

static void *let_go_later(void *nothing)
{
    usleep(700 * 1000);
    let_go();
    return nothing;
}

static void argument_transfer(void)
{
    double took, total;
    pthread_t thread;
    int status;
    total = changed_after(GRPC_ARGUMENT_TRANSFER_COPY, &took, &status);
    CHECK(total == N && took < 0.5 && status == GRPC_SESSION_ARG_IS_NOT_TRANSMITED);
    /* The trap of nowait: what had not left by then is the new content. */
    total = changed_after(GRPC_ARGUMENT_TRANSFER_NOWAIT, &took, &status);
    CHECK(total > N && took < 0.5 && status == GRPC_SESSION_ARG_IS_NOT_TRANSMITED);
    /* wait returns when they have left, so that nothing has to hold them up for ever. */
    pthread_create(&thread, NULL, let_go_later, NULL);
    total = changed_after(GRPC_ARGUMENT_TRANSFER_WAIT, &took, &status);
    CHECK(total == N && took > 0.6 && status != GRPC_SESSION_ARG_IS_NOT_TRANSMITED);
    pthread_join(thread, NULL);
}

/* One step of a call takes longer than the second that it may. */
static void late(char *name, int mode, int limit, int direction)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    grpc_sessionid_t session;
    double total, begun;
    grpc_error_t status;
    int is_sum = strcmp(name, "sum") == 0, round;
    for (round = 0; round < 2; round++) {
        fresh(&handle, name, &attributes, mode, limit);
        hold(direction);
        begun = check_now();
        if (round) {
            status = is_sum ? grpc_call_with_attr_np(&handle, &attributes, N, x, &total)
                            : grpc_call_with_attr_np(&handle, &attributes, N, 3.0, y);
            CHECK_CODE(status, GRPC_TIMEOUT_NP);
        } else {
            status =
                is_sum ? grpc_call_async_with_attr_np(&handle, &session, &attributes, N, x, &total)
                       : grpc_call_async_with_attr_np(&handle, &session, &attributes, N, 3.0, y);
            CHECK_CODE(status ? status : grpc_wait(session), GRPC_TIMEOUT_NP);
        }
        CHECK(check_now() - begun > 0.9 && check_now() - begun < 4);
        let_go();
        /* As the manual has it. */
        CHECK_CODE(grpc_call(&handle, 0, NULL, NULL), GRPC_INVALID_FUNCTION_HANDLE);
        CHECK_OK(grpc_function_handle_destruct(&handle));
        /* A fresh connection, without what is left of results that nobody wants any more. */
        CHECK_OK(grpc_finalize());
        CHECK_OK(grpc_initialize(NULL));
    }
}

static void limits(void)
{
    late("sum", GRPC_ARGUMENT_TRANSFER_WAIT, GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT, UP);
    late("sum", GRPC_ARGUMENT_TRANSFER_COPY, GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT, UP);
    late("fill", GRPC_ARGUMENT_TRANSFER_WAIT, GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_RESULT, DOWN);
}

static volatile int hold_in_callback, blocks;

static void each(int n, double *from, double *to)
{
    int index;
    for (index = 0; index < n; index++)
        to[index] = 2 * from[index];
    if (hold_in_callback)
        hold(UP);
    while (blocks)
        usleep(1000);
}

static void callbacks(void)
{
    grpc_function_handle_t handle, other;
    grpc_session_attr_t_np attributes;
    grpc_session_info_t_np *info;
    grpc_sessionid_t session;
    double total = 0;
    int done = 0;
    fill_with(1);
    fresh(&handle, "ask", &attributes, GRPC_ARGUMENT_TRANSFER_WAIT, 0);
    CHECK_OK(grpc_call_async(&handle, &session, N, x, &total, each));
    CHECK_OK(grpc_wait(session));
    CHECK(total == 2.0 * N);
    CHECK_OK(grpc_session_info_get_np(session, &info, NULL));
    CHECK(info->gei_measureClient.callbackNtimesCalled == 1 &&
          info->gei_measureExecutable.callbackNtimesCalled == 1);
    CHECK(info->gei_measureClient.callbackCalculationRealTime.tv_usec > 0);
    CHECK(info->gei_measureClient.callbackTransferArgumentToClientRealTime.tv_usec > 0);
    CHECK_OK(grpc_session_info_release_np(info));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    /* Its results do not leave. */
    fresh(&handle, "ask", &attributes, GRPC_ARGUMENT_TRANSFER_WAIT,
        GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_RESULT);
    hold_in_callback = 1;
    CHECK_OK(grpc_call_async_with_attr_np(&handle, &session, &attributes, N, x, &total, each));
    CHECK_CODE(grpc_wait(session), GRPC_TIMEOUT_NP);
    hold_in_callback = 0;
    let_go();
    CHECK_OK(grpc_function_handle_destruct(&handle));
    /* Its arguments do not come. */
    fresh(&handle, "ask", &attributes, GRPC_ARGUMENT_TRANSFER_WAIT,
          GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_ARGUMENT);
    hold(DOWN);
    CHECK_OK(grpc_call_async_with_attr_np(&handle, &session, &attributes, N, x, &total, each));
    CHECK_CODE(grpc_wait(session), GRPC_TIMEOUT_NP);
    let_go();
    CHECK_OK(grpc_function_handle_destruct(&handle));
    /* One that blocks keeps no other session from its end. */
    blocks = 1;
    CHECK_OK(grpc_function_handle_default(&handle, "ask"));
    CHECK_OK(grpc_function_handle_default(&other, "nap"));
    CHECK_OK(grpc_call_async(&handle, &session, 3, x, &total, each));
    usleep(300 * 1000);
    CHECK_OK(grpc_call(&other, 0.01, &done));
    CHECK_CODE(grpc_probe(session), GRPC_NOT_COMPLETED);
    {
        grpc_sessionid_t nap;
        CHECK_OK(grpc_call_async(&other, &nap, 0.01, &done));
        CHECK_OK(grpc_wait(nap));
    }
    blocks = 0;
    CHECK_OK(grpc_wait(session));
    CHECK(total == 6);
    /* And none the end of it all. */
    blocks = 1;
    CHECK_OK(grpc_call_async(&handle, &session, 3, x, &total, each));
    usleep(200 * 1000);
}

int main(void)
{
    static const char *const files[] = {"clients/gridrpc/tests/checks.idl"};
    const char *arguments[] = {"--listen", "tcp:127.0.0.1:0", "--token-file", token};
    farcall_server_options options = {sizeof options, NULL, files, 1, arguments, 4, 0};
    struct sockaddr_in bound;
    socklen_t length = sizeof bound;
    farcall_server *server = check_begin(0, NULL), *networked;
    farcall_error *error;
    pthread_t thread;
    char address[60];
    int listener;
    double begun;
    x = malloc(N * sizeof *x);
    y = malloc(N * sizeof *y);
    close(mkstemp(token));
    unlink(token);
    if (farcall_server_start(&options, &networked, &error) != FARCALL_OK) {
        printf("FAIL %s\n0 passed, 1 failed\n", farcall_error_message(error));
        return 1;
    }
    server_port = atoi(strrchr(farcall_server_address(networked), ':') + 1);
    listener = tcp_socket(0, 1);
    getsockname(listener, (struct sockaddr *)&bound, &length);
    pthread_create(&thread, NULL, relay, &listener);
    snprintf(address, sizeof address, "farcall://127.0.0.1:%d", ntohs(bound.sin_port));
    setenv("FARCALL_SERVER", address, 1);
    setenv("FARCALL_TOKEN_FILE", token, 1);
    compression();
    CHECK_OK(grpc_initialize(NULL));
    argument_transfer();
    limits();
    callbacks();
    begun = check_now();
    CHECK_OK(grpc_finalize());
    CHECK(check_now() - begun < 1);
    blocks = 0;
    farcall_server_stop(networked);
    unlink(token);
    return check_end(server);
}
