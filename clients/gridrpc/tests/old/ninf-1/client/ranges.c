/* ranges.c -- parts of arrays */
#include "ck.h"
#define N 12

one(from, to, step)
int from, to, step;
{
    int x[N], i, in;
    float y[N];
    double s = -1, want = 0;

    for (i = 0; i < N; i++) {
	x[i] = i;
	y[i] = i / 2.0;
	if (i >= from && i < to && (i - from) % step == 0) want += y[i];
    }
    must(Ninf_call("linalg/every", N, from, to, step, x, y, &s));
    check(s == want);
    for (i = 0; i < N; i++) {
	in = i >= from && i < to && (i - from) % step == 0;
	check(x[i] == (in ? 1000 + i : i));
    }
}

int main(argc, argv)
int argc;
char **argv;
{
    double a[4][5], c[4];
    int i, j, k;

    one(0, N, 1);
    one(3, 9, 1);
    one(1, N, 5);
    one(11, 12, 1);
    for (i = 0; i < 4; i++)
	for (j = 0; j < 5; j++)
	    a[i][j] = 10 * i + j;
    for (k = 0; k < 5; k++) {
	must(Ninf_call("linalg/column", 4, 5, k, a, c));
	for (i = 0; i < 4; i++)
	    check(c[i] == 10 * i + k);
    }
    done("ranges");
}
