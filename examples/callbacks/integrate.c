/* integrate.c: passes a function of its own to a routine that integrates it */
#include <farcall.h>
#include <stdio.h>

static double square(double x) { return x * x; }

int main(void)
{
    farcall_error *error;
    farcall_client *client;
    double integral = 0;
    if (farcall_connect(NULL, &client, &error) == FARCALL_OK)
        farcall_call(client, &error, "integrate/trapezoid", 0.0, 1.0, 100, &integral, square);
    if (error != NULL) {
        fprintf(stderr, "%s\n", farcall_error_message(error));
        return 1;
    }
    printf("%.3f\n", integral);
    farcall_disconnect(client);
    return 0;
}
