/* Connections that cannot be made, or were lost while nobody used them: tried again as the
 * configuration says, made again where the server is back, and one code where it is gone. */
#include <sys/socket.h>
#include <sys/un.h>

#include "grpc_check.h"

static char path[] = "/tmp/farcall-grpc-XXXXXX";

static grpc_error_t begin_with(const char *host, const char *more)
{
    FILE *file = fopen(path, "w");
    fprintf(file,
        "<CLIENT>\nloglevel 4\nlog_filePath %s.log\n</CLIENT>\n<SERVER>\nhostname "
        "%s\n%s</SERVER>\n",
        path, host, more);
    fclose(file);
    return grpc_initialize(path);
}

/* How often the log has the words, which is emptied. */
static int logged(const char *words)
{
    char name[100], line[1000];
    int count = 0;
    FILE *file;
    snprintf(name, sizeof name, "%s.log", path);
    file = fopen(name, "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, words) != NULL;
    if (file)
        fclose(file);
    unlink(name);
    return count;
}

static void tried_again(void)
{
    grpc_function_handle_t handle;
    double begun;
    CHECK_OK(begin_with("unix:/nonexistent/socket",
        "tcp_connect_retryCount 2\ntcp_connect_retryRandom false\n"
        "tcp_connect_retryIncreaseRatio 0.5\n"));
    begun = check_now();
    CHECK_CODE(grpc_function_handle_default(&handle, "succeed"), GRPC_SERVER_NOT_FOUND);
    CHECK(check_now() - begun > 1.4 && check_now() - begun < 4);
    CHECK_OK(grpc_finalize());
    CHECK(logged("connects again in") == 2);
    /* Nobody asked for it. */
    CHECK_OK(begin_with("unix:/nonexistent/socket", ""));
    begun = check_now();
    CHECK_CODE(grpc_function_handle_default(&handle, "succeed"), GRPC_SERVER_NOT_FOUND);
    CHECK(check_now() - begun < 0.9);
    CHECK_OK(grpc_finalize());
    CHECK(logged("connects again in") == 0);
    /* A handle has less time than that. */
    CHECK_OK(begin_with("unix:/nonexistent/socket",
        "tcp_connect_retryRandom false\ntcp_connect_retryBaseInterval 60\n"
        "job_startTimeout 1\n"));
    CHECK_CODE(grpc_function_handle_default(&handle, "succeed"), GRPC_TIMEOUT_NP);
    CHECK_OK(grpc_finalize());
}

/* Takes one connection, and ends it before a word, as a server does that is killed at this moment.
   */
static void *hangs_up(void *listener)
{
    int one = accept(*(int *)listener, NULL, NULL);
    close(one);
    return NULL;
}

static void ended_before_a_word(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[120];
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    grpc_function_handle_t handle;
    pthread_t thread;
    snprintf(address.sun_path, sizeof address.sun_path, "%s.socket", path);
    snprintf(name, sizeof name, "unix:%s", address.sun_path);
    CHECK(bind(listener, (struct sockaddr *) &address, sizeof address) == 0 &&
          listen(listener, 1) == 0);
    pthread_create(&thread, NULL, hangs_up, &listener);
    CHECK_OK(begin_with(name, ""));
    CHECK_CODE(grpc_function_handle_default(&handle, "succeed"), GRPC_SERVER_NOT_FOUND);
    CHECK_OK(grpc_finalize());
    pthread_join(thread, NULL);
    close(listener);
    unlink(address.sun_path);
}

/* A server that went and came back between two calls. */
static void back_again(void)
{
    static const char *const files[] = {"clients/gridrpc/tests/checks.idl"};
    char address[300];
    const char *arguments[] = {"--listen", address};
    farcall_server_options options = {sizeof options, NULL, files, 1, NULL, 0, 0};
    farcall_server *server;
    farcall_error *error;
    grpc_function_handle_t handle;
    int y = 0;
    snprintf(address, sizeof address, "unix:%s.again", path);
    options.arguments = arguments;
    options.argument_count = 2;
    CHECK(farcall_server_start(&options, &server, &error) == FARCALL_OK);
    CHECK_OK(begin_with(address, ""));
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    farcall_server_stop(server);
    CHECK(farcall_server_start(&options, &server, &error) == FARCALL_OK);
    usleep(20 * 1000);
    CHECK_OK(grpc_call(&handle, 2, &y));
    CHECK(y == 3);
    farcall_server_stop(server);
    usleep(20 * 1000);
    CHECK_CODE(grpc_call(&handle, 2, &y), GRPC_SERVER_NOT_FOUND);
    CHECK_OK(grpc_finalize());
    unlink(address + 5);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    unsetenv("NG_LOG_LEVEL");
    close(mkstemp(path));
    tried_again();
    ended_before_a_word();
    back_again();
    logged("");
    unlink(path);
    return check_end(server);
}
