/* The C side of nested.idl and inner.idl. */
#define _GNU_SOURCE
#include <errno.h>
#include <farcall.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void ask(const char *name, int n, int *m, int *kind, char *words)
{
    farcall_client *server = NULL;
    farcall_error *error = NULL;
    *kind = farcall_running_server(&server, &error);
    if (*kind == 0) *kind = farcall_call_variadic(server, &error, name, n, m);
    if (*kind != 0) {
        *kind = farcall_error_kind(error);
        snprintf(words, 400, "%s", farcall_error_message(error));
    }
    farcall_error_free(error);
    farcall_disconnect(server);
}

void deep(int n, int *m)
{
    farcall_client *server = NULL;
    int below = 0;
    *m = 0;
    if (n == 0 || farcall_running_server(&server, NULL) != 0) return;
    if (farcall_call_variadic(server, NULL, "outer/deep", n - 1, &below) == 0) *m = below + 1;
    farcall_disconnect(server);
}

void keep(int n, int *m)
{
    static farcall_client *kept;
    farcall_error *error = NULL;
    int twice = 0;
    if (kept == NULL) farcall_running_server(&kept, NULL);
    *m = farcall_call_variadic(kept, &error, "inner/twice", n, &twice) == 0
             ? 0
             : farcall_error_kind(error);
    if (error != NULL) fprintf(stderr, "%s\n", farcall_error_message(error));
    farcall_error_free(error);
}

void array(long n, double *x, double *y)
{
    farcall_client *server = NULL;
    if (farcall_running_server(&server, NULL) != 0) return;
    farcall_call_variadic(server, NULL, "inner/scale", n, x, y);
    farcall_disconnect(server);
}

void by_child(int n, int *m)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        farcall_client *server = NULL;
        farcall_error *error = NULL;
        _exit(farcall_running_server(&server, &error) == 0 ? 0 : farcall_error_kind(error));
    }
    waitpid(child, &status, 0);
    *m = WEXITSTATUS(status);
}

void sockets(int n, int *m)
{
    int made = socket(AF_INET, SOCK_STREAM, 0);
    *m = made < 0 ? errno : 0;
    if (made >= 0) close(made);
}

void leak(int n, int *m)
{
    for (*m = 0; *m < n; ++*m) {
        farcall_client *server = NULL;
        if (farcall_running_server(&server, NULL) != 0) return;
    }
}

void twice(int n, int *m) { *m = 2 * n; }

void crash(int n, int *m) { *(volatile int *) 8 = n; }

void nap(int n, int *m)
{
    struct timespec time = { n / 1000, n % 1000 * 1000000L };
    nanosleep(&time, NULL);
    *m = n;
}

void scale(long n, double *x, double *y)
{
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}
