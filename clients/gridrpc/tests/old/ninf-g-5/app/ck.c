/* ck.c: what the checks share */
#include "ck.h"

int ck_errors = 0;
const char *ck_name = "?";
static int bound = 0;

void ck_begin(int argc, char **argv)
{
    grpc_error_t rc;

    ck_name = argv[0] + (strncmp(argv[0], "./", 2) == 0 ? 2 : 0);
    if (argc != 2) {
	fprintf(stderr, "usage: %s <configuration file>\n", ck_name);
	exit(EXIT_FAILURE);
    }
    rc = grpc_initialize(argv[1]);
    if (rc != GRPC_NO_ERROR) {
	grpc_perror_np(argv[1]);
	exit(EXIT_FAILURE);
    }
}

int ck_end(void)
{
    OK(grpc_finalize());
    printf("%-12s ... %s\n", ck_name, ck_errors ? "NG" : "OK");
    return ck_errors ? EXIT_FAILURE : EXIT_SUCCESS;
}

grpc_error_t ck_call(grpc_error_t rc, grpc_error_t want, const char *what, const char *file, int line)
{
    if (rc != want) {
	ck_errors++;
	fprintf(stderr, "%s:%d: %s returns \"%s\"", file, line, what, grpc_error_string(rc));
	if (want != GRPC_NO_ERROR)
	    fprintf(stderr, ", not \"%s\"", grpc_error_string(want));
	fputc('\n', stderr);
    }
    return rc;
}

void ck_true(int truth, const char *what, const char *file, int line)
{
    if (truth)
	return;
    ck_errors++;
    fprintf(stderr, "%s:%d: %s is not so\n", file, line, what);
}

grpc_function_handle_t *ck_handle(const char *name)
{
    grpc_function_handle_t *h = calloc(1, sizeof *h);
    char full[100];

    assert(h != NULL);
    snprintf(full, sizeof full, "check/%s", name);
    if (bound++ % 2)
	OK(grpc_function_handle_init(h, "desk", full));
    else
	OK(grpc_function_handle_default(h, full));
    return h;
}

void ck_release(grpc_function_handle_t *h)
{
    OK(grpc_function_handle_destruct(h));
    free(h);
}
