/* Every error of ninf.h is provoked. test_errors_are_provoked.py reads this file: each name of the
 * header stands in a PROVOKE here, or is one that it says nothing can provoke. */
#include <sys/stat.h>

#include "ninf.h"
#include "grpc.h"

#include "grpc_check.h"
#include "grpc_proxy.h"

/* A condition under which the last call has failed so. */
#define PROVOKE(code, failed) \
    do { \
        int has_failed_ = (failed) ? 1 : 0; \
        check_provoked(has_failed_, Ninf_error_code(), code, #code, __LINE__); \
    } while (0)

static char folder[] = "/tmp/farcall-ninf-errors-XXXXXX";
static int web, tcp;
static double x[4] = {1, 2, 3, 4}, sum;

static void check_provoked(int failed, int found, int wanted, const char *name, int line)
{
    check_that(failed && found == wanted, name, line);
    if (!failed || found != wanted) {
        printf("    failed: %d, code %d, wanted %d: ", failed, found, wanted);
        fflush(stdout);
        Ninf_perror("it is");
    }
}

static char *in_folder(const char *name)
{
    static char path[4][200];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* A NumPy file of a vector of doubles, of this length. */
static size_t npy(char *place, int count)
{
    char head[128];
    int length = snprintf(
        head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", count);
    memset(head + length, ' ', 118 - (size_t)length);
    head[117] = '\n';
    memcpy(place, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(place + 10, head, 118);
    memcpy(place + 128, x, (size_t)count * sizeof *x);
    return 128 + (size_t)count * sizeof *x;
}

static void write_file(const char *name, int count)
{
    char bytes[500];
    size_t length = npy(bytes, count);
    FILE *file = fopen(in_folder(name), "w");
    fwrite(bytes, 1, length, file);
    fclose(file);
}

static void answer_page(int client, const char *path)
{
    char body[500], head[200];
    size_t length = npy(body, strstr(path, "short") ? 3 : 4);
    const char *status = strstr(path, "gone")    ? "404 Not Found"
                         : strstr(path, "angry") ? "500 Oops"
                                                 : "200 OK";
    if (strstr(path, "odd"))
        body[20] = '?';
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
        status, length);
    if (strstr(path, "garbage"))
        snprintf(head, sizeof head, "garbage\r\n\r\n");
    send(client, head, strlen(head), MSG_NOSIGNAL);
    send(client, body, length, MSG_NOSIGNAL);
}

/* A web server for one page at a time, and what is none. */
static void *serve_pages(void *place)
{
    int listener = (int)(long)place, client;
    while ((client = accept(listener, NULL, NULL)) >= 0) {
        char request[2000] = "";
        if (recv(client, request, sizeof request - 1, 0) > 0) {
            if (strstr(request, "slow"))
                continue;
            answer_page(client, request);
        }
        shutdown(client, SHUT_WR);
        close(client);
    }
    return NULL;
}

static farcall_server *begin(void)
{
    static const char *const files[] = {
        "clients/gridrpc/tests/faults.idl", "clients/gridrpc/tests/twins.idl"};
    static char manifest[200], token[200];
    const char *const arguments[] = {
        "--manifest", manifest, "--listen", "tcp:127.0.0.1:0", "--token-file", token};
    farcall_server *server;
    pthread_t thread;
    FILE *file;
    int listener = proxy_socket(0, 1);
    web = proxy_port(listener);
    pthread_create(&thread, NULL, serve_pages, (void *)(long)listener);
    pthread_detach(thread);
    strcpy(manifest, in_folder("farcall.toml"));
    strcpy(token, in_folder("token"));
    file = fopen(manifest, "w");
    fprintf(file,
        "[[plugin]]\nname = \"fetcher\"\nslot = \"fetcher\"\n[plugin.options]\ntimeout_ms = "
        "1000\nallow = [{ from = ["
        "\"http://127.0.0.1:%d/\", \"http://127.0.0.1:1/\", \"file:%s\"] }]\n",
        web, folder);
    fprintf(file, "[[plugin]]\nname = \"rpc-server\"\nslot = "
                  "\"rpc\"\n[plugin.options]\ncall_bytes_max = 8388608\nobjects_max = 2\n");
    fprintf(file, "[[plugin]]\nname = \"spawner-local\"\nslot = "
                  "\"spawner\"\n[plugin.options]\nlimits.files = \"all\"\n");
    fclose(file);
    setenv("FARCALL_TOKEN_FILE", token, 1);
    server = check_begin_with(files, 2, arguments, 6);
    tcp = atoi(strrchr(farcall_server_address(server), ':') + 1);
    return server;
}

static char *page(const char *name)
{
    static char url[200];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", web, name);
    return url;
}

static void fetched(void)
{
    char *url = page("good.npy"), file[300];
    CHECK(Ninf_call("total", 4, url, &sum) == NINF_OK && sum == 10);
    write_file("good.npy", 4);
    snprintf(file, sizeof file, "file:%s/good.npy", folder);
    sum = 0;
    CHECK(Ninf_wait(Ninf_call_async("total", 4, file, &sum)) == NINF_OK && sum == 10);
    CHECK(Ninf_call("shift", 4, 1.0, x) == NINF_OK && x[3] == 5);
    CHECK(Ninf_call("total", 0, (double *)8, &sum) == NINF_OK);
    PROVOKE(INVALID_ARGUMENT, Ninf_call("shift", 4, 1.0, page("good.npy")) == NINF_ERROR);
    PROVOKE(HTTP_NOT_FOUND, Ninf_call("total", 4, page("gone.npy"), &sum) == NINF_ERROR);
    PROVOKE(HTTP_HEADER_READ_ERROR, Ninf_call("total", 4, page("angry.npy"), &sum) == NINF_ERROR);
    PROVOKE(HTTP_HEADER_READ_ERROR, Ninf_call("total", 4, page("garbage.npy"), &sum) == NINF_ERROR);
    PROVOKE(
        HTTP_CANNOT_CONNECT, Ninf_call("total", 4, "http://127.0.0.1:1/a.npy", &sum) == NINF_ERROR);
    PROVOKE(HTTP_UNKNOWN_FORMAT, Ninf_call("total", 4, page("good.txt"), &sum) == NINF_ERROR);
    PROVOKE(HTTP_FORMAT_ERROR, Ninf_call("total", 4, page("odd.npy"), &sum) == NINF_ERROR);
    PROVOKE(HTTP_TYPE_MISMATCH, Ninf_call("total", 4, page("short.npy"), &sum) == NINF_ERROR);
    PROVOKE(NINF_TIMEOUT, Ninf_call("total", 4, page("slow.npy"), &sum) == NINF_ERROR);
    PROVOKE(AUTHENTICATION_FAILED,
        Ninf_call("total", 4, "http://elsewhere.example/a.npy", &sum) == NINF_ERROR);
    PROVOKE(MALFORMED_URL, Ninf_call("total", 4, "http://", &sum) == NINF_ERROR);
    snprintf(file, sizeof file, "file:%s/none.npy", folder);
    PROVOKE(STORAGE_NOT_FOUND, Ninf_call("total", 4, file, &sum) == NINF_ERROR);
    PROVOKE(STORAGE_TYPE_MISMATCH, (snprintf(file, sizeof file, "file:%s/good.npy", folder),
                                       Ninf_call("total", 3, file, &sum)) == NINF_ERROR);
    mkdir(in_folder("folder.npy"), 0700);
    snprintf(file, sizeof file, "file:%s/folder.npy", folder);
    PROVOKE(STORAGE_CANNOT_OPEN, Ninf_call("total", 4, file, &sum) == NINF_ERROR);
    rmdir(in_folder("folder.npy"));
}

/* The same through grpc.h. */
static void fetched_by_gridrpc(void)
{
    grpc_function_handle_t total, shift;
    double *nowhere = (double *)8;
    sum = 0;
    CHECK(grpc_initialize(NULL) == GRPC_NO_ERROR &&
          grpc_function_handle_default(&total, "total") == GRPC_NO_ERROR);
    CHECK(grpc_function_handle_default(&shift, "shift") == GRPC_NO_ERROR);
    CHECK(grpc_call(&total, 4, page("good.npy"), &sum) == GRPC_NO_ERROR && sum == 14);
    CHECK(grpc_call(&total, 0, nowhere, &sum) == GRPC_NO_ERROR &&
          sum == 0); /* nothing is there to be looked at */
    CHECK(grpc_call(&total, 4, page("gone.npy"), &sum) != GRPC_NO_ERROR);
    CHECK(grpc_call(&shift, 4, 1.0, page("good.npy")) == GRPC_OTHER_ERROR_CODE);
    CHECK(grpc_finalize() == GRPC_NO_ERROR);
}

static void entries(void)
{
    char *map[] = {"program", "-map", in_folder("none"), NULL},
         *dead[] = {"program", "-map", in_folder("map"), NULL};
    FILE *file;
    PROVOKE(CANTFINDSTUB, Ninf_call("nobody", 1) == NINF_ERROR);
    PROVOKE(MALFORMED_URL, Ninf_call("ftp://host/f", 1) == NINF_ERROR);
    PROVOKE(CANTCONNECTSERVER, Ninf_call("ninf://localhost:1/total") == NINF_ERROR);
    PROVOKE(STUBREADFAIL, Ninf_call("twin") == NINF_ERROR);
    PROVOKE(CANTEXECUTESTUB, Ninf_local_exec("/nonexistent/_stub_f", 1) == NINF_ERROR);
    PROVOKE(CANTEXECUTESTUB, Ninf_call_exec("/dev/null", 1) == NINF_ERROR);
    PROVOKE(INVALID_ARGUMENT, Ninf_call("succeed", 1) == NINF_ERROR);
    PROVOKE(FILE_CANNOT_OPEN, Ninf_parse_arg(3, map) == NINF_ERROR);
    file = fopen(in_folder("map"), "w");
    fprintf(file, "unix:/nonexistent/a\nunix:/nonexistent/b\n");
    fclose(file);
    CHECK(Ninf_parse_arg(3, dead) == 1);
    PROVOKE(CPROXY_CANNOT_SCHEDULE, Ninf_group_init("succeed") == NULL);
    PROVOKE(FILE_CANNOT_OPEN,
        Ninf_call("grpcfaults/duplicate", in_folder("none"), in_folder("copy")) == NINF_ERROR);
    PROVOKE(FILE_CANNOT_WRITE,
        Ninf_call("grpcfaults/duplicate", in_folder("map"), "/nonexistent/copy") == NINF_ERROR);
}

static void stubs(void)
{
    static double large[1200000];
    Ninf_executable_t *one = Ninf_get_executable("leave"), *two = Ninf_get_executable("succeed"),
                      *three;
    CHECK(one && two);
    three = Ninf_get_executable("succeed");
    PROVOKE(COMPUTATION_REFUSED, Ninf_call_executable(three, 1, (int[1]){0}) == NINF_ERROR);
    CHECK(Ninf_executable_finalize(three) == NINF_OK);
    PROVOKE(STUB_ERROR, Ninf_call_executable(one, 3) == NINF_ERROR);
    PROVOKE(STUBREMOVED, Ninf_call_executable(one, 3) == NINF_ERROR);
    CHECK(Ninf_executable_finalize(one) == NINF_OK && Ninf_executable_finalize(two) == NINF_OK);
    PROVOKE(SERVER_CANNOT_ALLOC, Ninf_call("total", 1200000, large, &sum) == NINF_ERROR);
    PROVOKE(STUB_ERROR_SIGFPE, Ninf_call("strike", SIGFPE) == NINF_ERROR);
    PROVOKE(STUB_ERROR_SIGSEGV, Ninf_call("strike", SIGSEGV) == NINF_ERROR);
    PROVOKE(STUB_ERROR_SIGBUS, Ninf_call("strike", SIGBUS) == NINF_ERROR);
    PROVOKE(STUB_ERROR_SIGILL, Ninf_call("strike", SIGILL) == NINF_ERROR);
    PROVOKE(STUB_ERROR_SIGNAL, Ninf_wait(Ninf_call_async("strike", SIGKILL)) == NINF_ERROR);
}

static void sessions(void)
{
    int done, session = Ninf_call_async("nap", 0.3, &done);
    PROVOKE(SESSION_ISNOT_DONE, Ninf_get_info(session) == NULL);
    CHECK(Ninf_wait(session) == NINF_OK && Ninf_get_info(session) != NULL);
    PROVOKE(SESSION_FINISHED, Ninf_session_cancel(session) == NINF_ERROR);
    CHECK(Ninf_session_remove(session) == NINF_OK);
    PROVOKE(CANTFINDSESSION, Ninf_wait(987654) == NINF_ERROR);
    session = Ninf_call_async("spin");
    CHECK(Ninf_session_cancel(session) == NINF_OK);
    PROVOKE(SESSION_CANCELED, Ninf_wait(session) == NINF_ERROR);
    PROVOKE(SESSION_CANCELED, Ninf_wait(session) == NINF_ERROR);
}

static void *cancel_soon(void *nothing)
{
    (void)nothing;
    usleep(200000);
    return (void *)(long)Ninf_transaction_cancel();
}

static void transactions(void)
{
    pthread_t thread;
    void *status = NULL;
    int done = 0, y = 0, count, added;
    double begun;
    PROVOKE(TRANSACTION_NOT_BEGUN, Ninf_transaction_end() == NINF_ERROR);
    PROVOKE(TRANSACTION_NOT_BEGUN, Ninf_transaction_cancel() == NINF_ERROR);
    CHECK(Ninf_transaction_begin() == NINF_OK);
    PROVOKE(TRANSACTION_NESTED, Ninf_transaction_begin() == NINF_ERROR);
    for (count = 0; (added = Ninf_call("strike", 0)) == NINF_OK && count < 20000; count++)
        ;
    PROVOKE(CANTALLOCSESSION, added == NINF_ERROR);
    CHECK(count == 10000 && Ninf_transaction_cancel() == NINF_OK);
    CHECK(Ninf_transaction_begin() == NINF_OK && Ninf_call("leave", 1) == NINF_OK);
    PROVOKE(TRANSACTION_FAILED, Ninf_transaction_end() == NINF_ERROR);

    CHECK(Ninf_transaction_begin() == NINF_OK);
    CHECK(Ninf_call("nap", 30.0, &done) == NINF_OK && Ninf_call("succeed", 1, &done) == NINF_OK &&
          Ninf_call("succeed", 1, &y) == NINF_OK);
    begun = check_now();
    pthread_create(&thread, NULL, cancel_soon, NULL);
    PROVOKE(TRANSACTION_CANCELED, Ninf_transaction_end() == NINF_ERROR);
    pthread_join(thread, &status);
    CHECK((long)status == NINF_OK && check_now() - begun < 10 && done == 0 && y == 2);
}

static int refusal;

static int get(void *object, int type, long count, void *elements)
{
    (void)object, (void)type;
    memset(elements, 0, (size_t)count * sizeof(int));
    return refusal;
}

static int put(void *object, int type, long count, const void *elements)
{
    (void)object, (void)type, (void)count, (void)elements;
    return CIM_OK;
}

static void objects(void)
{
    void *arguments[2] = {NULL, NULL};
    PROVOKE(CIM_ERROR_NOT_DEFINED, Ninf_cim_main("succeed", arguments) == NINF_ERROR);
    CHECK(
        Ninf_set_cim_funcs(get, put) == NINF_OK && Ninf_cim_main("succeed", arguments) == NINF_OK);
    refusal = CIM_OK;
    CHECK(Ninf_cim_main("succeed", arguments) == NINF_OK);
    refusal = CIM_ERROR_TYPE_MISMATCH;
    PROVOKE(CIM_ERROR_TYPE_MISMATCH, Ninf_cim_main("succeed", arguments) == NINF_ERROR);
    refusal = CIM_ERROR_CANNOT_ALLOC;
    PROVOKE(CIM_ERROR_CANNOT_ALLOC, Ninf_cim_main("succeed", arguments) == NINF_ERROR);
    refusal = CIM_ERROR_ARRAY_BOUND;
    PROVOKE(CIM_ERROR_ARRAY_BOUND, Ninf_cim_main("succeed", arguments) == NINF_ERROR);
}

static void *serve_nonsense(void *place)
{
    int client = accept((int)(long)place, NULL, NULL);
    char words[] =
        "220 mail.example.org ESMTP ready, and this is no greeting of a server of ours at all\r\n";
    send(client, words, sizeof words, MSG_NOSIGNAL);
    usleep(500000);
    close(client);
    return NULL;
}

static void connections(pid_t server)
{
    static double large[900000];
    int listener = proxy_socket(0, 1), port = proxy_begin(tcp), session, done;
    char entry[100];
    pthread_t thread;
    pthread_create(&thread, NULL, serve_nonsense, (void *)(long)listener);
    snprintf(entry, sizeof entry, "ninf://127.0.0.1:%d/total", proxy_port(listener));
    PROVOKE(NINF_PROTOCOL_ERROR, Ninf_call(entry, 4, x, &sum) == NINF_ERROR);
    pthread_join(thread, NULL);
    snprintf(entry, sizeof entry, "ninf://127.0.0.1:%d/total", port);
    CHECK(Ninf_call(entry, 4, x, &sum) == NINF_OK);
    proxy_plan(0, 1000000, PROXY_CUT, NULL);
    PROVOKE(DATASENDFAIL, Ninf_call(entry, 900000, large, &sum) == NINF_ERROR);
    CHECK(Ninf_call(entry, 4, x, &sum) == NINF_OK);
    proxy_plan(0, 1000000, PROXY_CUT, NULL);
    session = Ninf_call_async(entry, 900000, large, &sum);
    PROVOKE(DATASENDFAIL, session == NINF_ERROR || Ninf_wait(session) == NINF_ERROR);
    session = Ninf_call_async("linger", 30.0, &done);
    CHECK(session > 0);
    CHECK(server > 0 && kill(server, SIGKILL) == 0);
    PROVOKE(DATARECVFAIL, Ninf_wait(session) == NINF_ERROR);
}

int main(void)
{
    farcall_server *server;
    pid_t child;
    CHECK(mkdtemp(folder) != NULL);
    server = begin();
    child = check_youngest_child();
    CHECK(Ninf_call("succeed", 1, (int[1]){0}) == NINF_OK && Ninf_error_code() == NINF_NO_ERROR);
    fetched();
    fetched_by_gridrpc();
    entries();
    stubs();
    sessions();
    transactions();
    objects();
    connections(child);
    for (child = 0; child < 5; child++)
        unlink(in_folder(
            (const char *const[]){"farcall.toml", "token", "good.npy", "map", "copy"}[child]));
    CHECK(rmdir(folder) == 0);
    return check_end(server);
}
