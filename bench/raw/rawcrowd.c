/* Starts COUNT trivial TCP servers, calls each once, and prints the seconds until all have
 * answered.
 *
 * Usage: rawcrowd COUNT Each server is this program again, by fork and exec: it listens on a port
 * of the loopback, says which, answers one 64-byte message with another, and ends when its
 * connection does. All are started before the first is called.
 */
#define _GNU_SOURCE
#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_MAX = 4096 };

static void fail(const char *what)
{
    fprintf(stderr, "rawcrowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct sockaddr_in loopback(in_port_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
    return address;
}

/* Writes its port to standard output, then serves one message after the other. */
static int serve(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    struct message message;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, 1) < 0
        || getsockname(listening, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    if (write(1, &address.sin_port, sizeof address.sin_port) != sizeof address.sin_port)
        fail("say the port");
    int connection = accept(listening, NULL, NULL);
    if (connection < 0 || setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        fail("accept");
    while (receive_all(connection, &message, sizeof message) == 0)
        if (send_all(connection, &message, sizeof message) < 0)
            break;
    return 0;
}

/* Starts one, with `output` as its standard output. */
static void start(const char *program, int output)
{
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        dup2(output, 1);
        execl(program, program, "serve", (char *)NULL);
        _exit(127);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    static int sockets[COUNT_MAX];
    struct message message = {0};
    int ports[2];

    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    int count = argc == 2 ? atoi(argv[1]) : 0;
    if (count < 1 || count > COUNT_MAX) {
        fprintf(stderr, "usage: rawcrowd COUNT, at most %d\n", COUNT_MAX);
        return 2;
    }
    double begin = seconds();
    if (pipe2(ports, O_CLOEXEC) < 0)
        fail("make a pipe");
    for (int i = 0; i < count; i++)
        start("/proc/self/exe", ports[1]);
    for (int i = 0; i < count; i++) {
        in_port_t port;
        if (read(ports[0], &port, sizeof port) != sizeof port)
            fail("hear a port");
        struct sockaddr_in address = loopback(port);
        sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(sockets[i], (struct sockaddr *)&address, sizeof address) < 0)
            fail("connect");
        if (send_all(sockets[i], &message, sizeof message) < 0)
            fail("send");
    }
    for (int i = 0; i < count; i++)
        if (receive_all(sockets[i], &message, sizeof message) < 0)
            fail("receive");
    printf("%.9f\n", seconds() - begin);
    for (int i = 0; i < count; i++)
        close(sockets[i]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
