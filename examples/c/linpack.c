/* Linpack: solves A x = b by dgesv, here and on a server, as figures 3 to 5 of the Ninf paper do.
 *
 * Usage: linpack ADDRESS [--csv] [n…]       cc -O2 -std=gnu11 linpack.c -o linpack -lfarcall -ldl
 * -lm
 *
 * The local times are those of libopenblas.so.0, if this machine has one. Throughput counts A and b
 * out, and LU, pivots and x back. The residual is ||A x - b|| / (eps (||A|| ||x|| + ||b||) n) in
 * the infinity norm; above 16 the program fails.
 */
#include <dlfcn.h>
#include <farcall.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RESIDUAL_MAX 16.0

/* LAPACK's Fortran interface. */
typedef void dgesv_function(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv,
    double *b, const int *ldb, int *info);

struct problem {
    int n;
    double *matrix, *right; /* as made */
    double *a, *b;          /* what dgesv overwrites */
    int *ipiv;
};

struct row {
    double local_seconds, remote_seconds, residual; /* local: 0 where there is no library */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory) {
        fprintf(stderr, "linpack: there is not enough memory\n");
        exit(1);
    }
    return memory;
}

/* Numbers between -0.5 and 0.5, the same in every run. */
static void make(struct problem *problem, int n)
{
    unsigned long long seed = 1997;
    size_t index, elements = (size_t)n * (size_t)n;
    problem->n = n;
    problem->matrix = allocate(elements, sizeof(double));
    problem->a = allocate(elements, sizeof(double));
    problem->right = allocate((size_t)n, sizeof(double));
    problem->b = allocate((size_t)n, sizeof(double));
    problem->ipiv = allocate((size_t)n, sizeof(int));
    for (index = 0; index < elements + (size_t)n; index++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        double number = (double)(seed >> 11) * 0x1p-53 - 0.5;
        if (index < elements)
            problem->matrix[index] = number;
        else
            problem->right[index - elements] = number;
    }
}

static void release(struct problem *problem)
{
    free(problem->matrix);
    free(problem->right);
    free(problem->a);
    free(problem->b);
    free(problem->ipiv);
}

static void restore(struct problem *problem)
{
    size_t n = (size_t)problem->n;
    memcpy(problem->a, problem->matrix, n * n * sizeof(double));
    memcpy(problem->b, problem->right, n * sizeof(double));
}

static void solve_locally(dgesv_function *dgesv, struct problem *problem)
{
    int one = 1, info = -1;
    dgesv(
        &problem->n, &one, problem->a, &problem->n, problem->ipiv, problem->b, &problem->n, &info);
    if (info != 0) {
        fprintf(stderr, "linpack: the local dgesv gives info = %d\n", info);
        exit(1);
    }
}

static void solve_remotely(farcall_client *client, struct problem *problem)
{
    int n = problem->n, info = -1;
    double *a = problem->a, *b = problem->b;
    farcall_error *error;
    if (farcall_call(client, &error, "lapack/dgesv", n, 1, a, n, problem->ipiv, b, n, &info) !=
        FARCALL_OK) {
        fprintf(stderr, "linpack: %s\n", farcall_error_message(error));
        exit(1);
    }
    if (info != 0) {
        fprintf(stderr, "linpack: the remote dgesv gives info = %d\n", info);
        exit(1);
    }
}

static double residual(const struct problem *problem)
{
    double norm_matrix = 0, norm_x = 0, norm_right = 0, error = 0;
    int row, column, n = problem->n;
    for (row = 0; row < n; row++) {
        double sum = 0, difference = -problem->right[row];
        for (column = 0; column < n; column++) {
            double element = problem->matrix[(size_t)column * (size_t)n + (size_t)row];
            sum += fabs(element);
            difference += element * problem->b[column];
        }
        norm_matrix = fmax(norm_matrix, sum);
        norm_x = fmax(norm_x, fabs(problem->b[row]));
        norm_right = fmax(norm_right, fabs(problem->right[row]));
        error = fmax(error, fabs(difference));
    }
    return error / (DBL_EPSILON * (norm_matrix * norm_x + norm_right) * n);
}

