/* barotropic.c: the barotropic vorticity equation on a rotating sphere, by the spectral transform method.
 *
 *     d zeta / dt = -J(psi, zeta + f) - nu (-laplacian)^4 zeta,    laplacian(psi) = zeta,    f = 2 Omega mu
 *
 * mu is the sine of the latitude. Fields are sums of spherical harmonics of degree n up to the truncation N ("triangular"),
 * of which those of degree 0 vanish. Products are made on a Gaussian grid that is large enough for the quadratic terms
 * (3N + 1 longitudes, half as many latitudes), so that energy and enstrophy are conserved but for the time step, which is
 * the classical Runge-Kutta one of fourth order; the viscosity is integrated exactly. See Orszag (1970), "Transform
 * method for the calculation of vector-coupled sums"; Bourke (1972), "An efficient, one-level, primitive-equation
 * spectral model"; the formulas in flux form are those of Hack and Jakob (1992), NCAR/TN-343, section 2.
 *
 * A state is (N + 1)^2 real numbers, in 1/s: for each m from 0 to N, for each n from m to N, the cosine's coefficient
 * and, for m > 0, the sine's. Legendre functions are normalised: the integral of their squares over mu is 1.
 */
#include "barotropic.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* What depends on the truncation alone. */
struct barotropic {
    int truncation, longitudes, latitudes, count; /* count of pairs (m, n) */
    double *mu, *weight;                          /* by latitude, from the south */
    double *legendre, *derivative; /* [latitude][pair]; the derivative times 1 - mu^2 */
    double complex *roots;                        /* of 1, for the Fourier transform */
    double complex *psi, *u, *v, *row, *work;     /* working memory */
    double complex *stage, *slope, *sum;
    double *grid_u, *grid_v, *grid_vorticity;
};

/* The number of the pair (m, n). */
static int pair(const barotropic *model, int m, int n)
{
    return m * (model->truncation + 1) - m * (m - 1) / 2 + n - m;
}

/* Gauss's points and weights: Newton's method from a good guess (Abramowitz and Stegun, 25.4.29 and
   22.16.6). */
static void gauss(int count, double *mu, double *weight)
{
    for (int j = 0; j < count; j++) {
        double x = -cos(PI * (j + 0.75) / (count + 0.5)), slope = 1;
        for (int round = 0; round < 50; round++) {
            double before = 1, p = x;
            for (int n = 2; n <= count; n++) {
                double next = ((2 * n - 1) * x * p - (n - 1) * before) / n;
                before = p;
                p = next;
            }
            slope = count * (x * p - before) / (x * x - 1);
            double step = p / slope;
            x -= step;
            if (fabs(step) < 1e-16)
                break;
        }
        mu[j] = x;
        weight[j] = 2 / ((1 - x * x) * slope * slope);
    }
}

/* The factor of the recurrences between neighbouring degrees. */
static double epsilon(int m, int n)
{
    return sqrt(((double) n * n - (double) m * m) / (4.0 * n * n - 1));
}

/* Legendre functions of degree up to the truncation at one latitude, and their derivatives times 1
   - mu^2. */
static void legendre(const barotropic *model, double mu, double *p, double *derivative)
{
    int top = model->truncation;
    /* Of degree m and order m, from which the recurrence in the degree begins. */
    double sector = sqrt(0.5);
    for (int m = 0; m <= top; m++) {
        if (m > 0)
            sector *= sqrt((2 * m + 1) / (2.0 * m) * (1 - mu * mu));
        double before = 0, here = sector;
        for (int n = m; n <= top; n++) {
            double next = (mu * here - (n > m ? epsilon(m, n) * before : 0)) / epsilon(m, n + 1);
            p[pair(model, m, n)] = here;
            derivative[pair(model, m, n)] =
                (n > m ? (n + 1) * epsilon(m, n) * before : 0) - n * epsilon(m, n + 1) * next;
            before = here;
            here = next;
        }
    }
}

void barotropic_free(barotropic *model)
{
    if (model)
        free(model->mu);
    free(model);
}

