/* cholesky.c: the tile Cholesky factorisation of cholesky.py as a transaction of the classic Ninf
 * interface.
 *
 * Usage: cholesky [N [TILE]]     with the server that Ninf_set_server or the environment names
 *
 * The matrix is one array, tile after tile. Between Ninf_transaction_begin and _end calls are written
 * down, and tiles are found by their addresses: a call that writes to a tile comes before those that
 * read it, and calls that share no tile run side by side. The whole graph is sent to the server at
 * the end. Each tile travels there once, and comes back once, as the last call left it. */
#include <math.h>
#include <ninf.h>
#include <stdio.h>
#include <stdlib.h>

/* The tile in this row and column of tiles. */
static double *tile(double *a, int count, int size, int i, int j)
{
    return a + ((size_t)i * count + j) * size * size;
}

/* An element of the whole matrix. */
static double *element(double *a, int count, int size, int row, int column)
{
    double *in = tile(a, count, size, row / size, column / size);
    return in + (size_t)(row % size) * size + column % size;
}

/* Factors A = L L^T in place; L takes the lower tiles. */
static int factor(double *a, int count, int size, int *info)
{
    int i, j, k, status = NINF_OK;
    if (Ninf_transaction_begin() != NINF_OK)
        return NINF_ERROR;
#define TILE(i, j) tile(a, count, size, i, j)
    for (k = 0; k < count; k++) {
        status |= Ninf_call("tiles/potrf", size, TILE(k, k), &info[k]);
        for (i = k + 1; i < count; i++)
            status |= Ninf_call("tiles/trsm", size, TILE(k, k), TILE(i, k));
        for (i = k + 1; i < count; i++) {
            status |= Ninf_call("tiles/syrk", size, TILE(i, k), TILE(i, i));
            for (j = k + 1; j < i; j++)
                status |= Ninf_call("tiles/gemm", size, TILE(i, k), TILE(j, k), TILE(i, j));
        }
    }
#undef TILE
    return Ninf_transaction_end() == NINF_OK && status == NINF_OK ? NINF_OK : NINF_ERROR;
}

/* A symmetric matrix whose eigenvalues are above 0; the same in every call. */
static void fill(double *a, int count, int size)
{
    int row, column, n = count * size;
    for (row = 0; row < n; row++)
        for (column = 0; column <= row; column++) {
            double value = row == column ? n : 0.5 + 0.5 * sin(row * 0.7 + column * 1.3);
            *element(a, count, size, row, column) = *element(a, count, size, column, row) = value;
        }
}

/* ||A - L L^T|| / ||A||, in the Frobenius norm; A is symmetric. */
static double residual(double *a, double *l, int count, int size)
{
    int row, column, k, n = count * size;
    double wrong = 0, all = 0;
    for (row = 0; row < n; row++)
        for (column = 0; column <= row; column++) {
            double value = *element(a, count, size, row, column), rest = value;
            int times = row == column ? 1 : 2;
            for (k = 0; k <= column; k++)
                rest -= *element(l, count, size, row, k) * *element(l, count, size, column, k);
            wrong += times * rest * rest;
            all += times * value * value;
        }
    return sqrt(wrong / all);
}

int main(int argc, char **argv)
{
    int n, size, count, k, failed = 0;
    double *a, *l, error;
    int *info;
    argc = Ninf_parse_arg(argc, argv);
    n = argc > 1 ? atoi(argv[1]) : 384;
    size = argc > 2 ? atoi(argv[2]) : 64;
    if (size < 1 || n < 1 || n % size != 0) {
        fprintf(stderr, "usage: cholesky [N [TILE]]: TILE divides N\n");
        return 2;
    }
    count = n / size;
    a = malloc((size_t)n * n * sizeof *a);
    l = malloc((size_t)n * n * sizeof *l);
    info = calloc((size_t)count, sizeof *info);
    if (a == NULL || l == NULL || info == NULL) {
        fprintf(stderr, "cholesky: no memory for n = %d\n", n);
        return 1;
    }
    fill(a, count, size);
    fill(l, count, size);
    if (factor(l, count, size, info) != NINF_OK) {
        Ninf_perror("cholesky");
        failed = 1;
    }
    for (k = 0; k < count; k++)
        failed |= info[k] != 0;
    error = failed ? INFINITY : residual(a, l, count, size);
    printf("n = %d, tiles of %d: ||A - L L^T|| / ||A|| = %.1e\n", n, size, error);
    free(info);
    free(l);
    free(a);
    return failed || !(error < 1e-13);
}
