/* A link between two network namespaces: packets of one TUN device come out of another, at most so
   many bytes a second in each direction, each so much later. This kernel has no netem. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_BYTES_MAX = 65536, READ_AT_ONCE = 64 };

static const char USAGE[] =
    "usage: wan NETNS DEVICE NETNS DEVICE BYTES_PER_SECOND DELAY_MS QUEUE_BYTES\n"
    "\n"
    "Makes a TUN device in each of two network namespaces, prints \"ready\", and passes\n"
    "packets on. A line \"rate BYTES_PER_SECOND\" of the standard input changes the rate.\n"
    "Ends with its standard input.\n";

struct packet {
    struct packet *next;
    double due;
    size_t bytes;
    char data[];
};

/* One direction. */
struct direction {
    int from, to;
    struct packet *first, **last;
    /* Bytes that wait for the link, and when it is free. Those on their way are not counted. */
    double free_at;
};

static double rate, delay;
static double queue_bytes;

static void fail(const char *what)
{
    fprintf(stderr, "wan: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

/* A TUN device in a namespace. */
static int tun(const char *namespace, const char *device)
{
    char path[256];
    snprintf(path, sizeof path, "/var/run/netns/%s", namespace);
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    if (home < 0 || there < 0 || setns(there, CLONE_NEWNET) < 0)
        fail(path);
    int made = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    if (made < 0 || ioctl(made, TUNSETIFF, &request) < 0)
        fail(device);
    if (setns(home, CLONE_NEWNET) < 0)
        fail("return to the own namespace");
    close(home);
    close(there);
    return made;
}

/* Takes what has come. A packet that finds the queue full is lost, as in a router. */
static void take(struct direction *way)
{
    static char buffer[PACKET_BYTES_MAX];
    for (int count = 0; count < READ_AT_ONCE; count++) {
        ssize_t got = read(way->from, buffer, sizeof buffer);
        if (got <= 0)
            return;
        double time = now();
        if (way->free_at < time)
            way->free_at = time;
        if ((way->free_at - time) * rate > queue_bytes)
            continue;
        struct packet *packet = malloc(sizeof *packet + (size_t) got);
        if (!packet)
            fail("keep a packet");
        way->free_at += (double) got / rate;
        *packet = (struct packet) {.due = way->free_at + delay, .bytes = (size_t) got};
        memcpy(packet->data, buffer, (size_t) got);
        *way->last = packet;
        way->last = &packet->next;
    }
}

/* Gives what is due. */
static void give(struct direction *way)
{
    while (way->first && way->first->due <= now()) {
        struct packet *packet = way->first;
        /* A device that takes nothing loses the packet, as in a router. */
        ssize_t sent = write(way->to, packet->data, packet->bytes);
        (void) sent;
        way->first = packet->next;
        if (!way->first)
            way->last = &way->first;
        free(packet);
    }
}

/* Reads a command; 0 at the end of the standard input. */
static int command(void)
{
    static char line[128];
    static size_t have;
    ssize_t got = read(0, line + have, sizeof line - 1 - have);
    if (got <= 0)
        return 0;
    have += (size_t) got;
    line[have] = 0;
    if (!strchr(line, '\n') && have < sizeof line - 1)
        return 1;
    double wanted;
    if (sscanf(line, "rate %lf", &wanted) == 1 && wanted >= 1)
        rate = wanted;
    have = 0;
    return 1;
}

int main(int count, char **words)
{
    if (count != 8) {
        fputs(USAGE, stderr);
        return 2;
    }
    rate = atof(words[5]);
    delay = atof(words[6]) / 1e3;
    queue_bytes = atof(words[7]);
    if (!(rate >= 1) || !(delay >= 0) || !(queue_bytes >= 0)) {
        fputs(USAGE, stderr);
        return 2;
    }
    int one = tun(words[1], words[2]), other = tun(words[3], words[4]);
    struct direction ways[2] = {{.from = one, .to = other}, {.from = other, .to = one}};
    for (int way = 0; way < 2; way++)
        ways[way].last = &ways[way].first;
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd watched[3] = {{one, POLLIN, 0}, {other, POLLIN, 0}, {0, POLLIN, 0}};
        double due = 1e18;
        for (int way = 0; way < 2; way++)
            if (ways[way].first && ways[way].first->due < due)
                due = ways[way].first->due;
        double left = due - now();
        left = left < 0 ? 0 : left > 1 ? 1 : left;
        struct timespec time = {(time_t) left, (long) ((left - (double) (time_t) left) * 1e9)};
        if (ppoll(watched, 3, &time, NULL) < 0 && errno != EINTR)
            fail("wait");
        for (int way = 0; way < 2; way++) {
            if (watched[way].revents)
                take(&ways[way]);
            give(&ways[way]);
        }
        if (watched[2].revents && !command())
            return 0;
    }
}