barotropic *barotropic_new(int truncation)
{
    barotropic *model = calloc(1, sizeof *model);
    if (!model || truncation < 1 || truncation > BAROTROPIC_TRUNCATION_MAX) {
        free(model);
        return NULL;
    }
    model->truncation = truncation;
    model->count = (truncation + 1) * (truncation + 2) / 2;
    for (model->longitudes = 4; model->longitudes < 3 * truncation + 1;)
        model->longitudes *= 2;
    model->latitudes = model->longitudes / 2;
    size_t latitudes = (size_t) model->latitudes, longitudes = (size_t) model->longitudes,
           count = (size_t) model->count;
    size_t reals = 2 * latitudes + 2 * latitudes * count + 3 * latitudes * longitudes;
    size_t complexes = 3 * longitudes + 3 * latitudes * (size_t) (truncation + 1) + 3 * count;
    double *memory = calloc(reals + 2 * complexes, sizeof *memory);
    if (!memory) {
        free(model);
        return NULL;
    }
    model->mu = memory;
    model->weight = model->mu + latitudes;
    model->legendre = model->weight + latitudes;
    model->derivative = model->legendre + latitudes * count;
    model->grid_u = model->derivative + latitudes * count;
    model->grid_v = model->grid_u + latitudes * longitudes;
    model->grid_vorticity = model->grid_v + latitudes * longitudes;
    model->roots = (double complex *) (memory + reals);
    model->row = model->roots + longitudes;
    model->work = model->row + longitudes;
    model->psi = model->work + longitudes;
    model->u = model->psi + latitudes * (size_t) (truncation + 1);
    model->v = model->u + latitudes * (size_t) (truncation + 1);
    model->stage = model->v + latitudes * (size_t) (truncation + 1);
    model->slope = model->stage + count;
    model->sum = model->slope + count;
    gauss(model->latitudes, model->mu, model->weight);
    for (int j = 0; j < model->latitudes; j++)
        legendre(model, model->mu[j], model->legendre + (size_t) j * count,
            model->derivative + (size_t) j * count);
    for (int k = 0; k < model->longitudes; k++)
        model->roots[k] = cexp(I * (2 * PI * k / model->longitudes));
    return model;
}

/* Fourier transform of a row in place, e^(+i k x) where `sign` is 1: radix 2, decimation in time.
   */
static void fourier(const barotropic *model, double complex *row, int sign)
{
    int size = model->longitudes;
    for (int i = 1, j = 0; i < size; i++) {
        int bit = size >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex other = row[i];
            row[i] = row[j];
            row[j] = other;
        }
    }
    for (int length = 2; length <= size; length *= 2)
        for (int begin = 0; begin < size; begin += length)
            for (int k = 0; k < length / 2; k++) {
                double complex root = model->roots[size / length * k];
                double complex odd = row[begin + length / 2 + k] * (sign > 0 ? root : conj(root));
                row[begin + length / 2 + k] = row[begin + k] - odd;
                row[begin + k] += odd;
            }
}

/* Values along a circle of latitude from its Fourier coefficients, which are those of a real field.
   */
static void synthesize(const barotropic *model, const double complex *coefficients, double *values)
{
    double complex *row = model->row;
    memset(row, 0, (size_t) model->longitudes * sizeof *row);
    row[0] = creal(coefficients[0]);
    for (int m = 1; m <= model->truncation; m++) {
        row[m] = coefficients[m];
        row[model->longitudes - m] = conj(coefficients[m]);
    }
    fourier(model, row, 1);
    for (int k = 0; k < model->longitudes; k++)
        values[k] = creal(row[k]);
}

/* Fourier coefficients of a row of values. */
static void analyze(const barotropic *model, const double *values, double complex *coefficients)
{
    for (int k = 0; k < model->longitudes; k++)
        model->work[k] = values[k];
    fourier(model, model->work, -1);
    for (int m = 0; m <= model->truncation; m++)
        coefficients[m] = model->work[m] / model->longitudes;
}

/* The stream function's coefficient for a vorticity's. */
static double inverse_laplacian(int n)
{
    return n == 0 ? 0 : -BAROTROPIC_RADIUS * BAROTROPIC_RADIUS / (n * (n + 1.0));
}

