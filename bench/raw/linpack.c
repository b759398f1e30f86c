/* Standard Linpack: the elimination of dgefa and dgesl as they were published, column by column and
 * without blocks.
 *
 * The paper's figure 4 has it beside the optimised library: it is what a user writes who takes no
 * extra effort.
 */
#include <math.h>

/* y += factor * x, the loop in which all the time goes. */
static void add(int n, double factor, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

static void swap(double *x, double *y)
{
    double kept = *x;
    *x = *y;
    *y = kept;
}

/* Factors the matrix (n by n, by columns) in place with partial pivoting; 0, or the column (from 1)
   that is singular. */
static int dgefa(int n, double *a, int *pivots)
{
    for (int k = 0; k < n; k++) {
        double *column = a + (long)k * n;
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(column[i]) > fabs(column[pivot]))
                pivot = i;
        pivots[k] = pivot;
        if (column[pivot] == 0)
            return k + 1;
        swap(&column[k], &column[pivot]);
        for (int i = k + 1; i < n; i++)
            column[i] /= -column[k];
        for (int j = k + 1; j < n; j++) {
            double *right = a + (long)j * n;
            swap(&right[k], &right[pivot]);
            add(n - k - 1, right[k], column + k + 1, right + k + 1);
        }
    }
    return 0;
}

/* Solves with what dgefa left; the solution takes the place of b. */
static void dgesl(int n, const double *a, const int *pivots, double *b)
{
    for (int k = 0; k < n; k++) {
        swap(&b[k], &b[pivots[k]]);
        add(n - k - 1, b[k], a + (long)k * n + k + 1, b + k + 1);
    }
    for (int k = n - 1; k >= 0; k--) {
        b[k] /= a[(long)k * n + k];
        add(k, -b[k], a + (long)k * n, b);
    }
}

/* Solves n equations in place; 0, or the column (from 1) that is singular. */
int linpack_solve(int n, double *a, int *pivots, double *b)
{
    int status = dgefa(n, a, pivots);
    if (status == 0)
        dgesl(n, a, pivots, b);
    return status;
}
