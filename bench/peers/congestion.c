/* Gives every TCP socket of a program the congestion control named in BENCH_CONGESTION; for
 * LD_PRELOAD.
 *
 * ZeroMQ, gRPC and OpenMPI offer no option for it, and on loopback it alone can make a large array
 * 2.5 times slower (bbr against reno). The raw program and Farcall use reno there, so the peers get
 * it, too. Accepted sockets inherit it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol)
{
    int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    const char *name = getenv("BENCH_CONGESTION");
    int made = next(domain, type, protocol);
    int is_tcp = (domain == AF_INET || domain == AF_INET6) &&
                 (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_STREAM;

    if (made >= 0 && is_tcp && name != NULL
        && setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) < 0) {
        perror("peer: cannot set the congestion control");
        exit(1); /* a peer that is measured with another one would be compared unfairly */
    }
    return made;
}
