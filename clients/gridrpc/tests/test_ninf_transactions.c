/* Transactions of the classic Ninf interface that a server runs as a graph: what crosses the link,
 * what is in memory at the end, and which ones run from here. All of them twice, with the same
 * results: at a server alone, and at a metaserver that two servers have joined. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ninf.h"

#include "grpc_check.h"
#include "grpc_proxy.h"

#define N 200
/* Bytes of a matrix, and of all that goes around the arrays of a transaction. */
#define MATRIX ((long)(N * N * sizeof(double)))
#define AROUND 30000

static double a[N * N], b[N * N], c[3][N * N], expected[3][N * N];
static char folder[] = "/tmp/farcall-ninf-transactions-XXXXXX", token[100];
/* Calls that run from here go to the server that a metaserver names, and not through the proxy. */
static int is_placed;

/* Transactions count from their begin. */
static int begin(void)
{
    proxy_plan(0, -1, PROXY_PASS, NULL);
    return Ninf_transaction_begin();
}

/* Whether so many matrices crossed the link each way, and not one more. */
static int crossed(int sent, int received)
{
    long to = proxy_passed(0), from = proxy_passed(1);
    int fine = to >= sent * MATRIX && to < sent * MATRIX + AROUND && from >= received * MATRIX &&
               from < received * MATRIX + AROUND;
    if (!fine)
        printf("    %ld and %ld bytes crossed, wanted %d and %d matrices of %ld\n", to, from, sent,
            received, MATRIX);
    return fine;
}

static void multiply(const double *left, const double *right, double *made)
{
    int i, j, k;
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            for (made[i * N + j] = 0, k = 0; k < N; k++)
                made[i * N + j] += left[i * N + k] * right[k * N + j];
}

static int alike(const double *one, const double *other)
{
    int k = 0;
    while (k < N * N && one[k] - other[k] < 1e-9 && other[k] - one[k] < 1e-9)
        k++;
    return k == N * N;
}

/* Matrices between two calls do not come here, unless they are wanted; inputs go there once. */
static void chains(void)
{
    int k;
    for (k = 0; k < N * N; k++)
        a[k] = drand48() / N, b[k] = drand48() / N;
    multiply(a, b, expected[0]), multiply(expected[0], b, expected[1]);
    multiply(expected[1], b, expected[2]);

    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("product", N, a, b, c[0]) == NINF_OK);
    CHECK(Ninf_call("product", N, c[0], b, c[1]) == NINF_OK);
    CHECK(Ninf_call("product", N, c[1], b, c[2]) == NINF_OK);
    CHECK(Ninf_transaction_temporary(c[0]) == NINF_OK);
    CHECK(Ninf_transaction_temporary(c[1]) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(alike(c[2], expected[2]) && crossed(2, 1));

    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("product", N, a, b, c[0]) == NINF_OK);
    CHECK(Ninf_call("product", N, c[0], b, c[1]) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(alike(c[0], expected[0]) && alike(c[1], expected[1]) && crossed(2, 2));

    CHECK(Ninf_transaction_temporary(c[0]) == NINF_ERROR &&
          Ninf_error_code() == TRANSACTION_NOT_BEGUN);
    CHECK(begin() == NINF_OK && Ninf_transaction_temporary(NULL) == NINF_ERROR &&
          Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_transaction_cancel() == NINF_OK);
}

/* Only what is written last comes; who reads before that has what was there at its turn. */
static void written_twice(void)
{
    double before = -1, between = -1, after = -1;
    a[0] = 5;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("first", N * N, a, &before) == NINF_OK);
    CHECK(Ninf_call("set", N * N, 6.0, a) == NINF_OK);
    CHECK(Ninf_call("first", N * N, a, &between) == NINF_OK);
    CHECK(Ninf_call("set", N * N, 7.0, a) == NINF_OK);
    CHECK(Ninf_call("first", N * N, a, &after) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(before == 5 && between == 6 && after == 7 && a[0] == 7 && a[N * N - 1] == 7);
    CHECK(crossed(1, 1));
}

