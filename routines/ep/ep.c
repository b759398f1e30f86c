/* The kernel EP of the NAS Parallel Benchmarks, written from their specification (NASA report
 * RNR-94-007).
 *
 * Pairs of uniform deviates become pairs of independent Gaussian deviates by the
 * acceptance-rejection method; the sums of the deviates and the counts of pairs in square annuli
 * are the result. Any block of pairs can be computed by itself: the generator jumps to its begin.
 */
#include <math.h>
#include <stdint.h>

/* Low 46 bits. A 64-bit product wraps at 2^64, a multiple of 2^46, so these bits of it are exact.
   */
#define MASK ((UINT64_C(1) << 46) - 1)
#define MULTIPLIER UINT64_C(1220703125) /* 5^13 */
#define SEED UINT64_C(271828183)
#define ANNULI 10

/* Pairs up to here have their numbers computed without overflow, and a run of weeks. */
#define EXPONENT_MAX 44

static uint64_t times(uint64_t a, uint64_t b)
{
    return (a * b) & MASK;
}

/* The state of the generator after `steps` numbers: seed * multiplier^steps, by repeated squaring.
   */
static uint64_t state_after(uint64_t steps)
{
    uint64_t state = SEED, power = MULTIPLIER;
    for (; steps > 0; steps >>= 1) {
        if (steps & 1)
            state = times(state, power);
        power = times(power, power);
    }
    return state;
}

/* The next number, scaled to (-1, 1). */
static double next_deviate(uint64_t *state)
{
    *state = times(*state, MULTIPLIER);
    return 2.0 * ((double)*state * 0x1p-46) - 1.0;
}

/* Takes a pair inside the unit circle to two Gaussian deviates and counts them. */
static void tally(double x, double y, double square, double *sx, double *sy, double *q)
{
    double factor = sqrt(-2.0 * log(square) / square);
    double gauss_x = x * factor, gauss_y = y * factor;
    int annulus = (int)fmax(fabs(gauss_x), fabs(gauss_y));

    *sx += gauss_x;
    *sy += gauss_y;
    if (annulus < ANNULI)
        q[annulus] += 1.0;
}

/* How many pairs of the block exist: those from 0 to 2^m. */
static int64_t existing(int m, int64_t first, int64_t count)
{
    int64_t pairs = m >= 0 && m <= EXPONENT_MAX ? INT64_C(1) << m : 0;
    if (first < 0 || first >= pairs || count < 0)
        return 0;
    return count < pairs - first ? count : pairs - first;
}

/* Computes the pairs first … first+count-1 of 2^m. Sums of blocks add up to those of the whole. */
void npb_ep(int m, int64_t first, int64_t count, double *sx, double *sy, double *q)
{
    int64_t pairs = existing(m, first, count);
    uint64_t state = state_after(2 * (uint64_t)(pairs > 0 ? first : 0));

    *sx = *sy = 0.0;
    for (int annulus = 0; annulus < ANNULI; annulus++)
        q[annulus] = 0.0;
    for (int64_t pair = 0; pair < pairs; pair++) {
        double x = next_deviate(&state);
        double y = next_deviate(&state);
        double square = x * x + y * y;
        if (square <= 1.0)
            tally(x, y, square, sx, sy, q);
    }
}
