/* An object that inline.idl requires. */
void triple(int n, double *x)
{
    for (int i = 0; i < n; i++) x[i] *= 3;
}
