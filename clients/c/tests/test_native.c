/* The native call: every kind of argument, LAPACK, strings, structs, and the plain variadic call.
   */
#include <complex.h>
#include <math.h>

#include "check.h"
#include <farcall-executable.h>

static void lapack(farcall_client *client)
{
    /* Columns of a 2 by 2 matrix in memory for 3 rows: the third one must stay as it is. */
    double a[2][3] = {{4, 1, -7}, {1, 3, -7}}, b[3] = {1, 2, -7};
    int ipiv[2] = {0, 0}, info = 99;
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "lapack/dgesv", 2, 1, a, 3, ipiv, b, 3, &info), error);
    CHECK(info == 0 && ipiv[0] == 1 && ipiv[1] == 2);
    CHECK(b[0] > 1 / 11.0 - 1e-12 && b[0] < 1 / 11.0 + 1e-12 && b[1] > 7 / 11.0 - 1e-12 &&
          b[1] < 7 / 11.0 + 1e-12);
    CHECK(a[0][2] == -7 && a[1][2] == -7 && b[2] == -7);
}

static void blas(farcall_client *client)
{
    const double x[3] = {1, 2, 3}, y[3] = {4, 5, 6};
    const double complex z[2] = {1 + 2 * I, 3 - 1 * I};
    double complex dot = 0;
    double value = 0;
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "ddot", 3, x, 1, y, 1, &value), error);
    CHECK(value == 32);
    CHECK_OK(farcall_call(client, &error, "blas/zdotu", 2, z, 1, z, 1, &dot), error);
    CHECK(creal(dot) == -3 + 8 && cimag(dot) == 4 - 6);
}

/* With a beta of 0, what c holds is not read and not sent; it takes the result all the same. */
static void product(farcall_client *client)
{
    const double a[2][2] = {{1, 2}, {3, 4}}, one[2][2] = {{1, 0}, {0, 1}};
    /* Columns of a 2 by 2 matrix in memory for 3 rows: the third one must stay as it is. */
    double c[2][3] = {{NAN, NAN, -7}, {NAN, NAN, -7}};
    double complex z[1] = {NAN};
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "blas/dgemm", 'N', 'N', 2, 2, 2, 1.0, a, 2, one, 2, 0.0,
                          c, 3), error);
    CHECK(c[0][0] == 1 && c[0][1] == 2 && c[1][0] == 3 && c[1][1] == 4);
    CHECK(c[0][2] == -7 && c[1][2] == -7);
    CHECK_OK(farcall_call(client, &error, "dgemm", 'N', 'N', 2, 2, 2, 1.0, a, 2, one, 2, 0.5, c, 3),
        error);
    CHECK(c[0][0] == 1.5 && c[1][1] == 6 && c[0][2] == -7);
    CHECK_OK(farcall_call(client, &error, "zgemm", 'N', 'N', 1, 1, 1, 1.0, &(double complex){I}, 1,
                          &(double complex){2}, 1, 0.0, z, 1), error);
    CHECK(creal(z[0]) == 0 && cimag(z[0]) == 2);
    CHECK_OK(farcall_call(client, &error, "zgemm", 'N', 'N', 1, 1, 1, 1.0, &(double complex){I}, 1,
                          &(double complex){2}, 1, 1 * I, z, 1), error);
    CHECK(creal(z[0]) == -2 && cimag(z[0]) == 2);
    /* NULL is a result that is not wanted, as for OUT; where it is read, a mistake. */
    CHECK_OK(farcall_call(client, &error, "dgemm", 'N', 'N', 2, 2, 2, 1.0, a, 2, one, 2, 0.0,
                          (double *)NULL, 2), error);
    CHECK_ERROR(farcall_call(client, &error, "dgemm", 'N', 'N', 2, 2, 2, 1.0, a, 2, one, 2, 1.0,
                             (double *)NULL, 2),
        error, FARCALL_INVALID_ARGUMENT, "argument 12 (c) is NULL");
    /* An empty product leaves its result alone: y is given. */
    double y[2] = {5, 6};
    CHECK_OK(farcall_call(client, &error, "dgemv", 'N', 2, 0, 1.0, a, 2, y, 1, 0.0, y, 1), error);
    CHECK(y[0] == 5 && y[1] == 6);
    /* So is the triangle that an update does not touch. */
    double s[2][2] = {{-1, -2}, {-3, -4}};
    CHECK_OK(farcall_call(client, &error, "dsyrk", 'U', 'N', 2, 1, 1.0, a, 2, 0.0, s, 2), error);
    CHECK(s[0][0] == 1 && s[0][1] == -2 && s[1][0] == 2 && s[1][1] == 4);
}

