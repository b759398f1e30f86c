/* What the tests of the C client share: counting, and a private server with the routines of
   checks.idl and LAPACK. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "farcall.h"

static int check_passed, check_failed;

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __LINE__)

static inline void check_that(int fine, const char *what, int line)
{
    if (fine) {
        check_passed++;
    } else {
        check_failed++;
        printf("FAIL line %d: %s\n", line, what);
    }
}

/* A call that must succeed. The address of `error` is passed: arguments are evaluated in any order.
   */
#define CHECK_OK(status, error) check_ok((status), &(error), #status, __LINE__)

static inline void check_ok(int status, farcall_error *const *place, const char *what, int line)
{
    farcall_error *error = *place;
    check_that(status == FARCALL_OK && !error, what, line);
    if (error)
        printf("    %s\n", farcall_error_message(error));
    farcall_error_free(error);
}

/* A call that must fail with this kind, and a message that contains this text. */
#define CHECK_ERROR(status, error, kind, text) \
    check_error((status), &(error), (kind), (text), #status, __LINE__)

static inline void check_error(
    int status, farcall_error *const *place, int kind, const char *text, const char *what, int line)
{
    farcall_error *error = *place;
    const char *message = farcall_error_message(error);
    int fine =
        status == kind && error && farcall_error_kind(error) == kind && strstr(message, text);
    check_that(fine, what, line);
    if (!fine)
        printf("    status %d, wanted %d and \"%s\", got: %s\n", status, kind, text, message);
    farcall_error_free(error);
}

/* Starts the server and connects. The tests run at the top of the repository. */
static inline farcall_server *check_begin(farcall_client **client)
{
    static const char *const files[] = {"clients/c/tests/checks.idl", "routines/lapack/lapack.idl",
                                        "routines/lapack/blas.idl"};
    farcall_server_options options = {sizeof options, NULL, files, 3, NULL, 0, 0};
    farcall_server *server;
    farcall_error *error;
    if (farcall_server_start(&options, &server, &error) != FARCALL_OK ||
        farcall_connect(farcall_server_address(server), client, &error) != FARCALL_OK) {
        printf("FAIL %s\n0 passed, 1 failed\n", farcall_error_message(error));
        exit(1);
    }
    return server;
}

static inline int check_end(farcall_server *server, farcall_client *client)
{
    farcall_disconnect(client);
    farcall_server_stop(server);
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}

#endif