/* Calls that change an array, one after the other; and one that takes it twice. */
static void in_place(void)
{
    int k;
    for (k = 0; k < N * N; k++)
        a[k] = 1, b[k] = k % 7;
    CHECK(begin() == NINF_OK);
    for (k = 0; k < 4; k++)
        CHECK(Ninf_call("axpy", N * N, 2.0, a, b) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    for (k = 0; k < N * N && b[k] == k % 7 + 8; k++)
        ;
    CHECK(k == N * N && crossed(2, 1));

    for (k = 0; k < N * N; k++)
        a[k] = b[k] = k % (N + 1) ? 0 : 3;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("product", N, a, b, a) == NINF_OK);
    CHECK(Ninf_call("product", N, a, b, a) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(a[0] == 27 && a[1] == 0 && a[N * N - 1] == 27 && b[0] == 3);
}

/* Arrays that overlap in part, or have another shape elsewhere: all calls run from here. */
static void seen_otherwise(void)
{
    int k;
    double value = -1;
    for (k = 0; k < N * N; k++)
        b[k] = 1;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("set", N * N, 2.0, a) == NINF_OK);
    CHECK(Ninf_call("set", N * N / 2, 5.0, a + N * N / 4) == NINF_OK);
    CHECK(Ninf_call("axpy", N * N, 1.0, a, b) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(b[0] == 3 && b[N * N / 2] == 6 && b[N * N - 1] == 3 && a[N * N / 2] == 5);
    CHECK(is_placed || (proxy_passed(0) > 2 * MATRIX && proxy_passed(1) > 5 * MATRIX / 2));

    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("product", N, a, b, c[0]) == NINF_OK);
    CHECK(Ninf_call("first", N * N, c[0], &value) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(value == c[0][0] && value > 0 && (is_placed || proxy_passed(0) > 3 * MATRIX));
}

/* A number that one call makes is an array of one element to another. */
static void numbers(void)
{
    double value = -1, twice = 1, sum = -1;
    a[0] = 4;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("first", N * N, a, &value) == NINF_OK);
    CHECK(Ninf_call("axpy", 1, 2.0, &value, &twice) == NINF_OK);
    CHECK(Ninf_call("add", 1, 2.0, &sum) == NINF_OK);
    CHECK(value == -1 && Ninf_transaction_end() == NINF_OK);
    CHECK(value == 4 && twice == 9 && sum == 3 && crossed(1, 0));
}

/* One that fails keeps back those that need its results, or write where it was to; no others. */
static void failures(void)
{
    double value = -1;
    int k;
    for (k = 0; k < N * N; k++)
        a[k] = 1, b[k] = 2;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("set", N * N, 3.0, c[0]) == NINF_OK);
    CHECK(Ninf_call("break_off", N * N, a) == NINF_OK);
    CHECK(Ninf_call("axpy", N * N, 1.0, a, b) == NINF_OK);
    CHECK(Ninf_call("set", N * N, 9.0, a) == NINF_OK);
    CHECK(Ninf_call("first", N * N, c[0], &value) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_ERROR && Ninf_error_code() == TRANSACTION_FAILED);
    CHECK(a[0] == 1 && b[0] == 2 && c[0][0] == 3 && value == 3);
    CHECK(Ninf_call("set", N * N, 9.0, a) == NINF_OK && a[0] == 9);
}

/* Calls with wrong arguments are refused at once, and hold no other one back. */
static void refusals(void)
{
    a[0] = b[0] = c[0][0] = c[1][0] = 1;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("set", N * N, 3.0, c[0]) == NINF_OK);
    CHECK(Ninf_call("set", -3, 3.0, a) == NINF_ERROR);
    CHECK(Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_call("axpy", -1, 3.0, a, b) == NINF_ERROR);
    CHECK(Ninf_call("set", N * N, 4.0, c[1]) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_ERROR && Ninf_error_code() == TRANSACTION_FAILED);
    CHECK(a[0] == 1 && b[0] == 1 && c[0][0] == 3 && c[1][N * N - 1] == 4);
}

