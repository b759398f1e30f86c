/* linpack.c -- dgefa and dgesl, after LINPACK, by columns */
#include "matrix.h"

int
dgefa(a, lda, n, ipvt, info)
real *a;
int lda, n, *ipvt, *info;
{
    int i, j, k, l;
    real t;

    *info = 0;
    for (k = 0; k < n - 1; k++) {
	l = k;
	for (i = k + 1; i < n; i++)
	    if (FABS(ELEM(a, lda, k, i)) > FABS(ELEM(a, lda, k, l)))
		l = i;
	ipvt[k] = l;
	if (ELEM(a, lda, k, l) == 0.0) {
	    *info = k + 1;
	    continue;
	}
	t = ELEM(a, lda, k, l);
	ELEM(a, lda, k, l) = ELEM(a, lda, k, k);
	ELEM(a, lda, k, k) = t;
	for (i = k + 1; i < n; i++)
	    ELEM(a, lda, k, i) /= -t;
	for (j = k + 1; j < n; j++) {
	    t = ELEM(a, lda, j, l);
	    ELEM(a, lda, j, l) = ELEM(a, lda, j, k);
	    ELEM(a, lda, j, k) = t;
	    for (i = k + 1; i < n; i++)
		ELEM(a, lda, j, i) += t * ELEM(a, lda, k, i);
	}
    }
    ipvt[n - 1] = n - 1;
    if (ELEM(a, lda, n - 1, n - 1) == 0.0)
	*info = n;
    return 0;
}

int
dgesl(a, lda, n, ipvt, b)
real *a, *b;
int lda, n, *ipvt;
{
    int i, k;
    real t;

    for (k = 0; k < n - 1; k++) {
	t = b[ipvt[k]];
	b[ipvt[k]] = b[k];
	b[k] = t;
	for (i = k + 1; i < n; i++)
	    b[i] += t * ELEM(a, lda, k, i);
    }
    for (k = n - 1; k >= 0; k--) {
	b[k] /= ELEM(a, lda, k, k);
	for (i = 0; i < k; i++)
	    b[i] -= b[k] * ELEM(a, lda, k, i);
    }
    return 0;
}
