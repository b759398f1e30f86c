/* The C side of trouble.idl. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void crash(int n)
{
    fprintf(stderr, "about to crash, n = %d\n", n);
    *(volatile int *) 8 = n;
}

void leave(int status)
{
    fprintf(stderr, "no licence found\n");
    exit(status);
}

void give_up(void) { abort(); }

void flood(int lines, int *done)
{
    for (int i = 0; i < lines; i++)
        fprintf(
            stderr, "warning %d: the matrix is nearly singular, as far as anyone can tell\n", i);
    *done = lines;
}

void print(int lines, int *done)
{
    for (int i = 0; i < lines; i++) printf("iteration %d\n", i);
    /* Standard input is at its end, and not the connection. */
    *done = getchar() == EOF ? lines : -1;
}

void forever(int deaf)
{
    if (deaf) signal(SIGTERM, SIG_IGN);
    for (volatile int i = 0;; i++) {}
}

void breed(int *pid)
{
    *pid = (int) fork();
    if (*pid == 0)
        for (;;) pause();
    abort();
}

void fine(int n, int *m) { *m = n; }

void hold(long n, double *x, int milliseconds)
{
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000L };
    nanosleep(&time, NULL);
    if (n > 0) x[0] += 1;
}

void untouched(long n, double *x)
{
    (void) n;
    (void) x;
}

void chat(int steps, int milliseconds, int *done)
{
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000L };
    for (int i = 1; i <= steps; i++) {
        printf("step %d\n", i);
        nanosleep(&time, NULL);
    }
    fprintf(stderr, "converged\n");
    /* Without the end of its line: it leaves when the routine returns. */
    printf("bye");
    *done = steps;
}
