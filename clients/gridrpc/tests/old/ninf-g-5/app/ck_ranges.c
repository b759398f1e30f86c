/* ck_ranges.c: ranges and strides */
#include "ck.h"

#define N 24

int main(int argc, char **argv)
{
    static const int e[][3] = { { 0, N, 1 }, { 1, N, 2 }, { 0, N, 7 }, { 5, 6, 1 }, { N - 1, N, 3 } };
    grpc_function_handle_t *h;
    double v[N];
    int w[N];

    ck_begin(argc, argv);
    h = ck_handle("slice");
    for (int k = 0; k < (int)(sizeof e / sizeof e[0]); k++) {
	char mode = k % 2 ? 'h' : 'f';

	for (int i = 0; i < N; i++) {
	    v[i] = 1 << (i % 8);
	    w[i] = -1;
	}
	OK(grpc_call(h, N, e[k], v, mode, w));
	for (int i = 0; i < N; i++) {
	    int in = i >= e[k][0] && i < e[k][1] && (i - e[k][0]) % e[k][2] == 0;

	    ASSERT(v[i] == (in ? 1.0 / (1 << (i % 8)) : 1 << (i % 8)));
	    ASSERT(w[i] == (mode == 'h' && i % 2 ? -1 : 2 * i));
	}
    }
    ck_release(h);
    return ck_end();
}
