/* mmul.c -- matrix multiply */
#include "matrix.h"

mmul(n, A, B, C)
int n;
real *A, *B, *C;
{
    int i, j, k;
    real t;

    for (i = 0; i < n; i++) {
	for (j = 0; j < n; j++) {
	    t = 0.0;
	    for (k = 0; k < n; k++)
		t += ELEM(A, n, i, k) * ELEM(B, n, k, j);
	    ELEM(C, n, i, j) = t;
	}
    }
    return 0;
}

mscale(n, f, A)
int n;
real f, *A;
{
    int i;

    for (i = 0; i < n * n; i++)
	A[i] *= f;
    return 0;
}
