/* ck.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ninf.h"

static int bad;

#define must(call) do { \
	if ((call) == NINF_ERROR) { bad++; fprintf(stderr, "line %d: ", __LINE__); Ninf_perror(#call); } \
    } while (0)
#define check(cond) do { \
	if (!(cond)) { bad++; fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #cond); } \
    } while (0)
#define done(name) do { printf("%s: %s\n", name, bad ? "NG" : "OK"); return bad != 0; } while (0)
