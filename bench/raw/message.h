/* What the raw server and client say to each other: the anchor that Farcall is measured against.
 *
 * A request is a 64-byte message, followed by `length` bytes of data; the reply has the same form. Nothing is encoded,
 * checked or allocated per call: this is what plain C over a socket costs.
 *
 *   0        8                                  64
 *   +--------+--------+-------------------------+----------------+
 *   | length | reserved                         | length bytes … |
 *   +--------+--------+-------------------------+----------------+
 */
#ifndef RAW_MESSAGE_H
#define RAW_MESSAGE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct message {
    uint64_t length;
    char reserved[56];
};

/* The largest array that the server takes: one reused buffer of this size would be too dear to hold
   for nothing. */
#define LENGTH_MAX (UINT64_C(4) << 30)

/* Sets what both ends must have alike: no delay, and the congestion control that the caller names.
 * NULL: the system's. Returns 0, or -1 with errno. */
static inline int tune(int socket, const char *congestion)
{
    int on = 1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        return -1;
    if (congestion == NULL || *congestion == '\0')
        return 0;
    return setsockopt(
        socket, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t) strlen(congestion));
}

/* Reads what the kernel says is in force into `name` (16 bytes). */
static inline int congestion_of(int socket, char name[16])
{
    socklen_t length = 16;
    memset(name, 0, 16);
    return getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &length);
}

/* Receives exactly `length` bytes into place. MSG_WAITALL lets the kernel fill the buffer in one
   call. */
static inline int receive_all(int socket, void *place, uint64_t length)
{
    char *at = place;
    while (length > 0) {
        ssize_t got = recv(socket, at, length, MSG_WAITALL);
        if (got <= 0)
            return -1;
        at += got;
        length -= (uint64_t)got;
    }
    return 0;
}

static inline int send_all(int socket, const void *data, uint64_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t sent = send(socket, at, length, MSG_NOSIGNAL);
        if (sent < 0)
            return -1;
        at += sent;
        length -= (uint64_t)sent;
    }
    return 0;
}

/* Sends header and data in one system call, as long as the kernel takes both; the rest of the data
   afterwards. */
static inline int send_message(int socket, const struct message *header, const void *data)
{
    struct iovec parts[2] = {{(void *)header, sizeof *header}, {(void *)data, header->length}};
    struct msghdr whole = {.msg_iov = parts, .msg_iovlen = header->length > 0 ? 2 : 1};
    ssize_t sent = sendmsg(socket, &whole, MSG_NOSIGNAL);

    if (sent < (ssize_t)sizeof *header)
        return -1; /* 64 bytes always fit into an empty socket buffer, and ours is empty here */
    uint64_t done = (uint64_t)sent - sizeof *header;
    return send_all(socket, (const char *)data + done, header->length - done);
}

#endif
