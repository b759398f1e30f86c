/* report.c: says what went wrong */
#include "survey.h"

int verbose = 0, failures = 0;

void report(const char *file, int line, const char *what, grpc_error_t code)
{
    char head[256];

    failures++;
    snprintf(head, sizeof head, "%s:%d: %s", file, line, what);
    grpc_perror_np(head);
    if (code != grpc_last_error_get_np())
	fprintf(stderr, "%s: but the last error is %d\n", head, grpc_last_error_get_np());
}

void fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    failures++;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
}
