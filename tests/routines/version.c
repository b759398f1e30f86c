/* A library that says which one it is: at once, or after a while. */
#include <unistd.h>

int version(void) { return VERSION; }

int late(int milliseconds)
{
    usleep((unsigned) milliseconds * 1000);
    return VERSION;
}
