/*
 * survey.c: runs the parts of the survey that are named, or all
 *
 *	survey [-v] [-r times] [-t part]... config
 */
#include <getopt.h>
#include "survey.h"

static Test tests[] = {
    { "async", test_async, "asynchronous calls" },
    { "callback", test_callback, "callbacks" },
    { "cancel", test_cancel, "cancellation" },
    { "types", test_types, "data types" },
    { "files", test_files, "files" },
    { "null", test_null, "null arguments and zero elements" },
    { "range", test_range, "ranges and strides" },
    { "array", test_array, "arrays of handles, attributes" },
    { NULL, NULL, NULL }
};

static volatile sig_atomic_t interrupted = 0;

static void on_signal(int sig)
{
    interrupted = sig;
    grpc_cancel_all();
}

static void usage(char *me)
{
    Test *t;

    fprintf(stderr, "usage: %s [-v] [-r times] [-t part]... config\nparts:\n", me);
    for (t = tests; t->name; t++)
	fprintf(stderr, "  %-10s %s\n", t->name, t->text);
    exit(1);
}

static int wanted(char **names, int n, const char *name)
{
    int i;

    for (i = 0; i < n; i++)
	if (strcmp(names[i], name) == 0)
	    return 1;
    return n == 0;
}

int main(int argc, char *argv[])
{
    char *names[32];
    int n = 0, c, times = 1, i, before;
    grpc_error_t rc;
    Test *t;

    while ((c = getopt(argc, argv, "vr:t:")) != EOF) {
	switch (c) {
	case 'v': verbose++; break;
	case 'r': times = atoi(optarg); break;
	case 't': assert(n < NUM(names)); names[n++] = optarg; break;
	default: usage(argv[0]);
	}
    }
    if (optind + 1 != argc)
	usage(argv[0]);

    for (i = 0; i < times; i++) {
	if ((rc = grpc_initialize(argv[optind])) != GRPC_NO_ERROR) {
	    fprintf(stderr, "%s: %s\n", argv[optind], grpc_error_string(rc));
	    exit(1);
	}
	WANT(GRPC_ALREADY_INITIALIZED, grpc_initialize(argv[optind]));
	G(grpc_signal_handler_set_np(SIGTERM, on_signal));
	for (t = tests; t->name && !interrupted; t++) {
	    if (!wanted(names, n, t->name))
		continue;
	    before = failures;
	    if (verbose)
		fprintf(stderr, "%s\n", t->text);
	    (*t->run)();
	    printf("%-10s%s\n", t->name, failures == before ? "OK" : "NG");
	    fflush(stdout);
	}
	G(grpc_finalize());
	WANT(GRPC_NOT_INITIALIZED, grpc_finalize());
    }
    return failures ? 1 : 0;
}
