/* Code of heard.idl. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <farcall-executable.h>
#include <grpc_executable.h>

static void *ask_elsewhere(void *seen)
{
    while (!(*(int *)seen = farcall_is_cancelled())) usleep(1000);
    return NULL;
}

void watch(int how, int *seen)
{
    int error = 7;
    printf("watching\n");
    fflush(stdout);
    for (*seen = 0; !*seen; usleep(1000)) {
        if (how == 1) *seen = farcall_is_cancelled();
        if (how == 2) *seen = grpc_is_canceled_np(&error);
        if (how == 3) *seen = ngexIsCanceled(NULL);
        if (how == 4) *seen = ngstb_is_canceled();
        if (how == 5) {
            pthread_t thread;
            pthread_create(&thread, NULL, ask_elsewhere, seen);
            pthread_join(thread, NULL);
        }
    }
    fprintf(stderr, "heard %d\n", how == 2 ? error : 0);
}

void advance(int steps, int milliseconds, int *told)
{
    char words[32];
    *told = 0;
    for (int step = 1; step <= steps; step++) {
        usleep(milliseconds * 1000);
        snprintf(words, sizeof words, "step %d of %d", step, steps);
        *told += farcall_progress((double)step / steps, words) == 0;
    }
}

void alive_pid(int *pid) { *pid = getpid(); }
