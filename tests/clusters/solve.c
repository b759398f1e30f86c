/* Solves A x = b at the servers of $FARCALL_SERVER, once for each argument, on the server that it
 * names or, for "-", where it ends first; prints where each ran. */
#include <farcall.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failed(farcall_error *error)
{
    fprintf(stderr, "solve: %s\n", farcall_error_message(error));
    return 1;
}

/* One that its result replaces. */
static farcall_argument matrix(double *data, uint64_t *shape)
{
    farcall_argument argument;
    memset(&argument, 0, sizeof argument);
    argument.kind = FARCALL_ARRAY;
    argument.element = FARCALL_FLOAT64;
    argument.data = data;
    argument.rank = 2;
    argument.shape = shape;
    argument.destination = FARCALL_IN_PLACE;
    return argument;
}

int main(int count, char **places)
{
    farcall_client *client;
    farcall_error *error;
    farcall_routine *routine;
    int place;
    if (farcall_connect(NULL, &client, &error) != FARCALL_OK ||
        farcall_lookup(client, "lapack/dgesv", &routine, &error) != FARCALL_OK)
        return failed(error);
    for (place = 1; place < count; place++) {
        double a[] = {4, 1, 1, 3}, b[] = {1, 2};
        uint64_t square[] = {2, 2}, column[] = {2, 1};
        farcall_argument arguments[8];
        farcall_call_options options;
        farcall_results *results;
        memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.at = strcmp(places[place], "-") ? places[place] : NULL;
        memset(arguments, 0, sizeof arguments);
        arguments[2] = matrix(a, square);
        arguments[5] = matrix(b, column);
        if (farcall_call_arguments(routine, arguments, 8, &options, &results, &error) != FARCALL_OK)
            return failed(error);
        if (fabs(b[0] - 1.0 / 11) > 1e-12 || fabs(b[1] - 7.0 / 11) > 1e-12)
            return 1;
        puts(farcall_results_server(results));
        farcall_results_free(results);
    }
    farcall_routine_free(routine);
    farcall_disconnect(client);
    return 0;
}