/* Winds times the cosine of the latitude, and the absolute vorticity, on the grid. */
static void to_grid(barotropic *model, const double complex *vorticity)
{
    int top = model->truncation;
    for (int j = 0; j < model->latitudes; j++) {
        const double *p = model->legendre + (size_t) j * (size_t) model->count;
        const double *h = model->derivative + (size_t) j * (size_t) model->count;
        double complex *u = model->u, *v = model->v, *zeta = model->psi;
        for (int m = 0; m <= top; m++) {
            u[m] = v[m] = zeta[m] = 0;
            for (int n = m; n <= top; n++) {
                int i = pair(model, m, n);
                double complex psi = inverse_laplacian(n) * vorticity[i];
                u[m] -= psi * h[i];
                v[m] += I * m * psi * p[i];
                zeta[m] += vorticity[i] * p[i];
            }
            u[m] /= BAROTROPIC_RADIUS;
            v[m] /= BAROTROPIC_RADIUS;
        }
        /* The planet's own vorticity. */
        zeta[0] += 2 * BAROTROPIC_OMEGA * model->mu[j];
        size_t begin = (size_t) j * (size_t) model->longitudes;
        synthesize(model, u, model->grid_u + begin);
        synthesize(model, v, model->grid_v + begin);
        synthesize(model, zeta, model->grid_vorticity + begin);
    }
}

/* How fast the vorticity changes, but for the viscosity. */
static void tendency(barotropic *model, const double complex *vorticity, double complex *slope)
{
    int top = model->truncation;
    to_grid(model, vorticity);
    memset(slope, 0, (size_t) model->count * sizeof *slope);
    for (int j = 0; j < model->latitudes; j++) {
        const double *p = model->legendre + (size_t) j * (size_t) model->count;
        const double *h = model->derivative + (size_t) j * (size_t) model->count;
        size_t begin = (size_t) j * (size_t) model->longitudes;
        /* The integral over mu by Gauss's rule; the derivative of the product with V is moved to
           the harmonic. */
        double scale = model->weight[j] / ((1 - model->mu[j] * model->mu[j]) * BAROTROPIC_RADIUS);
        for (int k = 0; k < model->longitudes; k++) {
            model->grid_u[begin + (size_t) k] *= model->grid_vorticity[begin + (size_t) k];
            model->grid_v[begin + (size_t) k] *= model->grid_vorticity[begin + (size_t) k];
        }
        analyze(model, model->grid_u + begin, model->u);
        analyze(model, model->grid_v + begin, model->v);
        for (int m = 0; m <= top; m++)
            for (int n = m; n <= top; n++) {
                int i = pair(model, m, n);
                slope[i] -= scale * (I * m * model->u[m] * p[i] - model->v[m] * h[i]);
            }
    }
    /* The mean vorticity vanishes for ever. */
    slope[0] = 0;
}

/* One step of Runge and Kutta; then the viscosity, of which the smallest scale keeps exp(-step /
   e_folding). */
static void advance(barotropic *model, double complex *vorticity, double step, double e_folding)
{
    static const double part[] = {0.5, 0.5, 1, 0}, share[] = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
    double scale = (double) model->truncation * (model->truncation + 1);
    memcpy(model->sum, vorticity, (size_t) model->count * sizeof *vorticity);
    memcpy(model->stage, vorticity, (size_t) model->count * sizeof *vorticity);
    for (int k = 0; k < 4; k++) {
        tendency(model, model->stage, model->slope);
        for (int i = 0; i < model->count; i++) {
            model->sum[i] += share[k] * step * model->slope[i];
            model->stage[i] = vorticity[i] + part[k] * step * model->slope[i];
        }
    }
    for (int m = 0; m <= model->truncation; m++)
        for (int n = m; n <= model->truncation; n++) {
            double decay =
                e_folding > 0 ? exp(-step / e_folding * pow(n * (n + 1.0) / scale, 4)) : 1;
            vorticity[pair(model, m, n)] = model->sum[pair(model, m, n)] * decay;
        }
}

/* A state as complex coefficients: a field is the sum of c cos(m x) + s sin(m x), the real part of
   2 (c - i s)/2 e^(imx). */
static void unpack(const barotropic *model, const double *state, double complex *coefficients)
{
    for (int m = 0; m <= model->truncation; m++)
        for (int n = m; n <= model->truncation; n++) {
            double cosine = *state++, sine = m > 0 ? *state++ : 0;
            coefficients[pair(model, m, n)] = m > 0 ? (cosine - I * sine) / 2 : cosine;
        }
    coefficients[0] = 0;
}