/* The best of several runs each, in turn, so that both see the same machine. */
static struct row measure(farcall_client *client, dgesv_function *dgesv, int n)
{
    struct problem problem;
    struct row row = {dgesv ? INFINITY : 0, INFINITY, 0};
    int run, runs = n <= 400 ? 9 : 5;
    make(&problem, n);
    for (run = 0; run < runs; run++) {
        double begin;
        if (dgesv) {
            restore(&problem);
            begin = now();
            solve_locally(dgesv, &problem);
            row.local_seconds = fmin(row.local_seconds, now() - begin);
        }
        restore(&problem);
        begin = now();
        solve_remotely(client, &problem);
        row.remote_seconds = fmin(row.remote_seconds, now() - begin);
        row.residual = fmax(row.residual, residual(&problem));
    }
    release(&problem);
    return row;
}

static void print_row(int n, const struct row *row, int csv)
{
    double order = n, flops = 2.0 / 3.0 * order * order * order + 2 * order * order;
    double bytes = 16 * order * order + 20 * order;
    double local = row->local_seconds > 0 ? flops / row->local_seconds * 1e-6 : 0;
    double remote = flops / row->remote_seconds * 1e-6, moved = bytes / row->remote_seconds * 1e-6;
    if (csv)
        printf("%d,%.9f,%.9f,%.3f,%.3f,%.3f,%.4f\n", n, row->local_seconds, row->remote_seconds,
            local, remote, moved, row->residual);
    else
        printf("%6d %13.0f %14.0f %13.2f %11.0f %9.3f\n", n, local, remote,
            local > 0 ? remote / local : 0, moved, row->residual);
    fflush(stdout);
}

static void print_head(int csv)
{
    if (csv)
        puts("n,local_seconds,remote_seconds,local_mflops,remote_mflops,megabytes_per_second,"
             "residual");
    else
        printf("%6s %13s %14s %13s %11s %9s\n", "n", "local Mflops", "remote Mflops",
            "remote/local", "MB/s moved", "residual");
}

/* One size; 0 if its answer is right. */
static int linpack(farcall_client *client, dgesv_function *dgesv, int n, int csv)
{
    struct row row;
    if (n < 1 || n > 20000) {
        fprintf(stderr, "linpack: %d is no order of a matrix, write one from 1 to 20000\n", n);
        return 1;
    }
    row = measure(client, dgesv, n);
    print_row(n, &row, csv);
    if (row.residual < RESIDUAL_MAX)
        return 0;
    fprintf(
        stderr, "linpack: the solution for n = %d is wrong, its residual is %g\n", n, row.residual);
    return 1;
}

static dgesv_function *local_dgesv(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    void *symbol = library ? dlsym(library, "dgesv_") : NULL;
    dgesv_function *function;
    memcpy(&function, &symbol, sizeof function); /* ISO C does not convert between the two */
    return function;
}

int main(int count, char **words)
{
    static const int usual[] = {100, 200, 400, 600, 800, 1000, 1200, 1400, 1600};
    farcall_client *client;
    farcall_error *error;
    int index, csv = 0, sizes = 0, failed = 0;
    if (count < 2) {
        fprintf(stderr, "usage: linpack ADDRESS [--csv] [n...]\n");
        return 2;
    }
    if (farcall_connect(words[1], &client, &error) != FARCALL_OK) {
        fprintf(stderr, "linpack: %s\n", farcall_error_message(error));
        farcall_error_free(error);
        return 1;
    }
    for (index = 2; index < count; index++)
        csv |= strcmp(words[index], "--csv") == 0;
    print_head(csv);
    for (index = 2; index < count; index++)
        if (strcmp(words[index], "--csv") != 0 && ++sizes)
            failed |= linpack(client, local_dgesv(), atoi(words[index]), csv);
    for (index = 0; sizes == 0 && index < (int)(sizeof usual / sizeof *usual); index++)
        failed |= linpack(client, local_dgesv(), usual[index], csv);
    farcall_disconnect(client);
    return failed;
}
