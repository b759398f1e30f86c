/* t_async.c: asynchronous calls of the simulation */
#include <math.h>
#include "survey.h"

#define NH	3
#define NM	16

static double x[NH][NM], v[NH][NM], e[NH][2];

static void pluck(void)
{
    int i, j;

    for (i = 0; i < NH; i++)
	for (j = 0; j < NM; j++) {
	    x[i][j] = sin(M_PI * (i + 1) * (j + 1) / (NM + 1));
	    v[i][j] = 0;
	}
}

static void launch(grpc_function_handle_t *h, grpc_sessionid_t *id, int steps)
{
    int i;

    pluck();
    for (i = 0; i < NH; i++) {
	e[i][0] = e[i][1] = -1;
	G(grpc_call_async(&h[i], &id[i], NM, steps, 1e-3, 1.0, x[i], v[i], e[i]));
    }
}

static void conserved(int from, int to)
{
    int i;

    for (i = from; i < to; i++) {
	TRUTH(e[i][0] > 0.1);
	TRUTH(fabs(e[i][1] - e[i][0]) < 1e-2 * e[i][0]);
    }
}

static int index_of(grpc_sessionid_t id, grpc_sessionid_t *ids, int n)
{
    while (n-- > 0)
	if (ids[n] == id)
	    return n;
    return -1;
}

void test_async(void)
{
    grpc_function_handle_t h[NH], busy, *hp;
    grpc_sessionid_t id[NH], one, some[2];
    int i, nth = 0, spins = 0;
    grpc_error_t rc;

    for (i = 0; i < NH; i++)
	G(grpc_function_handle_init(&h[i], "cluster", "work/chain"));

    launch(h, id, 1000);
    G(grpc_wait_all());
    conserved(0, NH);
    for (i = 0; i < NH; i++)
	G(grpc_get_error(id[i]));

    launch(h, id, 500);
    G(grpc_wait_and(id, NH));
    conserved(0, NH);

    launch(h, id, 500);
    for (i = 0; i < NH; i++) {
	int k;

	G(grpc_wait_or(id, NH, &one));
	k = index_of(one, id, NH);
	TRUTH(k >= 0);
	conserved(k, k + 1);
    }
    G(grpc_wait_all());
    conserved(0, NH);

    launch(h, id, 500);
    for (i = 0; i < NH; i++) {
	G(grpc_wait_any(&one));
	TRUTH(index_of(one, id, NH) >= 0);
    }
    conserved(0, NH);
    G(grpc_wait_any(&one));
    TRUTH(one == GRPC_SESSIONID_VOID);

    /* spinning with probe_or until one is there, twice */
    launch(h, id, 100);
    while ((rc = grpc_probe_or(id, NH, &one)) == GRPC_NONE_COMPLETED)
	spins++;
    TRUTH(rc == GRPC_NO_ERROR && index_of(one, id, NH) >= 0);
    some[0] = one;
    for (i = 0; i < NH; i++)
	while ((rc = grpc_probe(id[i])) == GRPC_NOT_COMPLETED)
	    spins++;
    G(grpc_wait_and(id, NH));
    conserved(0, NH);

    /* from a session to its handle, and another call with that */
    G(grpc_get_handle(&hp, some[0]));
    i = hp - h;
    TRUTH(i >= 0 && i < NH);
    pluck();
    G(grpc_call(hp, NM, 10, 1e-3, 1.0, x[0], v[0], e[0]));
    conserved(0, 1);

    /* processes stay with their handles */
    G(grpc_function_handle_init(&busy, "cluster", "work/busy"));
    for (i = 1; i <= 3; i++) {
	G(grpc_call(&busy, 1, &nth));
	TRUTH(nth == i);
    }
    G(grpc_function_handle_destruct(&busy));

    some[1] = 999999;
    WANT(GRPC_INVALID_SESSION_ID, grpc_wait_or(some, 2, &one));
    WANT(GRPC_INVALID_SESSION_ID, grpc_probe_or(some, 2, &one));
    for (i = 0; i < NH; i++)
	G(grpc_function_handle_destruct(&h[i]));
    WANT(GRPC_INVALID_FUNCTION_HANDLE, grpc_function_handle_destruct(&h[0]));
}
