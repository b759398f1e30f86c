/* kernel.c: the simulation proper: a chain of springs */
#include <math.h>

/* one step of n masses, x positions, v velocities */
void chain_step(int n, double dt, double k, double *x, double *v)
{
    int i;
    double f;

    for (i = 0; i < n; i++) {
	f = -2 * x[i];
	if (i > 0) f += x[i - 1];
	if (i < n - 1) f += x[i + 1];
	v[i] += dt * k * f;
    }
    for (i = 0; i < n; i++)
	x[i] += dt * v[i];
}

double chain_energy(int n, double k, const double *x, const double *v)
{
    double e = 0, d;
    int i;

    for (i = 0; i < n; i++)
	e += v[i] * v[i] / 2;
    for (i = 0; i <= n; i++) {
	d = (i < n ? x[i] : 0) - (i > 0 ? x[i - 1] : 0);
	e += k * d * d / 2;
    }
    return e;
}