static void numbers(farcall_client *client)
{
    double seen[11], sum = 0;
    int n = 41;
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "nothing"), error);
    CHECK_OK(farcall_call(client, &error, "checks/add", 2, 0.5, &sum), error);
    CHECK(sum == 2.5);
    CHECK_OK(farcall_call(client, &error, "add", (char) 3, 4, &sum),
        error); /* an integer stands for a real number */
    CHECK(sum == 7);
    CHECK_OK(farcall_call(client, &error, "kinds", 'A', (short)-2, -3, -4L, 1UL << 62, 0.25f, 1e300,
                          (float complex)(1 + 2 * I), 3 + 4 * I, seen), error);
    CHECK(seen[0] == 65 && seen[1] == -2 && seen[2] == -3 && seen[3] == -4 && seen[4] == 0x1p62 &&
          seen[5] == 0.25);
    CHECK(seen[6] == 1e300 && seen[7] == 1 && seen[8] == 2 && seen[9] == 3 && seen[10] == 4);
    CHECK_OK(farcall_call(client, &error, "grow", &n), error);
    CHECK(n == 42);
}

static void arrays(farcall_client *client, int n, int m)
{
    double a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2], variable[n][m];
    float x[3] = {1, 2, 3};
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "transpose", 2, 3, a, b), error);
    CHECK(b[0][1] == 4 && b[2][0] == 3 && b[2][1] == 6);
    CHECK_OK(farcall_call(client, &error, "transpose", m, n, b, variable),
        error); /* arrays of variable length too */
    CHECK(memcmp(variable, a, sizeof a) == 0);
    CHECK_OK(farcall_call(client, &error, "doubled", 3, x), error);
    CHECK(x[0] == 2 && x[2] == 6);
    CHECK_OK(farcall_call(client, &error, "doubled", 3, (void *)x), error); /* on trust */
    CHECK(x[0] == 4);
    CHECK_OK(farcall_call(client, &error, "doubled", 0, x), error); /* no elements at all */
}

static void strings(farcall_client *client)
{
    char *greeting = NULL;
    const char *words[] = {"one", NULL, "three"};
    int bytes = 0;
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "greet", "w\xc3\xb6rld", &greeting), error);
    CHECK(greeting && strcmp(greeting, "hello, w\xc3\xb6rld") == 0);
    free(greeting);
    CHECK_OK(farcall_call(client, &error, "greet", NULL, &greeting), error);
    CHECK(greeting && strcmp(greeting, "hello, nobody") == 0);
    free(greeting);
    CHECK_OK(farcall_call(client, &error, "join", 3, words, &bytes), error);
    CHECK(bytes == 1008);
}

static int has(const char *path, const char *content)
{
    char found[100] = "";
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    found[fread(found, 1, sizeof found - 1, file)] = 0;
    fclose(file);
    return strcmp(found, content) == 0;
}

