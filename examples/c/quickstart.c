/* Solves two equations on a server of this program's own: cc quickstart.c -lfarcall && ./a.out */
#include <farcall.h>
#include <stdio.h>

int main(void)
{
    double a[2][2] = {{4, 1}, {1, 3}}, b[2] = {1, 2}; /* by columns, as LAPACK has it */
    int ipiv[2], info;
    farcall_server *server = NULL;
    farcall_client *client = NULL;
    farcall_error *error;
    int failed = farcall_server_start(NULL, &server, &error) ||
                 farcall_connect(farcall_server_address(server), &client, &error) ||
                 farcall_call(client, &error, "lapack/dgesv", 2, 1, a, 2, ipiv, b, 2, &info);
    if (failed)
        fprintf(stderr, "%s\n", farcall_error_message(error));
    else
        printf("x = %g %g, info = %d\n", b[0], b[1], info);
    farcall_error_free(error);
    farcall_disconnect(client);
    farcall_server_stop(server);
    return failed ? 1 : 0;
}
