/* Native test of the EP kernel: classes S and W against the official sums, whole and in blocks.
 *
 * Build and run: cc -O2 -o test_ep test_ep.c ep.c -lm && ./test_ep
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

void npb_ep(int m, int64_t first, int64_t count, double *sx, double *sy, double *q);

static int passed, failed;

static void check(const char *what, int holds)
{
    *(holds ? &passed : &failed) += 1;
    printf("%s %s\n", holds ? "ok  " : "FAIL", what);
}

static int agrees(double value, double official)
{
    return fabs((value - official) / official) <= 1e-8;
}

/* The same figures as verify.json, which the remote tests read. */
static void test_class(const char *name, int m, double official_x, double official_y)
{
    double sx, sy, q[10], pairs = 0.0;

    npb_ep(m, 0, INT64_C(1) << m, &sx, &sy, q);
    for (int l = 0; l < 10; l++)
        pairs += q[l];
    printf("class %s: sx %.15e sy %.15e pairs %.0f\n", name, sx, sy, pairs);
    check("the sums are the official ones", agrees(sx, official_x) && agrees(sy, official_y));
    /* pi/4 of all pairs fall into the circle; the deviation is about 2e-4 at most for these sizes.
       */
    check("pi/4 of the pairs are accepted", fabs(pairs / ldexp(1.0, m) - 0.78539816) < 5e-4);
}

/* Blocks of odd sizes, the last one reaching past the end, as a careless sweep would cut them. */
static void test_blocks(void)
{
    const int64_t block = 1234567, pairs = INT64_C(1) << 24;
    double sum_x = 0.0, sum_y = 0.0;

    for (int64_t first = 0; first < pairs; first += block) {
        double sx, sy, q[10];
        npb_ep(24, first, block, &sx, &sy, q);
        sum_x += sx;
        sum_y += sy;
    }
    check("blocks add up to the whole",
        agrees(sum_x, -3.247834652034740e3) && agrees(sum_y, -6.958407078382297e3));
}

/* Nothing to compute, a negative begin, a begin past the end, an exponent without meaning: all give
   zero, none hangs. */
static void test_nothing(void)
{
    static const struct { int m; int64_t first, count; } cases[] = {
        {24, 0, 0}, {24, -5, 10}, {24, INT64_C(1) << 24, 10}, {-1, 0, 10}, {63, 0, 1}, {24, 0, -1},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double sx = 1.0, sy = 1.0, q[10] = {1.0};
        npb_ep(cases[i].m, cases[i].first, cases[i].count, &sx, &sy, q);
        check("a block without pairs has zero sums", sx == 0.0 && sy == 0.0 && q[0] == 0.0);
    }
}

int main(void)
{
    test_class("S", 24, -3.247834652034740e3, -6.958407078382297e3);
    test_class("W", 25, -2.863319731645753e3, -6.320053679109499e3);
    test_blocks();
    test_nothing();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
