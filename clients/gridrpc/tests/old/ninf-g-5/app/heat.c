/*
 * heat.c: a plate in parts, each a remote object; compared with the whole in one function
 *
 *	heat [-n points] [-p parts] [-s steps] [config]
 */
#include <math.h>
#include <getopt.h>
#include <grpc.h>

#define PARTS_MAX 8

static double *plate(int rows, int cols)
{
    double *u = calloc(rows * cols, sizeof(double));
    int j;

    if (u == NULL) {
	perror("calloc");
	exit(1);
    }
    for (j = 0; j < cols; j++)
	u[j] = 100;	/* its upper edge is hot */
    return u;
}

static void die(const char *what)
{
    grpc_perror_np((char *)what);
    exit(1);
}

int main(int argc, char **argv)
{
    int n = 32, parts = 2, steps = 20, c, i, k, s, inner, bad = 0;
    double *u, *v, *first[PARTS_MAX], *last[PARTS_MAX], change[PARTS_MAX], whole, most = 0;
    double *out, *edges;
    grpc_object_handle_t_np o[PARTS_MAX];
    grpc_function_handle_t f;
    grpc_sessionid_t id[PARTS_MAX];

    while ((c = getopt(argc, argv, "n:p:s:")) != -1)
	switch (c) {
	case 'n': n = atoi(optarg); break;
	case 'p': parts = atoi(optarg); break;
	case 's': steps = atoi(optarg); break;
	default:
	    fprintf(stderr, "usage: %s [-n points] [-p parts] [-s steps] [config]\n", argv[0]);
	    return 2;
	}
    if (parts < 1 || parts > PARTS_MAX || n % parts != 0) {
	fprintf(stderr, "%s: %d points cannot be dealt to %d parts\n", argv[0], n, parts);
	return 2;
    }
    if (grpc_initialize(argv[optind]) != GRPC_NO_ERROR)
	die("grpc_initialize");

    /* the whole */
    u = plate(n + 2, n + 2);
    if (grpc_function_handle_default(&f, "heat/relax") != GRPC_NO_ERROR)
	die("heat/relax");
    if (grpc_call(&f, n + 2, n + 2, steps, 0.2, u, &whole) != GRPC_NO_ERROR)
	die("grpc_call");

    /* the parts */
    inner = n / parts;
    v = plate(n + 2, n + 2);
    if (grpc_object_handle_array_default_np(o, parts, "heat/plate") != GRPC_NO_ERROR)
	die("heat/plate");
    edges = plate(n + 2, n + 2);
    for (k = 0; k < parts; k++) {
	first[k] = edges + (k * inner + 1) * (n + 2);
	last[k] = edges + ((k + 1) * inner) * (n + 2);
	if (inner == 1)
	    last[k] = first[k];
	if (grpc_invoke_async_np(&o[k], "setup", &id[k], inner + 2, n + 2, v + k * inner * (n + 2)))
	    die("setup");
    }
    if (grpc_wait_and(id, parts) != GRPC_NO_ERROR)
	die("setup");
    for (s = 0; s < steps; s++) {
	double *kept = plate(n + 2, n + 2);

	memcpy(kept, edges, sizeof(double) * (n + 2) * (n + 2));
	for (k = 0; k < parts; k++) {
	    double *top = kept + k * inner * (n + 2), *bottom = kept + ((k + 1) * inner + 1) * (n + 2);

	    if (grpc_invoke_async_np(&o[k], "step", &id[k], n + 2, top, bottom, 0.2, first[k], last[k],
				     &change[k]) != GRPC_NO_ERROR)
		die("step");
	}
	if (grpc_wait_all() != GRPC_NO_ERROR)
	    die("step");
	free(kept);
    }
    out = plate(n + 2, n + 2);
    for (k = 0; k < parts; k++) {
	double *part = plate(inner + 2, n + 2);

	if (grpc_invoke_np(&o[k], "fetch", inner + 2, n + 2, part) != GRPC_NO_ERROR)
	    die("fetch");
	memcpy(out + (k * inner + 1) * (n + 2), part + n + 2, sizeof(double) * inner * (n + 2));
	free(part);
	if (change[k] > most)
	    most = change[k];
    }
    for (i = 0; i < (n + 2) * (n + 2); i++)
	if (fabs(out[i] - u[i]) > 1e-9)
	    bad++;
    if (bad)
	fprintf(stderr, "%d of %d points differ\n", bad, (n + 2) * (n + 2));
    if (fabs(most - whole) > 1e-12) {
	fprintf(stderr, "the changes differ: %g, %g\n", most, whole);
	bad++;
    }
    if (grpc_object_handle_array_destruct_np(o, parts) != GRPC_NO_ERROR)
	die("destruct");
    if (grpc_function_handle_destruct(&f) != GRPC_NO_ERROR)
	die("destruct");
    if (grpc_finalize() != GRPC_NO_ERROR)
	die("grpc_finalize");
    printf("%-12s ... %s\n", "heat", bad ? "NG" : "OK");
    return bad != 0;
}