static void put(const char *path, const char *content)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* A file is named by its path, whatever becomes of it. */
static void files(farcall_client *client)
{
    char folder[] = "/tmp/farcall-test-XXXXXX", data[64], log[64], made[64];
    farcall_error *error;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(data, sizeof data, "%s/data", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(made, sizeof made, "%s/made", folder);
    CHECK_ERROR(farcall_call(client, &error, "keep", data, log, made), error, FARCALL_NOT_FOUND,
        "check that it exists");
    put(data, "numbers");
    put(log, "begin\n");
    CHECK_OK(farcall_call(client, &error, "keep", data, log, made), error);
    CHECK(has(data, "numbers") && has(log, "begin\nkept\n") && has(made, "numbers"));
    CHECK(remove(data) == 0 && remove(log) == 0 && remove(made) == 0 && remove(folder) == 0);
}

static void structs(farcall_client *client)
{
    struct point { double x, y; int tag; } p = {1, 2, 3}, q = {0, 0, 0};
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "mirror", &p, &q), error);
    CHECK(q.x == 2 && q.y == 1 && q.tag == -3);
}

/* GridRPC's complex numbers. */
struct single_complex { float r, i; };
struct double_complex { double r, i; };

static void variadic(farcall_client *client)
{
    int (*call)(farcall_client *, farcall_error **, const char *, ...) = farcall_call_variadic;
    struct single_complex z = {1, 2};
    struct double_complex w = {3, 4};
    double a[4] = {4, 1, 1, 3}, b[2] = {1, 2}, seen[11];
    int ipiv[2], info = 99;
    char *greeting = NULL;
    farcall_call *pending;
    farcall_error *error;
    CHECK_OK(call(client, &error, "lapack/dgesv", 2, 1, a, 2, ipiv, b, 2, &info), error);
    CHECK(info == 0 && b[1] > 7 / 11.0 - 1e-12 && b[1] < 7 / 11.0 + 1e-12);
    CHECK_OK(call(client, &error, "kinds", 'A', -2, -3, -4L, 1UL << 62, 0.25f, 1e300, z, w, seen),
        error);
    CHECK(seen[0] == 65 && seen[1] == -2 && seen[3] == -4 && seen[4] == 0x1p62 && seen[5] == 0.25);
    CHECK(seen[7] == 1 && seen[8] == 2 && seen[9] == 3 && seen[10] == 4);
    CHECK_OK(call(client, &error, "greet", "you", &greeting), error);
    CHECK(greeting && strcmp(greeting, "hello, you") == 0);
    free(greeting);
    CHECK_ERROR(call(client, &error, "dgesw", 1), error, FARCALL_NOT_FOUND, "dgesv");
    CHECK_OK(farcall_start_variadic(client, &error, &pending, "nothing"), error);
    CHECK_OK(farcall_call_wait(pending, -1, NULL, &error), error);
    farcall_call_free(pending);
}

static void square(int n, double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
}

/* The same for bindings: it asks for its parameters. */
static void cube(void *context, farcall_running *running)
{
    farcall_parameter x, y;
    ++*(int *)context;
    if (farcall_running_parameters(running) != 3 ||
        farcall_running_parameter(running, 1, &x) != 0 ||
        farcall_running_parameter(running, 2, &y) != 0 || x.kind != FARCALL_PARAMETER_ARRAY ||
        x.shape[0] != y.shape[0])
        return farcall_running_fail(running, "these are not the parameters");
    for (uint64_t i = 0; i < x.shape[0]; i++) {
        double value = *(double *)((char *)x.data + (int64_t)i * x.strides[0]);
        *(double *)((char *)y.data + (int64_t)i * y.strides[0]) = value * value * value;
    }
}

static void fail(void *context, farcall_running *running)
{
    farcall_running_fail(running, context);
}

static double twice(double x)
{
    return 2 * x;
}

/* The same as a body: what it returns is one more parameter. */
static void thrice(void *context, farcall_running *running)
{
    farcall_parameter x, result;
    (void)context;
    if (farcall_running_parameter(running, 0, &x) == 0 &&
        farcall_running_parameter(running, 1, &result) == 0)
        *(double *)result.data = 3 * *(double *)x.data;
}

