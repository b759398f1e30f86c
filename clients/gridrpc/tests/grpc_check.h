/* What the tests of the GridRPC library share: counting, and a private server with the routines of
   checks.idl. */
#ifndef GRPC_CHECK_H
#define GRPC_CHECK_H

#include "farcall.h"
#include "grpc.h"

static int check_passed, check_failed;

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __LINE__)
#define CHECK_CODE(status, code) check_code((status), (code), #status, __LINE__)
#define CHECK_OK(status) CHECK_CODE(status, GRPC_NO_ERROR)

static inline void check_that(int fine, const char *what, int line)
{
    if (fine) {
        check_passed++;
    } else {
        check_failed++;
        printf("FAIL line %d: %s\n", line, what);
    }
}

static inline void check_code(int status, int code, const char *what, int line)
{
    check_that(status == code, what, line);
    if (status != code)
        printf("    %d (%s), wanted %d (%s)\n", status, grpc_error_string(status), code,
            grpc_error_string(code));
}

static inline double check_now(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return now.tv_sec + now.tv_usec * 1e-6;
}

/* Starts the server, which is the default one from now on, with other files beside checks.idl and
 * with arguments of its own. The tests run at the top of the repository. */
static inline farcall_server *check_begin_with(
    const char *const *more, size_t more_count, const char *const *arguments, size_t count)
{
    const char *files[8] = {"clients/gridrpc/tests/checks.idl"};
    farcall_server_options options = {
        sizeof options, NULL, files, more_count + 1, arguments, count, 0};
    farcall_server *server;
    farcall_error *error;
    memcpy(files + 1, more, more_count * sizeof *more);
    if (farcall_server_start(&options, &server, &error) != FARCALL_OK) {
        printf("FAIL %s\n0 passed, 1 failed\n", farcall_error_message(error));
        exit(1);
    }
    setenv("FARCALL_SERVER", farcall_server_address(server), 1);
    /* No file of the user's: what these tests expect is without one. */
    unsetenv("NG_CONFIG_FILE");
    setenv("HOME", "/nonexistent", 1);
    /* Errors are provoked by the hundred here. */
    if (!getenv("NG_LOG_LEVEL"))
        setenv("NG_LOG_LEVEL", "0", 1);
    return server;
}

static inline farcall_server *check_begin(size_t count, const char *const *arguments)
{
    const char *const none[] = {NULL};
    return check_begin_with(none, 0, arguments, count);
}

/* The process number of the child that this thread started last. */
static inline pid_t check_youngest_child(void)
{
    char path[100];
    long child, found = -1;
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    file = fopen(path, "r");
    while (file && fscanf(file, "%ld", &child) == 1)
        found = child;
    if (file)
        fclose(file);
    return (pid_t)found;
}

static inline int check_end(farcall_server *server)
{
    farcall_server_stop(server);
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}

#endif
