/* Code of back.idl. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <farcall-executable.h>

typedef struct { float r, i; } scomplex;
typedef struct { double r, i; } dcomplex;

void apply(long n, double *x, double *y, void (*f)(long, double *, double *)) { f(n, x, y); }

void wide(double *sum,
    void (*f)(char, short, int, long, float, double, scomplex, dcomplex, int, int, int, int, int,
        int, int, int, double, double, double, double, double, double, double, double, long, long,
        long, long, long, long, long, long, int *, double *))
{
    int count = 7;
    scomplex z = {1.5f, -2.5f};
    dcomplex w = {0.25, 4};
    double total = 0;
    f('A', -2, 3, 1L << 40, 0.5f, -0.125, z, w, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1,
        2, 3, 4, 5, 6, 7, 8, &count, &total);
    *sum = total + count;
}

void words(char **all, int n, void (*f)(int, char **, char *, char **, char **))
{
    char *given[] = {"one", NULL, "", "vier"}, *answer = NULL, *others[2] = {NULL, NULL};
    static char text[256];
    f(n, given, "hello", &answer, others);
    snprintf(text, sizeof text, "%s|%s|%s", answer ? answer : "(null)",
        others[0] ? others[0] : "(null)", others[1] ? others[1] : "(null)");
    free(answer);
    free(others[0]);
    free(others[1]);
    *all = text;
}

struct work { int thread, each; long sum; void (*f)(int, long, long *); };

static void *work(void *given)
{
    struct work *work = given;
    for (long value = 1; value <= work->each; value++) {
        long result = 0;
        work->f(work->thread, value, &result);
        work->sum += result;
    }
    return NULL;
}

void threads(int count, int each, long *sum, void (*f)(int, long, long *))
{
    pthread_t thread[64];
    struct work works[64];
    *sum = 0;
    for (int i = 0; i < count; i++) {
        works[i] = (struct work){i, each, 0, f};
        pthread_create(&thread[i], NULL, work, &works[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
        *sum += works[i].sum;
    }
}

void two(int n, int *m, void (*f)(int, int *), void (*g)(int, int *))
{
    *m = n;
    if (f) f(*m, m);
    if (g) g(*m, m);
}

void careful(int times, int *failed, void (*f)(int))
{
    *failed = 0;
    for (int i = 0; i < times; i++) {
        f(i);
        *failed += farcall_callback_failed();
    }
}

void careless(int times, void (*f)(int))
{
    for (int i = 0; i < times; i++) f(i);
}

static void (*kept)(int);

static void *call_later(void *milliseconds)
{
    usleep((long)milliseconds * 1000);
    kept(1);
    return NULL;
}

void late(int milliseconds, void (*f)(int))
{
    pthread_t thread;
    kept = f;
    pthread_create(&thread, NULL, call_later, (void *)(long)milliseconds);
    pthread_detach(thread);
}

static void *die_later(void *milliseconds)
{
    usleep((long)milliseconds * 1000);
    abort();
}

void dies(int milliseconds, void (*f)(int))
{
    pthread_t thread;
    pthread_create(&thread, NULL, die_later, (void *)(long)milliseconds);
    f(1);
    pthread_join(thread, NULL);
}

void some(int n, int *found, void (*f)(int, int *, double *, int *))
{
    double x[100];
    int m = -1, said = 0;
    for (int i = 0; i < n; i++) x[i] = -1;
    f(n, &m, x, &said);
    *found = m * 1000 + said;
    for (int i = 0; i < n; i++) *found += x[i] == (i < m ? i : -1) ? 0 : 100000;
}

void inner(int n, int *m, void (*f)(int, int *)) { f(n, m); }
