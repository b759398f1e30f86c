/* The routine that the library calls. */
void mmul(int n, double *a, double *b, double *c)
{
    int i, j, k;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double t = 0;
            for (k = 0; k < n; k++) t += a[i * n + k] * b[k * n + j];
            c[i * n + j] = t;
        }
}
