/* A library that does something when it is opened: what, says WHAT. */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

int answer(void)
{
    return 42;
}

#if WHAT == 0
/* Ends the process where it may do more than a routine. */
__attribute__((constructor)) static void load(void)
{
    struct rlimit core, processor;
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_CPU, &processor);
    if (open(FILE_OF_OTHERS, O_WRONLY | O_CREAT, 0600) >= 0)
        _exit(11);
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
        _exit(12);
    if (kill(getppid(), SIGTERM) == 0 || setsid() >= 0)
        _exit(13);
    if (core.rlim_max > 1 || processor.rlim_cur > 60)
        _exit(14);
}
#elif WHAT == 2
/* Never done in an executable or the process that it is forked from; at once when the library is
   checked. */
__attribute__((constructor)) static void load(void)
{
    while (getenv("FARCALL_ZYGOTE") || getenv("FARCALL_SOCKET"))
        ;
}
#else
/* Never done. */
__attribute__((constructor)) static void load(void)
{
    for (;;)
        pause();
}
#endif
