/* survey.h: what the parts of the survey share */
#ifndef SURVEY_H
#define SURVEY_H

#include <grpc.h>

typedef struct {
    const char *name;
    void (*run)(void);
    const char *text;
} Test;

extern int verbose, failures;

extern void report(const char *file, int line, const char *what, grpc_error_t code);
extern void fail(const char *file, int line, const char *fmt, ...);

#define G(call) do {						\
	grpc_error_t code_ = (call);				\
	if (code_ != GRPC_NO_ERROR)				\
	    report(__FILE__, __LINE__, #call, code_);		\
	else if (verbose > 1)					\
	    fprintf(stderr, "  %s\n", #call);			\
    } while (0)

#define WANT(code, call) do {					\
	grpc_error_t code_ = (call);				\
	if (code_ != (code))					\
	    fail(__FILE__, __LINE__, "%s: %s, not %s", #call,	\
		 grpc_error_string(code_), grpc_error_string(code)); \
    } while (0)

#define TRUTH(c) do {						\
	if (!(c)) fail(__FILE__, __LINE__, "%s", #c);		\
    } while (0)

#define NUM(a) ((int)(sizeof(a) / sizeof((a)[0])))

void test_async(void), test_callback(void), test_cancel(void), test_types(void),
    test_files(void), test_null(void), test_range(void), test_array(void);

#endif
