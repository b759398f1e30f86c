/* Routines that take memory which they share with themselves: no rlimit of private memory counts
   it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static void *mapped(int file, size_t bytes)
{
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        return MAP_FAILED;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

/* By way number `way`: how many megabytes it got, -1 for none. */
void share(int way, int megabytes, int *got)
{
    size_t bytes = (size_t)megabytes << 20;
    void *room = MAP_FAILED;
    int number;

    *got = -1;
    switch (way) {
    case 0:
        room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        break;
    case 1: room = mapped(memfd_create("share", 0), bytes); break;
    case 2:
        room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/zero", O_RDWR), 0);
        break;
    case 3:
        number = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
        room = number < 0 ? MAP_FAILED : shmat(number, NULL, 0);
        if (number >= 0)
            shmctl(number, IPC_RMID, NULL);
        break;
    case 4: {
        /* In many small pieces, each of which is below any limit of one file. */
        for (number = 0; number < megabytes; number++) {
            room = mapped(memfd_create("share", 0), 1 << 20);
            if (room == MAP_FAILED)
                return;
            memset(room, 1, 1 << 20);
        }
        *got = megabytes;
        return;
    }
    }
    if (room == MAP_FAILED)
        return;
    memset(room, 1, bytes);
    *got = megabytes;
}

/* Reads all of one array and writes all of another. */
void twice(long n, const double *x, double *y)
{
    for (long i = 0; i < n; i++)
        y[i] = 2 * x[i];
}

void four(const double *x, double *y)
{
    twice(4, x, y);
}
