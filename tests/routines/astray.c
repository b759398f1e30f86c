/* The C side of astray.idl. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int no_routine = 5;

void fork_and_return(int *pid) { *pid = (int) fork(); }

void close_all(int *closed)
{
    *closed = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor++) *closed += close(descriptor) == 0;
    /* What comes next has no connection to be reported on; whoever ends this process must say why.
       */
    for (;;) pause();
}

void remark(int *n)
{
    *n = fprintf(stderr, "a remark of an earlier call\n");
}

void crash(int n)
{
    fprintf(stderr, "crashing\n");
    *(volatile int *) 8 = n;
}

void write_to_nobody(int *error)
{
    int ends[2];
    if (pipe(ends) != 0) return;
    close(ends[0]);
    *error = write(ends[1], "x", 1) == 1 ? 0 : errno;
}