/* The other way round. */
static void pack(const barotropic *model, const double complex *coefficients, double *state)
{
    for (int m = 0; m <= model->truncation; m++)
        for (int n = m; n <= model->truncation; n++) {
            double complex one = coefficients[pair(model, m, n)];
            *state++ = m > 0 ? 2 * creal(one) : creal(one);
            if (m > 0)
                *state++ = -2 * cimag(one);
        }
}

int barotropic_forecast(barotropic *model, const double *initial, double seconds, int steps,
    int count, double e_folding, double *states, int (*each)(int done))
{
    size_t size = (size_t) (model->truncation + 1) * (size_t) (model->truncation + 1);
    double complex *vorticity = calloc((size_t) model->count, sizeof *vorticity);
    if (!vorticity)
        return -1;
    unpack(model, initial, vorticity);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < steps; i++)
            advance(model, vorticity, seconds / steps, e_folding);
        pack(model, vorticity, states + (size_t) k * size);
        if (each && each(k + 1))
            break;
    }
    free(vorticity);
    return 0;
}

void barotropic_streamfunction(
    const barotropic *model, const double *state, int rows, int columns, double *psi)
{
    size_t count = (size_t) model->count;
    double complex *vorticity = malloc(count * sizeof *vorticity),
                   *circle = malloc((size_t) (model->truncation + 1) * sizeof *circle);
    double *p = malloc(2 * count * sizeof *p);
    if (vorticity && circle && p) {
        unpack(model, state, vorticity);
        for (int j = 0; j < rows; j++) {
            legendre(model, sin(PI * ((j + 0.5) / rows - 0.5)), p, p + count);
            for (int m = 0; m <= model->truncation; m++) {
                circle[m] = 0;
                for (int n = m; n <= model->truncation; n++)
                    circle[m] +=
                        inverse_laplacian(n) * vorticity[pair(model, m, n)] * p[pair(model, m, n)];
            }
            for (int k = 0; k < columns; k++) {
                double value = creal(circle[0]);
                for (int m = 1; m <= model->truncation; m++)
                    value += 2 * creal(circle[m] * cexp(I * (2 * PI * m * (k + 0.5) / columns)));
                psi[(size_t) j * (size_t) columns + (size_t) k] = value;
            }
        }
    }
    free(vorticity);
    free(circle);
    free(p);
}

void barotropic_invariants(
    const barotropic *model, const double *state, double *energy, double *enstrophy)
{
    *energy = *enstrophy = 0;
    for (int m = 0; m <= model->truncation; m++)
        for (int n = m; n <= model->truncation; n++) {
            double cosine = *state++, sine = m > 0 ? *state++ : 0;
            double square = n == 0  ? 0
                            : m > 0 ? (cosine * cosine + sine * sine) / 2
                                    : cosine * cosine;
            /* Means over the sphere: half the integral over mu. */
            *enstrophy += square / 4;
            *energy -= inverse_laplacian(n) * square / 4;
        }
}

/* Puts a harmonic of wave number m and degree n into a state, whose greatest vorticity is about
   `size` at the phase. */
static void put(const barotropic *model, double *state, int m, int n, double size, double phase)
{
    if (n > model->truncation)
        return;
    int place = m == 0 ? n : model->truncation + 1;
    for (int k = 1; k < m; k++)
        place += 2 * (model->truncation + 1 - k);
    if (m > 0) {
        place += 2 * (n - m);
        state[place + 1] = size * sin(phase);
    }
    state[place] = size * cos(phase);
}

void barotropic_idealised(const barotropic *model, double *state)
{
    memset(state, 0,
        (size_t) (model->truncation + 1) * (size_t) (model->truncation + 1) * sizeof *state);
    /* Zonal winds, then waves; sizes in 1/s. */
    put(model, state, 0, 1, 0.55e-5, 0);
    put(model, state, 0, 3, 1.05e-5, 0);
    put(model, state, 0, 5, -0.7e-5, 0);
    put(model, state, 1, 4, 0.8e-5, 0.3);
    put(model, state, 2, 5, 1.0e-5, 1.1);
    put(model, state, 2, 4, 1.2e-5, 2.0);
    put(model, state, 3, 6, 2.0e-5, 2.0);
    put(model, state, 3, 5, 0.8e-5, 0.4);
    put(model, state, 4, 7, 2.5e-5, 0.0);
    put(model, state, 5, 8, 2.5e-5, 0.7);
    put(model, state, 6, 9, 2.0e-5, 2.6);
}
