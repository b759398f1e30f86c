/* Code that tells which process runs it and when it was loaded; with THREADED, it runs a thread
   from the start. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int loader;
static char *left_over;

#ifdef THREADED
static void *idle(void *nothing)
{
    for (;;) pause();
    return nothing;
}
#endif

__attribute__((constructor)) static void load(void)
{
    loader = (int) getpid();
    left_over = malloc(1 << 20);
#ifdef THREADED
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
#endif
}

void whose(int milliseconds, int *loaded_by, int *parent, int *self)
{
    if (milliseconds > 0) {
        puts("here");
        fflush(stdout);
    }
    usleep((unsigned) milliseconds * 1000);
    *loaded_by = loader;
    *parent = (int) getppid();
    *self = (int) getpid();
}

void leave(int status) { _exit(status); }
