/* One step of a rod that conducts heat, for a stub that is linked with this. */
void heat_step(int n, double *t)
{
    double left = t[0];
    int k;
    for (k = 1; k + 1 < n; k++) {
        double here = t[k];
        t[k] = here + 0.25 * (left - 2 * here + t[k + 1]);
        left = here;
    }
}
