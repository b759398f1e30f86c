/* Routines that take more than they are given, one thing each. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Uses processor time and does not end. */
void burn(int n)
{
    for (volatile int i = n;; i++) {}
}

/* Takes memory until there is none; says how many megabytes it got, or writes to what it did not
   get. */
void leak(int careless, int *megabytes)
{
    for (*megabytes = 0;; ++*megabytes) {
        char *more = malloc(1 << 20);
        if (more == NULL && !careless) return;
        memset(more, 1, 1 << 20);
    }
}

static void *idle(void *nothing)
{
    for (;;) pause();
    return nothing;
}

/* Forks, or starts threads, as often as it can. */
void breed(int threads, int *children)
{
    for (*children = 0;; ++*children) {
        pthread_t thread;
        if (threads) {
            if (pthread_create(&thread, NULL, idle, NULL) != 0) return;
            continue;
        }
        int child = fork();
        if (child < 0) return;
        if (child == 0) for (;;) pause();
    }
}

/* Writes megabytes to `file`, relative to where it runs. Says how many; -errno where it cannot
   begin. */
void fill(const char *file, int megabytes, int *written)
{
    char *block = calloc(1, 1 << 20);
    int place = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (place < 0) { *written = -errno; free(block); return; }
    for (*written = 0; *written < megabytes && write(place, block, 1 << 20) == 1 << 20;
        ++*written) {
    }
    close(place);
    free(block);
}

/* 0, or the error of opening a file to be read. */
void look(const char *file, int *error)
{
    int place = open(file, O_RDONLY);
    *error = place < 0 ? errno : 0;
    if (place >= 0) close(place);
}

/* 0, or the error of making a socket of this family; with family 0, of a pair of them. */
void connect_out(int family, int *error)
{
    int pair[2], end = family == 0 ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair)
                                   : socket(family, SOCK_STREAM, 0);
    *error = end < 0 ? errno : 0;
}

/* The same by the numbers of the other set of system calls; ENOSYS where the kernel has none. */
void connect_by_x32(int *error)
{
#ifdef __x86_64__
    *error = syscall(SYS_socket | 0x40000000, AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
#else
    *error = ENOSYS;
#endif
}

/* The errors of signals to the parent, to all, and to `other`; and of tracing the parent. */
void strike(int other, int error[4])
{
    error[0] = kill(getppid(), SIGKILL) < 0 ? errno : 0;
    error[1] = kill(-1, 0) < 0 ? errno : 0;
    error[2] = kill(other, SIGKILL) < 0 ? errno : 0;
    error[3] = ptrace(PTRACE_SEIZE, getppid(), 0, 0) < 0 ? errno : 0;
}

/* Changes what a file's owner may change, by its name and through a descriptor; and makes one that
   runs as its owner. */
void tamper(const char *file, int error[11])
{
    int flags = 0x40; /* FS_NODUMP_FL */
    struct timespec times[2] = {{1, 0}, {1, 0}};
    int open_file = open(file, O_RDONLY);
    error[0] = chmod(file, 0777) < 0 ? errno : 0;
    error[1] = fchmodat(AT_FDCWD, file, 0777, 0) < 0 ? errno : 0;
    error[2] = open_file >= 0 && fchmod(open_file, 0777) < 0 ? errno : 0;
    error[3] = utimensat(AT_FDCWD, file, times, 0) < 0 ? errno : 0;
    error[4] = chmod(file, 04755) < 0 ? errno : 0;
    error[5] = chown(file, getuid(), getgid()) < 0 ? errno : 0;
    error[6] = setxattr(file, "user.farcall", "1", 1, 0) < 0 ? errno : 0;
    error[7] = open("runs-as-owner", O_CREAT | O_WRONLY, 04755) < 0 ? errno : 0;
    error[8] = syscall(452 /* fchmodat2 */, AT_FDCWD, file, 0777, 0) < 0 ? errno : 0;
    error[9] = syscall(SYS_utimensat, open_file, NULL, times, 0) < 0 ? errno : 0;
    error[10] = ioctl(open_file, FS_IOC_SETFLAGS, &flags) < 0 ? errno : 0;
    if (open_file >= 0) close(open_file);
}

/* Tries to become more than it is, to slow those down that it depends on, and to leave memory
   behind. */
void regain(int error[10])
{
    cpu_set_t processors;
    struct rlimit limit;
    sched_getaffinity(0, sizeof processors, &processors);
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    error[1] = child < 0 ? errno : 0;
    if (child == 0) _exit(0);
    error[0] = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
    error[2] = syscall(SYS_clone3, NULL, 0) < 0 ? errno : 0;
    error[3] = setpriority(PRIO_PROCESS, getppid(), 15) < 0 ? errno : 0;
    error[4] = sched_setaffinity(getppid(), sizeof processors, &processors) < 0 ? errno : 0;
    error[5] = prlimit(getppid(), RLIMIT_CORE, NULL, &limit) < 0 ? errno : 0;
    error[6] = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) < 0 ? errno : 0;
    /* It grows by itself, and is counted as a stack. */
    error[9] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN,
                   -1, 0) == MAP_FAILED
                   ? errno
                   : 0;
    error[7] = pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
    error[8] = setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) < 0 ? errno : 0;
}

