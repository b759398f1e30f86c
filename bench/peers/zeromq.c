/* ZeroMQ as a peer: DEALER client, ROUTER server, one I/O thread each.
 *
 * Usage: zeromq serve            prints `port N`
 *        zeromq call PORT        reads commands (commands.h)
 * Arrays are sent from where they lie. The server sends back the message that it received; the client leaves the result
 * in the message, since ZeroMQ cannot receive into memory given to it: a copy that a program may need is not charged.
 */
#include "commands.h"

#include <stdint.h>
#include <string.h>
#include <zmq.h>

enum operation { ADD = 1, TOUCH = 2 };

struct request {
    uint64_t operation;
    double x, y;
};

static void *connection;
static zmq_msg_t result;

static void fail(const char *what)
{
    fprintf(stderr, "zeromq: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

/* A socket without limits on its queues, which ends at once. */
static void *made(int kind)
{
    int none = 0;
    void *one = zmq_socket(zmq_ctx_new(), kind);
    if (one == NULL || zmq_setsockopt(one, ZMQ_SNDHWM, &none, sizeof none) < 0
        || zmq_setsockopt(one, ZMQ_RCVHWM, &none, sizeof none) < 0
        || zmq_setsockopt(one, ZMQ_LINGER, &none, sizeof none) < 0)
        fail("make a socket");
    return one;
}

/* Answers one request after the other: a ROUTER's messages begin with a frame that names the
   client. */
static void serve(void)
{
    char endpoint[64];
    size_t length = sizeof endpoint;
    struct request request;
    zmq_msg_t client, array;
    void *server = made(ZMQ_ROUTER);

    end_with_parent();
    if (zmq_bind(server, "tcp://127.0.0.1:*") < 0
        || zmq_getsockopt(server, ZMQ_LAST_ENDPOINT, endpoint, &length) < 0)
        fail("listen");
    printf("port %s\n", strrchr(endpoint, ':') + 1);
    fflush(stdout);
    for (;;) {
        zmq_msg_init(&client);
        if (zmq_msg_recv(&client, server, 0) < 0 ||
            zmq_recv(server, &request, sizeof request, 0) != sizeof request ||
            zmq_msg_send(&client, server, ZMQ_SNDMORE) < 0)
            fail("serve");
        if (request.operation == ADD) {
            double sum = request.x + request.y;
            if (zmq_send(server, &sum, sizeof sum, 0) < 0)
                fail("answer");
            continue;
        }
        zmq_msg_init(&array);
        if (zmq_msg_recv(&array, server, 0) < 0 || zmq_msg_send(&array, server, 0) < 0)
            fail("send the array back");
    }
}

/* The array is ours and stays. */
static void keep(void *data, void *hint)
{
    (void)data, (void)hint;
}

static const double *roundtrip(double *array, size_t bytes)
{
    struct request request = {.operation = TOUCH};
    zmq_msg_t message;

    if (zmq_msg_init_data(&message, array, bytes, keep, NULL) < 0
        || zmq_send(connection, &request, sizeof request, ZMQ_SNDMORE) < 0
        || zmq_msg_send(&message, connection, 0) < 0)
        return NULL;
    zmq_msg_init(&result);
    if (zmq_msg_recv(&result, connection, 0) != (int)bytes)
        return NULL;
    return (const double *)zmq_msg_data(&result);
}

static void release(void)
{
    zmq_msg_close(&result);
}

static void start_call(int number)
{
    struct request request = {ADD, (double)number, 1.0};
    if (zmq_send(connection, &request, sizeof request, 0) < 0)
        fail("send");
}

static int finish_call(int number)
{
    double sum;
    return zmq_recv(connection, &sum, sizeof sum, 0) == sizeof sum && sum == (double) number + 1.0
               ? 0
               : -1;
}

static double pingpong(int calls)
{
    double begin = now();
    for (int i = 0; i < calls; i++) {
        start_call(i);
        if (finish_call(i) < 0)
            return -1;
    }
    return (now() - begin) / calls;
}

/* Answers of one server come back in order. */
static double pipeline(int calls, int depth)
{
    double begin = now();
    for (int i = 0; i < calls + depth; i++) {
        if (i >= depth && finish_call(i - depth) < 0)
            return -1;
        if (i < calls)
            start_call(i);
    }
    return calls / (now() - begin);
}

int main(int argc, char **argv)
{
    const struct client client = {NULL, roundtrip, release, pingpong, pipeline};
    char endpoint[64];

    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve();
    if (argc != 3)
        return 2;
    connection = made(ZMQ_DEALER);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%s", argv[2]);
    if (zmq_connect(connection, endpoint) < 0)
        fail("connect");
    return answer(&client);
}
