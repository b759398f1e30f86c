/* The rarer parts of the classic Ninf interface: searches, types, objects of other systems, and
 * what a transaction keeps in order. */
#include "ninf.h"

#include "grpc_check.h"

#define N 1000

/* What binaries call that were compiled when Ninf_query searched. */
int searched_before(const char *words, char **found) __asm__("farcall_Ninf_query");

static void searches(void)
{
    char *found = (char *)"", *first;
    int all = Ninf_find("", NULL), lines = 0;
    CHECK(all > 10 && Ninf_find(NULL, NULL) == all);
    CHECK(Ninf_find("SUM x", &found) >= 1 &&
          strstr(found, "grpcchecks/sum(n, x, total) The sum of x.\n"));
    free(found);
    CHECK(Ninf_find("", &found) == all);
    for (first = found; *first; first++)
        lines += *first == '\n';
    CHECK(lines == all);
    free(found);
    CHECK(Ninf_find("nothing has these words", &found) == 0 && found && *found == 0);
    free(found);
    CHECK(Ninf_find("ninf://localhost/succeed", NULL) == 1);
    CHECK(Ninf_find("ninf://localhost:1/succeed", &found) == NINF_ERROR && found == NULL);
    CHECK(Ninf_error_code() == CANTCONNECTSERVER);
    CHECK(searched_before("", NULL) == all);
    CHECK(searched_before("nothing has these words", &found) == 0 && found && *found == 0);
    free(found);
}

/* Here without a server that has tables; routines/tables/test_tables.py has one. */
static void queries(void)
{
    int rows = 7, columns = 7;
    double *values = (double *)&rows;
    char *names = (char *)"";
    CHECK(Ninf_query("SELECT 1", &rows, &columns, &values, &names) == NINF_ERROR);
    CHECK(Ninf_error_code() == CANTFINDSTUB && values == NULL && names == NULL && rows == 7);
    CHECK(Ninf_query(NULL, &rows, &columns, &values, &names) == NINF_ERROR);
    CHECK(Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_query("ninf://localhost:1/SELECT 1", NULL, NULL, NULL, NULL) == NINF_ERROR);
    CHECK(Ninf_error_code() == CANTCONNECTSERVER);
}

static void types(void)
{
    int found[12];
    Ninf_stub_t *stub;
    memset(found, -1, sizeof found);
    CHECK(Ninf_get_stub("kinds", found, &stub) == NINF_OK);
    CHECK(found[0] == NINF_CHAR && found[1] == NINF_SHORT && found[2] == NINF_INT &&
          found[3] == NINF_LONG);
    CHECK(found[4] == NINF_FLOAT && found[5] == NINF_DOUBLE && found[6] == NINF_SCOMPLEX &&
          found[7] == NINF_DCOMPLEX);
    CHECK(found[8] == NINF_DOUBLE && found[9] == -1);
    Ninf_free_stub(stub);
    CHECK(Ninf_get_stub("grpcfaults/duplicate", found, &stub) == NINF_OK &&
          found[0] == NINF_FILENAME && found[1] == NINF_FILENAME);
    Ninf_free_stub(stub);
    CHECK(Ninf_get_stub("shout", found, &stub) == NINF_OK && found[0] == NINF_STRING &&
          found[1] == NINF_STRING);
    Ninf_free_stub(stub);
    CHECK(Ninf_get_stub("answer", found, &stub) == NINF_OK && found[1] == NINF_INT &&
          found[2] == NINF_FUNCTION);
    Ninf_free_stub(stub);
}

/* A value of a system in which everything is a list of reals, or a text. */
struct object {
    int length;
    double reals[8];
    char text[40];
};

static int get(void *place, int type, long count, void *elements)
{
    struct object *object = place;
    long index;
    if (type == NINF_STRING) {
        *(char **)elements = object->text;
        return CIM_OK;
    }
    if (object->length < count)
        return CIM_ERROR_ARRAY_BOUND;
    for (index = 0; index < count; index++) {
        if (type == NINF_INT)
            ((int *)elements)[index] = (int)object->reals[index];
        else if (type == NINF_DOUBLE)
            ((double *)elements)[index] = object->reals[index];
        else
            return CIM_ERROR_TYPE_MISMATCH;
    }
    return 0;
}

static int put(void *place, int type, long count, const void *elements)
{
    struct object *object = place;
    long index;
    if (type == NINF_STRING) {
        snprintf(object->text, sizeof object->text, "%s", *(char *const *)elements);
        return CIM_OK;
    }
    object->length = (int)count;
    for (index = 0; index < count; index++)
        object->reals[index] =
            type == NINF_INT ? ((const int *) elements)[index] : ((const double *) elements)[index];
    return CIM_OK;
}

