/* The raw C TCP client of the benchmarks, as a shared library, so that a driver can take turns
 * between it and Farcall.
 *
 * Every function returns a negative number on failure; raw_error() says why. One connection at a
 * time, one thread.
 */
#define _GNU_SOURCE
#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int connection = -1;
static char *array;
static uint64_t capacity;
static char error[128];

static int refuse(const char *what)
{
    snprintf(error, sizeof error, "%s: %s", what, errno ? strerror(errno) : "the server has left");
    return -1;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Why the last call failed. The text is the library's own. */
const char *raw_error(void)
{
    return error;
}

void raw_close(void)
{
    if (connection >= 0)
        close(connection);
    connection = -1;
    free(array);
    array = NULL;
    capacity = 0;
}

/* Connects to a rawserver on loopback with the congestion control named (NULL: the system's). */
int raw_open(int port, const char *congestion)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    raw_close();
    address.sin_port = htons((uint16_t)port);
    connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || tune(connection, congestion) < 0)
        return refuse("cannot set up a socket");
    if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0)
        return refuse("cannot connect");
    return 0;
}

/* Starts a shell command, an ssh to a rawstdio, and is joined to its standard input and output. */
int raw_open_command(const char *command)
{
    int pair[2];

    raw_close();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return refuse("cannot make a pair of sockets");
    connection = pair[0];
    pid_t child = fork();
    if (child == 0) {
        dup2(pair[1], 0);
        dup2(pair[1], 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    return child < 0 ? refuse("cannot start a command") : 0;
}

/* The congestion control in force on this side; empty without a connection. */
const char *raw_congestion(void)
{
    static char name[16];
    if (connection < 0 || congestion_of(connection, name) < 0)
        name[0] = '\0';
    return name;
}

/* Makes the array once and writes to every page of it, so that no round pays for first touch. */
static int reserve(uint64_t bytes)
{
    if (bytes <= capacity)
        return 0;
    if (bytes > LENGTH_MAX) {
        errno = EFBIG;
        return refuse("array too long");
    }
    free(array);
    array = malloc(bytes);
    capacity = array ? bytes : 0;
    if (array == NULL)
        return refuse("no memory for the array");
    memset(array, 1, bytes);
    return 0;
}

/* One exchange: sends header and array, receives the header into the same place and the array into
   `result`. */
static int exchange_into(struct message *header, char *result)
{
    uint64_t length = header->length;

    errno = 0;
    if (send_message(connection, header, array) < 0)
        return refuse("cannot send");
    if (receive_all(connection, header, sizeof *header) < 0)
        return refuse("no reply");
    if (header->length != length || receive_all(connection, result, length) < 0)
        return refuse("bad reply");
    return 0;
}

/* The same, all into the same places. */
static int exchange(struct message *header)
{
    return exchange_into(header, array);
}

/* Marks the array before and looks at the marks after, outside the measured time: bytes really
   travelled. */
static int is_marked(const char *result, uint64_t bytes, unsigned char mark)
{
    return bytes == 0 ||
           ((unsigned char) result[0] == mark && (unsigned char) result[bytes - 1] == mark);
}

/* Sends `bytes` bytes there and back; the seconds it took. */
double raw_roundtrip(uint64_t bytes)
{
    static unsigned char mark;
    struct message header = {.length = bytes};

    if (reserve(bytes) < 0)
        return -1.0;
    mark++;
    if (bytes > 0)
        array[0] = array[bytes - 1] = (char)mark;
    double begin = now();
    if (exchange(&header) < 0)
        return -1.0;
    double seconds = now() - begin;
    if (!is_marked(array, bytes, mark))
        return refuse("the array came back changed");
    return seconds;
}

/* The same into memory that is made for it with malloc(), and freed when the time is taken. */
double raw_roundtrip_fresh(uint64_t bytes)
{
    static unsigned char mark;
    struct message header = {.length = bytes};

    if (reserve(bytes) < 0)
        return -1.0;
    mark++;
    if (bytes > 0)
        array[0] = array[bytes - 1] = (char)mark;
    double begin = now();
    char *result = malloc(bytes);
    if (result == NULL)
        return refuse("no memory for the result");
    int status = exchange_into(&header, result);
    double seconds = now() - begin;
    if (status == 0 && !is_marked(result, bytes, mark))
        status = refuse("the array came back changed");
    free(result);
    return status < 0 ? -1.0 : seconds;
}

/* `calls` small messages, one after the other; the seconds per call. */
double raw_pingpong(int calls)
{
    struct message header = {.length = 0};
    double begin = now();

    for (int call = 0; call < calls; call++) {
        if (exchange(&header) < 0)
            return -1.0;
    }
    return (now() - begin) / (calls > 0 ? calls : 1);
}

/* The time of each of `calls` small messages, in seconds, for medians and tails. */
int raw_pingpong_times(int calls, double *seconds)
{
    struct message header = {.length = 0};

    for (int call = 0; call < calls; call++) {
        double begin = now();
        if (exchange(&header) < 0)
            return -1;
        seconds[call] = now() - begin;
    }
    return 0;
}

/* Calls per second with `depth` of them under way: when an answer has come, the next message goes.
 * All that are under way together are shorter than a socket's buffer, so neither end can block the
 * other. */
double raw_pipeline(int calls, int depth)
{
    struct message header = {.length = 0};
    double begin = now();

    if (depth < 1 || depth > 512)
        return refuse("too many under way");
    for (int call = 0; call < calls + depth; call++) {
        errno = 0;
        if (call >= depth && receive_all(connection, &header, sizeof header) < 0)
            return refuse("no reply");
        if (call < calls && send_message(connection, &header, NULL) < 0)
            return refuse("cannot send");
    }
    return calls / (now() - begin);
}
