/* The raw C TCP server of the benchmarks: receives all, then sends all back, out of one reused
 * buffer.
 *
 * Usage: rawserver [CONGESTION [CPU]]    prints `port N congestion NAME` and serves one client
 * after the other. It ends when its standard input does, so that it never outlives the benchmark
 * that started it.
 */
#define _GNU_SOURCE
#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *buffer;
static uint64_t capacity;

static void fail(const char *what)
{
    fprintf(stderr, "rawserver: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* A number the user mistyped must not pin the server to processor 0 in silence. */
static void pin(const char *text)
{
    char *end;
    long cpu = strtol(text, &end, 10);
    cpu_set_t set;

    CPU_ZERO(&set);
    if (end == text || *end != '\0' || cpu < 0 || cpu >= CPU_SETSIZE) {
        fprintf(stderr, "rawserver: `%s` is no processor number\n", text);
        exit(2);
    }
    CPU_SET((int)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        fail("cannot pin to the processor");
}

/* Makes room once; later messages of that size find it. 0, or -1 where the length is out of bounds.
   */
static int reserve(uint64_t length)
{
    if (length > LENGTH_MAX)
        return -1;
    if (length <= capacity)
        return 0;
    free(buffer);
    buffer = malloc(length);
    capacity = buffer ? length : 0;
    return buffer ? 0 : -1;
}

static int listen_on_loopback(const char *congestion)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char name[16];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *) &address, length) < 0 ||
        listen(listener, 8) < 0)
        fail("cannot listen on loopback");
    if (tune(listener, congestion) < 0) /* accepted sockets inherit it */
        fail("cannot set the congestion control");
    if (getsockname(listener, (struct sockaddr *) &address, &length) < 0 ||
        congestion_of(listener, name) < 0)
        fail("cannot read the socket's name");
    printf("port %d congestion %s\n", ntohs(address.sin_port), name);
    fflush(stdout);
    return listener;
}

/* Answers until the client leaves or breaks the rules. */
static void serve(int client)
{
    struct message header;

    while (receive_all(client, &header, sizeof header) == 0) {
        if (reserve(header.length) < 0 || receive_all(client, buffer, header.length) < 0)
            break;
        if (send_message(client, &header, buffer) < 0)
            break;
    }
    close(client);
}

/* Waits for the next client; 0 when standard input has ended instead. */
static int next_client(int listener)
{
    struct pollfd waits[2] = {{.fd = listener, .events = POLLIN}, {.fd = 0, .events = POLLIN}};

    while (poll(waits, 2, -1) >= 0 || errno == EINTR) {
        if (waits[1].revents)
            return 0;
        if (waits[0].revents)
            return 1;
    }
    fail("cannot wait");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        pin(argv[2]);
    int listener = listen_on_loopback(argc > 1 ? argv[1] : NULL);

    while (next_client(listener)) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        tune(client, NULL);
        serve(client);
    }
    return 0;
}