static void values_of_callbacks(farcall_client *client)
{
    double y = 0;
    farcall_error *error;
    farcall_routine *routine;
    farcall_argument arguments[3] = {{0}};
    farcall_results *results;
    farcall_array_view view;
    CHECK_OK(farcall_call(client, &error, "after", 3.0, &y, twice), error);
    CHECK(y == 7);
    CHECK_OK(farcall_lookup(client, "after", &routine, &error), error);
    arguments[0].kind = FARCALL_REAL;
    arguments[0].value.real = 3;
    arguments[2].kind = FARCALL_CALLBACK;
    arguments[2].value.callback.body = thrice;
    CHECK_OK(farcall_call_arguments(routine, arguments, 3, NULL, &results, &error), error);
    CHECK_OK(farcall_results_array(results, 1, &view, &error), error);
    CHECK(*(double *)view.data == 10);
    farcall_results_free(results);
    farcall_routine_free(routine);
}

static void truths(farcall_client *client)
{
    _Bool both[2] = {1, 0}, same = 0;
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "flip", same, both, &same), error);
    CHECK(!both[0] && both[1] && !same);
    /* Whatever is not 0 is true. */
    CHECK_OK(farcall_call(client, &error, "flip", 6, both, &same), error);
    CHECK(both[0] && !both[1] && same);
}

static void callbacks(farcall_client *client)
{
    double sum = 0;
    int times = 0;
    farcall_error *error;
    farcall_routine *routine;
    farcall_argument arguments[5] = {{0}};
    farcall_results *results;
    farcall_array_view view;
    CHECK_OK(farcall_call(client, &error, "integrate", 0.0, 3.0, 100, &sum, square), error);
    CHECK(sum > 8.99 && sum < 9.01);
    sum = 0;
    CHECK_OK(
        farcall_call_variadic(client, &error, "integrate", 0.0, 3.0, 100, &sum, square), error);
    CHECK(sum > 8.99 && sum < 9.01);
    CHECK_ERROR(farcall_call(client, &error, "integrate", 0.0, 3.0, 100, &sum, &sum), error,
        FARCALL_INVALID_ARGUMENT, "function");
    CHECK_OK(farcall_lookup(client, "integrate", &routine, &error), error);
    arguments[0].kind = arguments[1].kind = FARCALL_REAL;
    arguments[1].value.real = 2;
    arguments[2].kind = FARCALL_INTEGER;
    arguments[2].value.integer = 100;
    arguments[4].kind = FARCALL_CALLBACK;
    arguments[4].value.callback.body = cube;
    arguments[4].value.callback.context = &times;
    CHECK_OK(farcall_call_arguments(routine, arguments, 5, NULL, &results, &error), error);
    CHECK_OK(farcall_results_array(results, 3, &view, &error), error);
    CHECK(times == 1 && *(double *)view.data > 3.99 && *(double *)view.data < 4.01);
    farcall_results_free(results);
    arguments[4].kind = FARCALL_FUNCTION;
    arguments[4].value.function = (void (*)(void))square;
    CHECK_OK(farcall_call_arguments(routine, arguments, 5, NULL, NULL, &error), error);
    arguments[4].kind = FARCALL_CALLBACK;
    arguments[4].value.callback.body = fail;
    arguments[4].value.callback.context = "no such point";
    CHECK_ERROR(farcall_call_arguments(routine, arguments, 5, NULL, &results, &error), error,
        FARCALL_ROUTINE_FAILED, "no such point");
    farcall_routine_free(routine);
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    lapack(client);
    blas(client);
    product(client);
    numbers(client);
    arrays(client, 2, 3);
    strings(client);
    files(client);
    structs(client);
    variadic(client);
    callbacks(client);
    values_of_callbacks(client);
    truths(client);
    return check_end(server, client);
}
