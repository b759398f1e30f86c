/* A process that was forked: it may neither use nor disturb its parent's connection, and connects
   for itself. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* In the child: whatever it does to the parent's objects stays without effect there. */
static int in_child(farcall_client *client, farcall_call *pending, const char *address)
{
    double sum = 0;
    uint64_t number;
    farcall_client *own;
    farcall_routine *routine;
    farcall_error *error;
    CHECK_ERROR(farcall_call(client, &error, "add", 1, 2.0, &sum), error, FARCALL_CONNECTION_LOST,
        "before the fork");
    CHECK_ERROR(farcall_call_wait(pending, 5, NULL, &error), error, FARCALL_CONNECTION_LOST,
        "connect again");
    CHECK_ERROR(farcall_lookup(client, "grow", &routine, &error), error, FARCALL_CONNECTION_LOST,
        "before the fork");
    CHECK(farcall_next_finished(client, 0, &number, NULL) != FARCALL_PENDING);
    farcall_call_cancel(pending, NULL);
    farcall_call_free(pending);
    farcall_disconnect(client);
    CHECK_OK(farcall_connect(address, &own, &error), error);
    CHECK_OK(farcall_call(own, &error, "add", 1, 2.0, &sum), error);
    CHECK(sum == 3);
    farcall_disconnect(own);
    return check_failed ? 1 : 0;
}

int main(void)
{
    double sum = 0;
    int done = 0, status = -1;
    farcall_client *client;
    farcall_call *pending;
    farcall_error *error;
    farcall_server *server = check_begin(&client);
    CHECK_OK(farcall_call(client, &error, "add", 2, 2.0, &sum), error);
    CHECK_OK(farcall_start_call(client, &error, &pending, "pause", 0.5, &done), error);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        status = in_child(client, pending, farcall_server_address(server));
        fflush(stdout);
        _exit(status);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
          WEXITSTATUS(status) == 0);
    CHECK_OK(farcall_call_wait(pending, 20, NULL, &error), error);
    CHECK(done == 1);
    farcall_call_free(pending);
    CHECK_OK(farcall_call(client, &error, "add", 3, 4.0, &sum), error);
    CHECK(sum == 7);
    return check_end(server, client);
}
