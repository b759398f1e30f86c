/* A proxy before a TCP server, for tests of what happens when a connection ends: it counts what
 * passes, and does something at a byte of either direction. One in a process. */
#ifndef GRPC_PROXY_H
#define GRPC_PROXY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

/* What it does at the byte of its plan. */
enum proxy_act { PROXY_PASS, PROXY_CUT, PROXY_HOLD, PROXY_CALL };

static struct {
    int listener, port, target;
    pthread_mutex_t lock;
    /* Bytes since the plan was made: to the server, and from there. */
    long passed[2];
    /* The plan: at this byte of this direction; below 0 for none. */
    long at;
    int way;
    enum proxy_act act;
    void (*call)(void);
    /* After it, nobody gets through any more. */
    int is_closed;
    /* Connections of an earlier one are cut. */
    int generation;
    int is_done;
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER, .at = -1};

static inline int proxy_socket(int port, int listens)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (listens ? bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0
                : connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static inline int proxy_port(int fd)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    return getsockname(fd, (struct sockaddr *) &address, &length) == 0 ? ntohs(address.sin_port)
                                                                       : -1;
}

/* How many bytes of this direction may pass before something is to be done; and whether it is now.
   */
static inline long proxy_room(int way, int generation, int *now)
{
    long room = 1 << 16;
    pthread_mutex_lock(&proxy.lock);
    *now = generation != proxy.generation;
    if (!*now && proxy.at >= 0 && proxy.way == way) {
        long left = proxy.at - proxy.passed[way];
        if (left <= 0)
            *now = 1;
        else if (left < room)
            room = left;
    }
    pthread_mutex_unlock(&proxy.lock);
    return room;
}

/* Does what is planned, once; whether the connection goes on. */
static inline int proxy_do(int generation)
{
    enum proxy_act act;
    void (*call)(void);
    pthread_mutex_lock(&proxy.lock);
    act = generation != proxy.generation ? PROXY_CUT : proxy.at >= 0 ? proxy.act : PROXY_PASS;
    call = proxy.call;
    if (act != PROXY_HOLD)
        proxy.at = -1;
    if (act == PROXY_CUT)
        proxy.generation += generation == proxy.generation;
    pthread_mutex_unlock(&proxy.lock);
    if (act == PROXY_CALL)
        call();
    if (act == PROXY_HOLD)
        usleep(2000);
    return act != PROXY_CUT;
}

/* Passes on what has come from one end; whether there may be more. */
static inline int proxy_pass(int from, int to, int way, int generation)
{
    static __thread char bytes[1 << 16];
    int now;
    long room = proxy_room(way, generation, &now), got, sent, one;
    if (now)
        return proxy_do(generation);
    got = recv(from, bytes, (size_t)room, MSG_DONTWAIT);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    pthread_mutex_lock(&proxy.lock);
    proxy.passed[way] += got;
    pthread_mutex_unlock(&proxy.lock);
    for (sent = 0; sent < got; sent += one)
        if ((one = send(to, bytes + sent, (size_t)(got - sent), MSG_NOSIGNAL)) <= 0)
            return 0;
    return 1;
}

static inline void *proxy_connection(void *place)
{
    int client = (int) (long) place, server = proxy_socket(proxy.target, 0), generation,
        goes_on = server >= 0, now;
    pthread_mutex_lock(&proxy.lock);
    generation = proxy.generation;
    goes_on = goes_on && !proxy.is_closed;
    pthread_mutex_unlock(&proxy.lock);
    while (goes_on) {
        struct pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        poll(both, 2, 5);
        proxy_room(0, generation, &now);
        if (both[0].revents || now)
            goes_on = proxy_pass(client, server, 0, generation);
        proxy_room(1, generation, &now);
        if (goes_on && (both[1].revents || now))
            goes_on = proxy_pass(server, client, 1, generation);
    }
    close(client);
    if (server >= 0)
        close(server);
    return NULL;
}

static inline void *proxy_run(void *nothing)
{
    int client;
    pthread_t thread;
    (void)nothing;
    while ((client = accept(proxy.listener, NULL, NULL)) >= 0 && !proxy.is_done) {
        pthread_create(&thread, NULL, proxy_connection, (void *)(long)client);
        pthread_detach(thread);
    }
    return NULL;
}

/* Begins one before the server at this port of the loopback: its own port. */
static inline int proxy_begin(int target)
{
    pthread_t thread;
    proxy.target = target;
    proxy.listener = proxy_socket(0, 1);
    proxy.port = proxy_port(proxy.listener);
    pthread_create(&thread, NULL, proxy_run, NULL);
    pthread_detach(thread);
    return proxy.port;
}

/* What is to be done, and at which byte of which direction (0: to the server). Counts from here. */
static inline void proxy_plan(int way, long at, enum proxy_act act, void (*call)(void))
{
    pthread_mutex_lock(&proxy.lock);
    proxy.passed[0] = proxy.passed[1] = 0;
    proxy.way = way;
    proxy.at = at;
    proxy.act = act;
    proxy.call = call;
    pthread_mutex_unlock(&proxy.lock);
}

/* Cuts all connections. */
static inline void proxy_cut(void)
{
    pthread_mutex_lock(&proxy.lock);
    proxy.generation++;
    pthread_mutex_unlock(&proxy.lock);
}

/* Lets nobody through any more, or everybody again. */
static inline void proxy_close(int is_closed)
{
    pthread_mutex_lock(&proxy.lock);
    proxy.is_closed = is_closed;
    pthread_mutex_unlock(&proxy.lock);
}

static inline long proxy_passed(int way)
{
    long passed;
    pthread_mutex_lock(&proxy.lock);
    passed = proxy.passed[way];
    pthread_mutex_unlock(&proxy.lock);
    return passed;
}

#endif
