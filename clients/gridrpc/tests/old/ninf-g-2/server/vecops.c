/*
 * vecops.c: vector operations, as they were before there was a Grid
 */
#include <stdio.h>
#include "vecops.h"

double
vsum(n, x)
	int n;
	double *x;
{
	register int i;
	double s = 0.0;

	for (i = 0; i < n; i++)
		s += *x++;
	return s;
}

void
vscale(n, a, x, y)
	int n;
	double a;
	double *x, *y;
{
	while (--n >= 0)
		*y++ = a * *x++;
}

int
vmaxpos(n, x)
	int n;
	double *x;
{
	int i, at = -1;

	for (i = 0; i < n; i++)
		if (at < 0 || x[i] > x[at])
			at = i;
	return at;
}
