/* own.c: calls the C and the Fortran routine from C */
#include <farcall.h>
#include <stdio.h>

int main(void)
{
    farcall_client *server;
    farcall_error *error = NULL;
    double rod[5] = {0, 100, 0, 0, 0}, u[5];
    double x[3] = {0, 1, 2}, y[3] = {0, 1, 0}, total;

    if (farcall_connect(NULL, &server, &error) ||
        farcall_call(server, &error, "heat", 5, 2, 0.25, rod, u) ||
        farcall_call(server, &error, "area", 3, x, y, &total)) {
        fprintf(stderr, "%s\n", farcall_error_message(error));
        return 1;
    }
    printf("%g %g %g %g %g\n%g\n", u[0], u[1], u[2], u[3], u[4], total);
    farcall_disconnect(server);
}
