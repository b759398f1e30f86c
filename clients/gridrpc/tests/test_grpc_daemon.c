/* A program without standard streams, as daemons are: nothing of the library's gets their numbers,
 * and what a routine prints goes nowhere. */
#include "grpc_check.h"

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    char path[] = "/tmp/farcall-grpc-daemon-XXXXXX";
    grpc_function_handle_t handle;
    FILE *configuration = fdopen(mkstemp(path), "w");
    int stream, y = 0, kept = dup(1);
    fprintf(configuration, "<SERVER>\nhostname %s\ninvoke_server SSH\n</SERVER>\n",
        getenv("FARCALL_SERVER"));
    fclose(configuration);
    for (stream = 0; stream < 3; stream++)
        close(stream);
    CHECK_OK(grpc_initialize(path));
    for (stream = 0; stream < 3; stream++) {
        char name[30], place[100] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", stream);
        CHECK(readlink(name, place, sizeof place - 1) > 0 && strcmp(place, "/dev/null") == 0);
    }
    CHECK_OK(grpc_function_handle_default(&handle, "say"));
    CHECK_OK(grpc_call(&handle, "words to nobody\n"));
    /* One that is closed later is not the next connection's, either. */
    close(2);
    CHECK_OK(grpc_finalize());
    CHECK_OK(grpc_initialize(path));
    CHECK_OK(grpc_function_handle_default(&handle, "say"));
    CHECK_OK(grpc_call(&handle, "words to nobody\n"));
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK_OK(grpc_finalize());
    unlink(path);
    dup2(kept, 1);
    return check_end(server);
}
