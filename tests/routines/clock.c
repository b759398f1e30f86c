/* clock.c: loaded before a program, sets its clock $CLOCK_AHEAD seconds ahead: a host whose clock
   is years off. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t which, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, which, now);
    const char *ahead = getenv("CLOCK_AHEAD");
    if (!status && which == CLOCK_REALTIME && ahead)
        now->tv_sec += atoll(ahead);
    return (int)status;
}
