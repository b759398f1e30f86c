/* t_callback.c: functions of ours that routines call */
#include <math.h>
#include "survey.h"

static int evaluations;

static void objective(double x, double *fx)
{
    evaluations++;
    *fx = (x - 0.3) * (x - 0.3) + 1;
}

#define M 4
static int seen[12], nseen;

static void take(int *chunk, int first)
{
    memcpy(seen + first, chunk, M * sizeof(int));
    nseen += M;
}

static void put(int first, int *chunk)
{
    int i;

    for (i = 0; i < M; i++)
	chunk[i] = seen[first + i] * 10;
}

static void answer(char *question, int n, char **choice, char **text)
{
    TRUTH(strcmp(question, "coffee?") == 0);
    TRUTH(n == 3 && strcmp(choice[0], "yes") == 0 && choice[1][0] == '\0');
    *text = strdup(choice[2]);
}

static void types(char c, short s, int i, long l, float x, double y, char *t,
		  char *oc, short *os, int *oi, long *ol, float *ox, double *oy)
{
    TRUTH(strcmp(t, "seven") == 0);
    *oc = c + 1; *os = s + 1; *oi = i + 1; *ol = l + 1; *ox = x + 1; *oy = y + 1;
}

void test_callback(void)
{
    grpc_function_handle_t h, many[2];
    grpc_sessionid_t id[2];
    double at = 0, ats[2];
    int n = 0, i, a[12], ok = 0, ns[2];
    char *reply = NULL;

    G(grpc_function_handle_default(&h, "steer/minimize"));
    G(grpc_call(&h, -1.0, 1.0, 1e-5, &at, &n, objective));
    TRUTH(fabs(at - 0.3) < 1e-4);
    TRUTH(evaluations == 2 * n);
    G(grpc_function_handle_destruct(&h));

    for (i = 0; i < 12; i++)
	a[i] = i;
    G(grpc_function_handle_default(&h, "steer/exchange"));
    G(grpc_call(&h, 12, M, a, take, put));
    TRUTH(nseen == 12);
    for (i = 0; i < 12; i++)
	TRUTH(a[i] == 10 * i);
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "steer/talk"));
    G(grpc_call(&h, "coffee", &reply, answer));
    TRUTH(reply != NULL && strcmp(reply, "perhaps") == 0);
    free(reply);
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "steer/allTypes"));
    G(grpc_call(&h, &ok, types));
    TRUTH(ok == 1);
    G(grpc_function_handle_destruct(&h));

    /* two at a time */
    for (i = 0; i < 2; i++) {
	G(grpc_function_handle_default(&many[i], "steer/minimize"));
	G(grpc_call_async(&many[i], &id[i], -1.0 - i, 1.0, 1e-4, &ats[i], &ns[i], objective));
    }
    G(grpc_wait_all());
    for (i = 0; i < 2; i++) {
	TRUTH(fabs(ats[i] - 0.3) < 1e-3);
	G(grpc_function_handle_destruct(&many[i]));
    }
}