static void *cancel_soon(void *nothing)
{
    (void)nothing;
    usleep(300000);
    return (void *)(long)Ninf_transaction_cancel();
}

static void cancelled(void)
{
    pthread_t thread;
    void *status = NULL;
    int done = 0, y = 0;
    double begun = check_now();
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("rest", 30.0, &done) == NINF_OK && Ninf_call("succeed", 1, &done) == NINF_OK &&
          Ninf_call("succeed", 1, &y) == NINF_OK);
    pthread_create(&thread, NULL, cancel_soon, NULL);
    CHECK(Ninf_transaction_end() == NINF_ERROR && Ninf_error_code() == TRANSACTION_CANCELED);
    pthread_join(thread, &status);
    CHECK((long)status == NINF_OK && (is_placed || check_now() - begun < 10));
    CHECK(done == 0 && y == 2);
}

/* The connection ends while the server runs it; and calls that go over two of them. */
static void connections(int direct)
{
    char entry[100];
    int done = 0;
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call("set", N * N, 3.0, a) == NINF_OK);
    CHECK(Ninf_call("axpy", N * N, 1.0, a, b) == NINF_OK);
    CHECK(Ninf_call("rest", 0.2, &done) == NINF_OK);
    proxy_plan(1, MATRIX, PROXY_CUT, NULL);
    CHECK(Ninf_transaction_end() == NINF_ERROR && Ninf_error_code() == TRANSACTION_FAILED);

    snprintf(entry, sizeof entry, "ninf://127.0.0.1:%d/set", direct);
    CHECK(begin() == NINF_OK);
    CHECK(Ninf_call(entry, N * N, 4.0, a) == NINF_OK);
    CHECK(Ninf_call("set", N * N, 1.0, b) == NINF_OK);
    CHECK(Ninf_call("axpy", N * N, 1.0, a, b) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK && b[0] == 5 && b[N * N - 1] == 5);
}

#define MANY 8

/* Calls for whose results the server has no room run from here, with what the others made. */
static void little_room(void)
{
    static double x[MANY][N * N], y[MANY][N * N];
    int k, round, done;
    for (k = 0; k < N * N; k++)
        b[k] = 1;
    for (round = 0; round < 2; round++) {
        memset(y, 0, sizeof y);
        CHECK(Ninf_transaction_begin() == NINF_OK);
        for (k = 0; k < MANY; k++)
            CHECK(Ninf_call("set", N * N, 1.0 + k, x[k]) == NINF_OK);
        for (k = 0; k < MANY; k++)
            CHECK(Ninf_call("product", N, x[k], b, y[k]) == NINF_OK);
        for (k = 0; round && k < MANY; k++)
            CHECK(Ninf_transaction_temporary(x[k]) == NINF_OK);
        done = Ninf_transaction_end();
        /* What is nowhere any more cannot be used from here. */
        CHECK(done == NINF_OK || (round && Ninf_error_code() == TRANSACTION_FAILED));
        for (k = 0; k < MANY; k++)
            CHECK(y[k][7] == (1.0 + k) * N || (done != NINF_OK && y[k][7] == 0));
        for (k = 0; k < MANY && x[k][N * N - 1] == 1.0 + k; k++)
            ;
        CHECK(round || k == MANY);
    }
}

static int port_of(farcall_server *server)
{
    return atoi(strrchr(farcall_server_address(server), ':') + 1);
}

/* Starts one, with little room or not. */
static farcall_server *start(int little)
{
    static const char *const files[] = {"clients/gridrpc/tests/chains.idl"};
    const char *const arguments[] = {"--listen", "tcp:127.0.0.1:0", "--token-file", token,
        "--manifest", "clients/gridrpc/tests/little_room.toml"};
    return check_begin_with(files, 1, arguments, little ? 6 : 4);
}

/* A metaserver, and the servers that joined it. */
struct joined {
    farcall_server *meta, *members[2];
    char files[3][120];
};

