/* heat.c: the temperature of a rod after some time steps */
void heat(int n, int steps, double r, const double *u0, double *u)
{
    for (int i = 0; i < n; i++)
        u[i] = u0[i];
    for (int step = 0; n > 0 && step < steps; step++) {
        double left = u[0];
        for (int i = 1; i < n - 1; i++) {
            double here = u[i];
            u[i] += r * (left - 2 * here + u[i + 1]);
            left = here;
        }
    }
}
