/* ck_callback.c: callbacks */
#include <math.h>
#include "ck.h"

#define ROWS 5
#define LEN 3

static double percents[ROWS];
static int reports;

static void norm(int len, double *a, double so_far, double *next)
{
    *next = so_far * so_far;
    while (len-- > 0)
	*next += a[len] * a[len];
    *next = sqrt(*next);
}

static void progress(double percent)
{
    if (reports < ROWS)
	percents[reports] = percent;
    reports++;
}

int main(int argc, char **argv)
{
    double x[ROWS][LEN], r = 0, want = 0;
    grpc_function_handle_t *h;
    grpc_sessionid_t id;
    int i, j;

    ck_begin(argc, argv);
    for (i = 0; i < ROWS; i++)
	for (j = 0; j < LEN; j++) {
	    x[i][j] = i - j;
	    want += x[i][j] * x[i][j];
	}
    h = ck_handle("fold");
    OK(grpc_call(h, ROWS, LEN, x, &r, norm, progress));
    ASSERT(fabs(r - sqrt(want)) < 1e-12);
    ASSERT(reports == ROWS);
    for (i = 0; i < ROWS; i++)
	ASSERT(percents[i] == 20.0 * (i + 1));

    /* while we do something else; and no rows at all */
    reports = 0;
    r = 0;
    OK(grpc_call_async(h, &id, ROWS, LEN, x, &r, norm, progress));
    while (grpc_probe(id) == GRPC_NOT_COMPLETED)
	;
    OK(grpc_wait(id));
    ASSERT(fabs(r - sqrt(want)) < 1e-12 && reports == ROWS);
    OK(grpc_call(h, 0, LEN, x, &r, norm, progress));
    ASSERT(r == 0 && reports == ROWS);
    ck_release(h);
    return ck_end();
}