static void objects(void)
{
    struct object n = {1, {3}, ""}, a = {1, {2}, ""}, x = {3, {1, 2, 3}, ""},
                  y = {3, {10, 20, 30}, ""}, sum = {0, {0}, ""};
    struct object words = {0, {0}, "quiet"}, loud = {0, {0}, ""};
    void *scale[] = {&n, &a, &x, &y}, *add[] = {&n, &a, &sum}, *shout[] = {&words, &loud},
         *total[] = {&n, &x, &sum};
    CHECK(Ninf_set_cim_funcs(get, put) == NINF_OK);
    CHECK(Ninf_cim_main("add", add) == NINF_OK && sum.length == 1 && sum.reals[0] == 5);
    CHECK(Ninf_cim_main("scale", scale) == NINF_OK && y.reals[0] == 12 && y.reals[1] == 24 &&
          y.reals[2] == 36);
    CHECK(x.reals[2] == 3 && Ninf_cim_main("total", total) == NINF_OK && sum.reals[0] == 6);
    CHECK(Ninf_cim_main("shout", shout) == NINF_OK && strcmp(loud.text, "QUIET") == 0);
    x.length = 2;
    CHECK(
        Ninf_cim_main("total", total) == NINF_ERROR && Ninf_error_code() == CIM_ERROR_ARRAY_BOUND);
    CHECK(Ninf_cim_main("answer", total) == NINF_ERROR &&
          Ninf_error_code() == CIM_ERROR_TYPE_MISMATCH);
    CHECK(Ninf_cim_main("total", NULL) == NINF_ERROR && Ninf_error_code() == INVALID_ARGUMENT);
    CHECK(Ninf_transaction_begin() == NINF_OK && Ninf_cim_main("add", add) == NINF_ERROR);
    CHECK(Ninf_transaction_cancel() == NINF_OK);
    CHECK(Ninf_set_cim_funcs(NULL, NULL) == NINF_OK && Ninf_cim_main("add", add) == NINF_ERROR);
}

static void order(void)
{
    static double x[N], y[N];
    double before = -1, after = -1, other = -1, w = 1;
    /* Writers that overlap in part keep their order, and a reader has what was there at its turn.
       */
    CHECK(Ninf_transaction_begin() == NINF_OK);
    CHECK(Ninf_call("fill", N, 1.0, x) == NINF_OK);
    CHECK(Ninf_call("fill", N / 2, 5.0, x + N / 4) == NINF_OK);
    CHECK(Ninf_call("sum", N, x, &before) == NINF_OK);
    CHECK(Ninf_call("fill", 1, 100.0, x + N - 1) == NINF_OK);
    CHECK(Ninf_call("sum", N, x, &after) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    CHECK(before == 3.0 * N && after == 3.0 * N + 99);

    /* A call that fails keeps back those that need what it was to write, and those alone. */
    CHECK(Ninf_transaction_begin() == NINF_OK);
    CHECK(Ninf_call("total", 1, "http://elsewhere.example/a.npy", &other) == NINF_OK);
    CHECK(Ninf_call("scale", 1, 2.0, &other, &w) == NINF_OK);
    CHECK(Ninf_call("fill", N, 7.0, y) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_ERROR && Ninf_error_code() == TRANSACTION_FAILED);
    CHECK(w == 1 && other == -1 && y[N - 1] == 7);

    /* A call that is refused when it is written down fails the end, though not the others; the
       first begin holds. */
    CHECK(Ninf_transaction_begin() == NINF_OK && Ninf_call("nobody", 1) == NINF_ERROR);
    CHECK(Ninf_transaction_begin() == NINF_ERROR && Ninf_call("fill", N, 8.0, y) == NINF_OK);
    CHECK(y[0] == 7 && Ninf_transaction_end() == NINF_ERROR &&
          Ninf_error_code() == TRANSACTION_FAILED && y[0] == 8);
    CHECK(Ninf_transaction_begin() == NINF_OK && Ninf_transaction_end() == NINF_OK);

    /* What was thrown away does not run. */
    CHECK(Ninf_transaction_begin() == NINF_OK && Ninf_call("fill", N, 9.0, y) == NINF_OK);
    CHECK(
        Ninf_transaction_cancel() == NINF_OK && Ninf_transaction_end() == NINF_ERROR && y[0] == 8);
    CHECK(Ninf_call("fill", N, 2.0, y) == NINF_OK && y[0] == 2);
}

static void executables_in_order(void)
{
    Ninf_executable_t *one = Ninf_get_executable("tally");
    int number[4], index;
    /* Calls of one process run in their order, whatever they write to. */
    CHECK(one && Ninf_transaction_begin() == NINF_OK);
    for (index = 0; index < 4; index++)
        CHECK(Ninf_call_executable(one, &number[index]) == NINF_OK);
    CHECK(Ninf_transaction_end() == NINF_OK);
    for (index = 0; index < 4; index++)
        CHECK(number[index] == index + 1);
    CHECK(Ninf_executable_finalize(one) == NINF_OK && Ninf_executable_finalize(NULL) == NINF_ERROR);
}

static void groups(void)
{
    Ninf_group_t *group = Ninf_group_init("leave");
    int index;
    for (index = 0; index < 3; index++)
        CHECK(Ninf_group_call_async(group, 1) > 0);
    CHECK(Ninf_group_wait_all(group) == NINF_ERROR && Ninf_error_code() == STUB_ERROR);
    group = Ninf_group_init("succeed");
    CHECK(group && Ninf_group_wait_all(group) == NINF_OK);
}

int main(void)
{
    static const char *const files[] = {"clients/gridrpc/tests/faults.idl"};
    farcall_server *server = check_begin_with(files, 1, NULL, 0);
    searches();
    queries();
    types();
    objects();
    order();
    executables_in_order();
    groups();
    return check_end(server);
}
