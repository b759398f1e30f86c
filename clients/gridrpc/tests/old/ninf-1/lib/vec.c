/* vec.c -- vectors */

vscale(n, x, f)
int n;
double *x, f;
{
    while (--n >= 0)
	x[n] *= f;
    return 0;
}
