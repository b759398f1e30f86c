/* Tries what a module's code can reach: when the library is loaded, and again in a call. 0:
   reached; otherwise an error number. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* HOME_FILE, KEY_FILE, SHARED_FILE, SERVER_SOCKET and STRANGER are given by whoever compiles this.
   */

static int opened(const char *path, int flags)
{
    int file = open(path, flags | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    close(file);
    return 0;
}

static int done(long result) { return result < 0 ? errno : 0; }

static int made(int family, int type)
{
    int end = socket(family, type, 0);
    if (end < 0)
        return errno;
    close(end);
    return 0;
}

static int dialled(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SERVER_SOCKET};
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    int result = end < 0 ? errno : done(connect(end, (void *)&address, sizeof address));
    if (end >= 0)
        close(end);
    return result;
}

static int paired(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
        return errno;
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static int signalled_by_descriptor(void)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d", STRANGER);
    int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = process < 0 ? errno : done(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
    if (process >= 0)
        close(process);
    return result;
}

static int owner_set(void)
{
    int pair[2];
    if (pipe(pair) < 0)
        return errno;
    int result = done(fcntl(pair[0], F_SETOWN, STRANGER));
    if (!result)
        result = done(fcntl(pair[0], F_SETSIG, SIGUSR1));
    close(pair[0]);
    close(pair[1]);
    return result;
}

/* In a child: whether it can leave its session. */
static int left(void)
{
    int status = 0;
    pid_t child = fork();
    if (!child)
        _exit(setsid() < 0 ? errno : 0);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return errno;
    return WEXITSTATUS(status);
}

static int memory_read(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x10000, 1};
    return syscall(SYS_process_vm_readv, STRANGER, &here, 1, &there, 1, 0) < 0 && errno == EPERM
               ? EPERM
               : 0;
}

static int watched(void)
{
    int watch = inotify_init1(IN_CLOEXEC);
    char folder[] = HOME_FILE;
    if (watch < 0)
        return errno;
    *strrchr(folder, '/') = 0;
    int result = done(inotify_add_watch(watch, folder, IN_CREATE));
    close(watch);
    return result;
}

/* Of this library itself: a file that it reads. */
static int flagged(void)
{
    Dl_info own;
    int flags = 0;
    int file = dladdr((void *)flagged, &own) ? open(own.dli_fname, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return errno ? errno : ENOENT;
    int result = done(ioctl(file, FS_IOC_GETFLAGS, &flags));
    if (!result)
        result = done(ioctl(file, FS_IOC_SETFLAGS, &flags));
    close(file);
    return result;
}

/* What can be asked without a segment, a set or a queue of anybody's. */
static int used_by_number(void)
{
    struct shm_info memory;
    struct seminfo semaphores;
    struct msginfo messages;
    int result = done(shmctl(0, SHM_INFO, (void *)&memory));
    if (!result)
        result = done(semctl(0, 0, SEM_INFO, &semaphores));
    if (!result)
        result = done(msgctl(0, MSG_INFO, (void *)&messages));
    if (!result && syscall(SYS_mq_unlink, "farcall-reach-nobodys") < 0 && errno != ENOENT)
        result = errno;
    return result;
}

static int pinned(void)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    sched_getaffinity(STRANGER, sizeof all, &all);
    return done(syscall(SYS_sched_setaffinity, STRANGER, sizeof all, &all));
}


static int tried(const char *name)
{
    char path[60];
    if (!strcmp(name, "read-passwd"))
        return opened("/etc/passwd", O_RDONLY);
    if (!strcmp(name, "read-home"))
        return opened(HOME_FILE, O_RDONLY);
    if (!strcmp(name, "write-home"))
        return opened(HOME_FILE, O_WRONLY);
    if (!strcmp(name, "read-key"))
        return opened(KEY_FILE, O_RDONLY);
    if (!strcmp(name, "read-shared-memory"))
        return opened(SHARED_FILE, O_RDONLY);
    if (!strcmp(name, "read-environment")) {
        snprintf(path, sizeof path, "/proc/%d/environ", STRANGER);
        return opened(path, O_RDONLY);
    }
    if (!strcmp(name, "write-folder"))
        return opened("mark", O_WRONLY | O_CREAT);
    if (!strcmp(name, "network"))
        return made(AF_INET, SOCK_STREAM);
    if (!strcmp(name, "unix-socket"))
        return made(AF_UNIX, SOCK_STREAM);
    if (!strcmp(name, "servers-socket"))
        return dialled();
    if (!strcmp(name, "datagram-pair"))
        return paired();
    if (!strcmp(name, "signal"))
        return done(kill(STRANGER, 0));
    if (!strcmp(name, "signal-server"))
        return done(kill(getppid(), 0));
    if (!strcmp(name, "signal-by-descriptor"))
        return signalled_by_descriptor();
    if (!strcmp(name, "signal-by-thread"))
        return done(syscall(SYS_tkill, STRANGER, 0));
    if (!strcmp(name, "signal-by-owner"))
        return owner_set();
    if (!strcmp(name, "trace"))
        return memory_read();
    if (!strcmp(name, "leave-session"))
        return left();
    if (!strcmp(name, "watch-folder"))
        return watched();
    if (!strcmp(name, "set-flags"))
        return flagged();
    if (!strcmp(name, "system-v"))
        return used_by_number();
    if (!strcmp(name, "processors"))
        return pinned();
    return -1;
}

static const char *names[] = {"read-passwd", "read-home", "write-home", "read-key",
    "read-shared-memory", "read-environment", "write-folder", "network", "unix-socket",
    "servers-socket", "datagram-pair", "signal", "signal-server", "signal-by-descriptor",
    "signal-by-thread", "signal-by-owner", "trace", "leave-session", "watch-folder", "set-flags",
    "system-v", "processors"};
enum { COUNT = sizeof names / sizeof *names };
static int at_load[COUNT];

__attribute__((constructor)) static void load(void)
{
    for (int each = 0; each < COUNT; each++)
        at_load[each] = tried(names[each]);
}

/* `loaded`: as it was when this library was loaded; otherwise now. -1 for a name that is not known.
   */
int reach(const char *name, int loaded)
{
    for (int each = 0; each < COUNT; each++)
        if (!strcmp(names[each], name))
            return loaded ? at_load[each] : tried(name);
    return -1;
}

void reached(const char *name, int loaded, int *error) { *error = reach(name, loaded); }
