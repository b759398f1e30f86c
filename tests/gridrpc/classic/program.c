/* The classic interface: calls by name, sessions by number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ninf.h"

static int passed, failed, reports;

#define CHECK(condition) \
    ((condition) ? (void) passed++ \
                 : (void) (failed++, printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition)))

static void report(int k) { reports += k; }

#define N 8

static void fill(double *a, double begin)
{
    int k;
    for (k = 0; k < N * N; k++)
        a[k] = begin + k;
}

static void transaction(void)
{
    static double A[N * N], B[N * N], C[N * N], D[N * N], E[N * N], F[N * N], G[N * N];
    double expected = 0;
    int k;
    fill(A, 0), fill(B, 1), fill(C, 2), fill(D, 3);
    CHECK(Ninf_transaction_begin() == NINF_OK);
    Ninf_call("dmmul", N, A, B, E);
    Ninf_call("dmmul", N, C, D, F);
    Ninf_call("dmmul", N, E, F, G); /* needs both */
    CHECK(Ninf_transaction_begin() == NINF_ERROR);
    CHECK(Ninf_transaction_end() == NINF_OK);
    for (k = 0; k < N; k++)
        expected += E[k] * F[k * N];
    CHECK(G[0] == expected && expected > 0);
}

int main(int argc, char *argv[])
{
    static double A[N * N], B[N * N], C[N * N];
    int id, other, k, answer[3] = {0, 0, 0}, ids[3];
    Ninf_executable_t *executable;
    argc = Ninf_parse_arg(argc, argv);
    fill(A, 0);
    for (k = 0; k < N * N; k++)
        B[k] = k % (N + 1) == 0;
    CHECK(Ninf_call("dmmul", N, A, B, C) == NINF_OK);
    CHECK(memcmp(A, C, sizeof A) == 0);
    CHECK(Ninf_call("dmat/dmadd", N, A, B, C) == NINF_OK);
    CHECK(C[0] == 1 && C[1] == 1);
    id = Ninf_call_async("nap", 50, &answer[0]);
    CHECK(id != NINF_ERROR);
    CHECK(Ninf_wait(id) == NINF_OK);
    CHECK(answer[0] == 50);
    for (k = 0; k < 3; k++)
        CHECK((ids[k] = Ninf_call_async("nap", 20 * (k + 1), &answer[k])) != NINF_ERROR);
    CHECK(Ninf_wait_or(ids, 3, &other) == NINF_OK);
    CHECK(Ninf_wait_and(ids, 3) == NINF_OK);
    CHECK(answer[2] == 60);
    CHECK(Ninf_call_async("nap", 10, &answer[0]) != NINF_ERROR);
    CHECK(Ninf_wait_all() == NINF_OK);
    CHECK(Ninf_call("tell", 5, report) == NINF_OK);
    CHECK(reports == 10);
    CHECK(Ninf_call("no_such_thing", 1) == NINF_ERROR);
    Ninf_perror("as expected");
    CHECK(Ninf_call("crash", 1) == NINF_ERROR);
    executable = Ninf_get_executable("dmadd");
    CHECK(executable != NULL);
    CHECK(Ninf_call_executable(executable, N, A, B, C) == NINF_OK);
    CHECK(Ninf_executable_finalize(executable) == NINF_OK);
    transaction();
    /* Processes that ran one call after the other, each of them a client of its own server. */
    for (k = 0; k < 5; k++)
        CHECK(Ninf_call("leaves", 4, &answer[0]) == NINF_OK && answer[0] == 16);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
