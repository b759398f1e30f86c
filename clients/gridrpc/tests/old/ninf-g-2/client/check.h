/*
 * check.h: what all clients have
 */
#include <stdio.h>
#include "grpc.h"

static int ng = 0;		/* number of errors */
static grpc_error_t rc;

#define CALL(f)								\
	if ((rc = (f)) != GRPC_NO_ERROR) {				\
		fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,	\
			#f, grpc_error_string(rc));			\
		ng++;							\
	}

#define CHECK(c)							\
	if (!(c)) {							\
		fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #c); \
		ng++;							\
	}

#define CHECK_RC(f, code)						\
	if ((rc = (f)) != (code)) {					\
		fprintf(stderr, "%s:%d: %s: %s instead of %s\n",	\
			__FILE__, __LINE__, #f, grpc_error_string(rc), #code); \
		ng++;							\
	}

#define START(argc, argv)						\
	if (argc < 2) {							\
		fprintf(stderr, "Usage: %s CONFIG\n", argv[0]);		\
		exit(2);						\
	}								\
	if ((rc = grpc_initialize(argv[1])) != GRPC_NO_ERROR) {		\
		fprintf(stderr, "%s: grpc_initialize: %s\n", argv[0],	\
			grpc_error_string(rc));				\
		exit(2);						\
	}

#define FINISH(name)							\
	CALL(grpc_finalize());						\
	printf("%-10s %s\n", name, ng ? "NG" : "OK");			\
	exit(ng != 0)
