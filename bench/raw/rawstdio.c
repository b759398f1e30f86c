/* The raw C server of the benchmarks behind ssh: receives all on standard input, then sends all
 * back on standard output, out of one reused buffer. It ends when its standard input does.
 */
#define _GNU_SOURCE
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The most that a user's pipe may hold by default, which Farcall asks for as well. */
#define PIPE_BYTES (1 << 20)

static int read_all(void *place, uint64_t length)
{
    char *at = place;
    while (length > 0) {
        ssize_t got = read(0, at, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        at += got;
        length -= (uint64_t)got;
    }
    return 0;
}

static int write_all(const void *data, uint64_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t sent = write(1, at, length);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        at += sent;
        length -= (uint64_t)sent;
    }
    return 0;
}

int main(void)
{
    struct message header;
    uint64_t capacity = 0;
    char *buffer = NULL;

    fcntl(0, F_SETPIPE_SZ, PIPE_BYTES); /* fails where they are sockets */
    fcntl(1, F_SETPIPE_SZ, PIPE_BYTES);
    while (read_all(&header, sizeof header) == 0) {
        if (header.length > LENGTH_MAX)
            return 1;
        if (header.length > capacity) {
            free(buffer);
            buffer = malloc(header.length);
            capacity = header.length;
        }
        if (header.length > 0 && buffer == NULL)
            return 1;
        if (read_all(buffer, header.length) < 0 || write_all(&header, sizeof header) < 0 ||
            write_all(buffer, header.length) < 0)
            return 1;
    }
    return 0;
}
