/* t_range.c: ranges and strides */
#include "survey.h"

static struct range { int size, start, end, stride; } ranges[] = {
    { 10, 0, 10, 1 },
    { 10, 2, 7, 1 },
    { 10, 0, 10, 3 },
    { 10, 1, 9, 4 },
    { 10, 9, 10, 1 },
    { 100, 50, 51, 50 },
    { 1, 0, 1, 1 },
};

#define INSIDE(r, i) ((i) >= (r)->start && (i) < (r)->end && ((i) - (r)->start) % (r)->stride == 0)

void test_range(void)
{
    grpc_function_handle_t sum, set, block, cube;
    struct range *r;
    int a[100], i, j, k, count;
    long s, want;
    double d[100], m[5][6];
    float b[100];
    short q[4][4][4];

    G(grpc_function_handle_default(&sum, "xfer/rangeSum"));
    G(grpc_function_handle_default(&set, "xfer/rangeSet"));
    for (r = ranges; r < ranges + NUM(ranges); r++) {
	for (want = i = 0; i < r->size; i++) {
	    a[i] = i * i + 1;
	    d[i] = -1;
	    b[i] = i + 1;
	    if (INSIDE(r, i))
		want += a[i];
	}
	G(grpc_call(&sum, r->size, r->start, r->end, r->stride, a, &s));
	TRUTH(s == want);
	G(grpc_call(&set, r->size, r->start, r->end, r->stride, d, b));
	for (i = 0; i < r->size; i++) {
	    TRUTH(d[i] == (INSIDE(r, i) ? i / 4.0 : -1));
	    TRUTH(b[i] == (i < r->end ? -(i + 1) : i + 1));
	}
    }
    G(grpc_function_handle_destruct(&sum));
    G(grpc_function_handle_destruct(&set));

    for (i = 0; i < 5; i++)
	for (j = 0; j < 6; j++)
	    m[i][j] = 1 + i + j;
    G(grpc_function_handle_default(&block, "xfer/block"));
    G(grpc_call(&block, 6, 5, 1, 4, 2, 5, m, &count));
    TRUTH(count == 9);
    for (i = 0; i < 5; i++)
	for (j = 0; j < 6; j++)
	    TRUTH(m[i][j] == (i >= 1 && i < 4 && j >= 2 && j < 5 ? -1 : 1) * (1 + i + j));
    G(grpc_function_handle_destruct(&block));

    for (want = i = 0; i < 4; i++)
	for (j = 0; j < 4; j++)
	    for (k = 0; k < 4; k++) {
		q[i][j][k] = 16 * i + 4 * j + k;
		if (j % 2 == 0 && k < 3)
		    want += q[i][j][k];
	    }
    G(grpc_function_handle_default(&cube, "xfer/cube"));
    G(grpc_call(&cube, 4, 3, q, &count));
    TRUTH(count == want);
    G(grpc_function_handle_destruct(&cube));
}