/* Leaves a process behind that has tried to leave the group twice over. */
void escape(int *pid, int error[2])
{
    int ends[2], told[3];
    if (pipe(ends) < 0) abort();
    if (fork() == 0) {
        told[1] = setsid() < 0 ? errno : 0;
        if (fork() == 0) {
            told[0] = (int) getpid();
            told[2] = setpgid(0, 0) < 0 ? errno : 0;
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            if (write(ends[1], told, sizeof told) < 0) abort();
            for (;;) pause();
        }
        _exit(0);
    }
    if (read(ends[0], told, sizeof told) != sizeof told) abort();
    wait(NULL);
    *pid = told[0];
    error[0] = told[1];
    error[1] = told[2];
}

void leave(int status) { _exit(status); }

/* Makes so many folders, each in the one before, in the folder that this process's files have, and
   ends. */
void dig(int depth)
{
    char name[40];
    snprintf(name, sizeof name, "files-%d", (int) getpid());
    mkdir(name, 0700);
    if (chdir(name) < 0) abort();
    int top = open(".", O_RDONLY | O_DIRECTORY), bottom = dup(top);
    /* Landlock walks up from a folder with each call that makes one: short chains are made and hung
       below one another. */
    for (int at_once = 250; depth > 0; depth -= at_once) {
        if (fchdir(top) < 0 || mkdir("next", 0700) < 0 || chdir("next") < 0) abort();
        for (int level = 1; level < at_once; level++)
            if (mkdir("d", 0700) < 0 || chdir("d") < 0) abort();
        int end = open(".", O_RDONLY | O_DIRECTORY);
        if (end < 0 || renameat(top, "next", bottom, "d") < 0 || close(bottom) < 0) abort();
        bottom = end;
    }
    _exit(3);
}

/* A child that ignores what ends a call, and uses the processor on and on; its own children have no
   parent. */
void burn_on(int *pid)
{
    int ends[2], told = 0;
    if (pipe(ends) < 0) abort();
    if (fork() == 0) {
        if (fork() == 0) {
            signal(SIGXCPU, SIG_IGN);
            told = (int) getpid();
            if (write(ends[1], &told, sizeof told) < 0) abort();
            for (volatile long turns = 0;; turns++) {}
        }
        _exit(0);
    }
    if (read(ends[0], &told, sizeof told) != sizeof told) abort();
    wait(NULL);
    *pid = told;
}

/* What a process is left with: user, no new privileges, largest core, variables of these names,
   threads, processors. */
void self(const char *variable, int *user, int *privileges, int *core, int *set, int *threads,
    int *processors)
{
    struct rlimit limit;
    cpu_set_t own;
    getrlimit(RLIMIT_CORE, &limit);
    sched_getaffinity(0, sizeof own, &own);
    *user = (int) getuid();
    *privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    *core = (int) limit.rlim_cur;
    *set = getenv(variable) != NULL;
    *threads = getenv("OMP_NUM_THREADS") ? atoi(getenv("OMP_NUM_THREADS")) : -1;
    *processors = CPU_COUNT(&own);
}