/* Starts one with these arguments. It publishes a file of its own, and as one of several also what
 * is called here. */
static farcall_server *serve(const char *own, size_t files_count, const char *const *arguments,
    size_t count)
{
    const char *files[] = {
        own, "clients/gridrpc/tests/chains.idl", "clients/gridrpc/tests/checks.idl"};
    farcall_server_options options = {
        sizeof options, NULL, files, files_count, arguments, count, 0};
    farcall_server *server;
    farcall_error *error;
    if (farcall_server_start(&options, &server, &error) != FARCALL_OK) {
        printf("FAIL %s\n0 passed, 1 failed\n", farcall_error_message(error));
        exit(1);
    }
    return server;
}

/* Waits until a metaserver knows all that is called here: those that joined it tell it of their
 * routines one after the other. */
static void wait_for_routines(void)
{
    static const char *const names[] = {"own1", "own2", "product", "axpy", "set", "first",
        "break_off", "rest", "add", "succeed"};
    size_t k;
    for (k = 0; k < sizeof names / sizeof *names; k++) {
        Ninf_executable_t *found;
        int tries = 0;
        while ((found = Ninf_get_executable((char *)names[k])) == NULL && tries++ < 300)
            usleep(100000);
        CHECK(found && Ninf_executable_finalize(found) == NINF_OK);
    }
}

static struct joined join(int little)
{
    const char *const little_room[] = {"--manifest", "clients/gridrpc/tests/little_room.toml"};
    const char *meta[8] = {"--listen", "tcp:127.0.0.1:0", "--token-file", token, "--listen"};
    const char *member[4] = {"--join"};
    struct joined all;
    char place[120];
    int k;
    snprintf(place, sizeof place, "unix:%s/meta.socket", folder);
    meta[5] = member[1] = place;
    memcpy(meta + 6, little_room, sizeof little_room);
    memcpy(member + 2, little_room, sizeof little_room);
    for (k = 0; k < 3; k++) {
        FILE *file;
        snprintf(all.files[k], sizeof all.files[k], "%s/own%d.idl", folder, k);
        file = fopen(all.files[k], "w");
        fprintf(file, "Module own%d;\nDefine own%d(IN int x, OUT int *y) { *y = x + 1; }\n", k, k);
        fclose(file);
    }
    all.meta = serve(all.files[0], 1, meta, little ? 8 : 6);
    for (k = 0; k < 2; k++)
        all.members[k] = serve(all.files[1 + k], 3, member, little ? 4 : 2);
    return all;
}

static void part(struct joined *all)
{
    int k;
    for (k = 0; k < 2; k++)
        farcall_server_stop(all->members[k]);
    farcall_server_stop(all->meta);
    for (k = 0; k < 3; k++)
        unlink(all->files[k]);
}

/* At the server behind the proxy, whose own port this is. */
static void all_kinds(int direct)
{
    chains();
    written_twice();
    in_place();
    seen_otherwise();
    numbers();
    failures();
    refusals();
    cancelled();
    connections(direct);
}

/* At the server of this port alone. */
static void at(int port)
{
    char text[20];
    snprintf(text, sizeof text, "%d", port);
    Ninf_set_server("127.0.0.1", text);
}

int main(void)
{
    farcall_server *server, *small;
    struct joined all;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(token, sizeof token, "%s/token", folder);
    setenv("FARCALL_TOKEN_FILE", token, 1);
    server = start(0);
    at(proxy_begin(port_of(server)));
    all_kinds(port_of(server));
    small = start(1);
    at(port_of(small));
    little_room();
    farcall_server_stop(small);

    is_placed = 1;
    all = join(0);
    /* From here on it stands before the metaserver. */
    at(proxy_begin(port_of(all.meta)));
    wait_for_routines();
    all_kinds(port_of(all.meta));
    part(&all);
    all = join(1);
    at(port_of(all.meta));
    wait_for_routines();
    little_room();
    part(&all);
    unlink(token);
    rmdir(folder);
    return check_end(server);
}
