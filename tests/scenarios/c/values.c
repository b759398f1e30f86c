/* The scenarios' lines: reading arguments, and showing results (README.md). */
#define _GNU_SOURCE
#include "values.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 32, TURNS = 61 };

static const struct type types[] = {
    {"char", FARCALL_CHAR, 1, 'u'},
    {"int8", FARCALL_INT8, 1, 'i'},
    {"uint8", FARCALL_UINT8, 1, 'u'},
    {"int16", FARCALL_INT16, 2, 'i'},
    {"uint16", FARCALL_UINT16, 2, 'u'},
    {"int32", FARCALL_INT32, 4, 'i'},
    {"uint32", FARCALL_UINT32, 4, 'u'},
    {"int64", FARCALL_INT64, 8, 'i'},
    {"uint64", FARCALL_UINT64, 8, 'u'},
    {"float", FARCALL_FLOAT32, 4, 'f'},
    {"double", FARCALL_FLOAT64, 8, 'f'},
    {"scomplex", FARCALL_COMPLEX64, 8, 'c'},
    {"dcomplex", FARCALL_COMPLEX128, 16, 'c'},
    {"string", 0, 0, 's'},
    {"filename", 0, 0, 'p'},
    {"function", 0, 0, 'x'},
};

char scenario[64], folder[64];
FILE *saying;

_Noreturn void wrong(const char *what, const char *where)
{
    fprintf(stderr, "c_client: %s: %s: %s\n", scenario, what, where);
    exit(2);
}

void say(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    fprintf(saying, "%s: ", scenario);
    vfprintf(saying, format, rest);
    va_end(rest);
}

/* ---- Reading --------------------------------------------------------------------------------- */

size_t elements(const argument *one)
{
    size_t count = 1;
    for (size_t k = 0; k < one->rank; k++)
        count *= one->shape[k];
    return count;
}

/* The element that is number k, row by row. */
static char *element(const argument *one, size_t k)
{
    char *place = one->data;
    for (size_t axis = one->rank; axis-- > 0; k /= one->shape[axis])
        place += (int64_t) (k % one->shape[axis]) * one->strides[axis];
    return place;
}

/* Takes memory for an array with the layout that the list wants. */
static void lay_out(argument *one, const char *layout)
{
    int64_t step = (int64_t) one->type->bytes;
    int columns = strcmp(layout, "@columns") == 0, apart = strcmp(layout, "@sections") == 0 ? 2 : 1;
    int backwards = strcmp(layout, "@backwards") == 0;
    size_t bytes = one->type->bytes;
    for (size_t k = 0; k < one->rank; k++) {
        size_t axis = columns ? k : one->rank - 1 - k;
        one->strides[axis] = step * apart * (backwards ? -1 : 1);
        step *= apart * (int64_t) one->shape[axis];
        bytes *= (size_t) apart * one->shape[axis];
    }
    one->memory_bytes = bytes + 1;
    one->memory = calloc(bytes + 1, 1);
    one->data = one->memory +
                (backwards && one->shape[0] ? (int64_t) (one->shape[0] - 1) * -one->strides[0] : 0);
}

/* Writes a whole number of the argument's size. */
static void put_integer(const argument *one, char *place, int64_t value)
{
    if (one->type->bytes == 1) *(int8_t *) place = (int8_t) value;
    else if (one->type->bytes == 2) *(int16_t *) place = (int16_t) value;
    else if (one->type->bytes == 4) *(int32_t *) place = (int32_t) value;
    else *(int64_t *) place = value;
}

/* Writes a real number, or a part of a complex one. */
static void put_real(const argument *one, char *place, double value)
{
    size_t bytes = one->type->sort == 'c' ? one->type->bytes / 2 : one->type->bytes;
    if (bytes == 4) *(float *) place = (float) value;
    else *(double *) place = value;
}

/* Reads the values behind the colon, or makes those of `ramp period`. */
static void fill(argument *one, const char *values, long period)
{
    size_t count = elements(one), parts = one->type->sort == 'c' ? 2 : 1;
    for (size_t k = 0; k < count * parts; k++) {
        char *place = element(one, k / parts) + k % parts * (one->type->bytes / 2);
        char *end = NULL;
        int whole = one->type->sort == 'i' || one->type->sort == 'u';
        if (period > 0 && whole) put_integer(one, place, (int64_t) (k % (size_t) period));
        else if (period > 0)
            put_real(one, place, k % parts ? 0.0 : (double) (k / parts % (size_t) period));
        else if (one->type->sort == 'u')
            put_integer(one, place, (int64_t) strtoull(values, &end, 10));
        else if (whole) put_integer(one, place, strtoll(values, &end, 10));
        else put_real(one, place, strtod(values, &end));
        if (end == values)
            wrong("too few values", one->name);
        values = end ? end : values;
    }
}

/* Reads texts, each in quotes or null. */
static void fill_texts(argument *one, const char *values)
{
    size_t count = elements(one);
    one->texts = calloc(count + 1, sizeof *one->texts);
    for (size_t k = 0; k < count; k++) {
        values += strspn(values, " ");
        if (*values == '"') {
            const char *end = strchr(values + 1, '"');
            one->texts[k].bytes = (size_t) (end - values) - 1;
            one->texts[k].data = strndup(values + 1, one->texts[k].bytes);
            values = end + 1;
        } else {
            one->is_null = 1;
            values += strlen("null");
        }
    }
}

/* Makes the file that an argument names, unless it is missing. */
static void fill_file(argument *one, const char *values, long count, long period)
{
    snprintf(one->path, sizeof one->path, "%s/%s", folder, one->name);
    remove(one->path);
    if (strcmp(one->mode, "out") == 0 || strstr(values, "missing"))
        return;
    FILE *file = fopen(one->path, "wb");
    for (long k = 0; k < count; k++)
        putc((int) (k % period), file);
    if (count == 0) {
        const char *begin = strchr(values, '"') + 1;
        fwrite(begin, 1, (size_t) (strchr(begin, '"') - begin), file);
    }
    fclose(file);
}

/* The type of this name. */
static const struct type *type_of(const char *name)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (strcmp(types[k].name, name) == 0)
            return &types[k];
    wrong("no such type", name);
}

void read_argument(argument *one, const char *mode, char *line)
{
    char *values = strstr(line, " :"), *rest = NULL, layout[16] = "";
    long numbers[RANK_MAX + 2];
    int ramp = 0, count = 0;
    memset(one, 0, sizeof *one);
    snprintf(one->mode, sizeof one->mode, "%s", mode);
    if (values)
        *values = 0;
    snprintf(one->name, sizeof one->name, "%s", strtok_r(line, " ", &rest));
    one->type = type_of(strtok_r(NULL, " ", &rest));
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        if (*word == '@') snprintf(layout, sizeof layout, "%s", word);
        else if (strcmp(word, "ramp") == 0) ramp = count + 1;
        else numbers[count++] = atol(word);
    }
    values = values ? values + 2 : (char *) "";
    one->rank = one->type->sort == 'p' ? 0 : (size_t) (ramp ? ramp - 1 : count);
    for (size_t k = 0; k < one->rank; k++)
        one->shape[k] = (uint64_t) numbers[k];
    if (one->type->sort == 'p') {
        fill_file(one, values, ramp ? numbers[0] : 0, ramp ? numbers[1] : 1);
    } else if (one->type->sort == 's') {
        if (strcmp(mode, "out") != 0)
            fill_texts(one, values);
    } else {
        lay_out(one, layout);
        if (strcmp(mode, "out") != 0)
            fill(one, values, ramp ? numbers[ramp - 1] : 0);
    }
}

/* ---- Functions that are passed --------------------------------------------------------------- */

/* The functions that the list knows (README.md, Actions). */
static void square(double x, double *y) { *y = x * x; }

/* Every element goes one place on, and the last one to the start. */
static void rotate(int n, double *x)
{
    double last = x[n - 1];
    memmove(x + 1, x, (size_t) (n - 1) * sizeof *x);
    x[0] = last;
}

void read_callback(argument *one, const char *name, const char *function)
{
    memset(one, 0, sizeof *one);
    strcpy(one->mode, "in");
    snprintf(one->name, sizeof one->name, "%s", name);
    one->type = type_of("function");
    if (strcmp(function, "square") == 0) one->function = (void (*)(void)) square;
    else if (strcmp(function, "rotate") == 0) one->function = (void (*)(void)) rotate;
    else if (strcmp(function, "null") != 0) wrong("no such function", function);
}

void free_argument(argument *one)
{
    for (size_t k = 0; one->texts && k < elements(one); k++)
        free((void *) one->texts[k].data);
    free(one->texts);
    free(one->memory);
}

/* ---- Showing --------------------------------------------------------------------------------- */

/* Whole numbers as such, others by their bits: decimal fractions are written differently in every
   language. */
static void show_real(double value, size_t bytes)
{
    float narrow = (float) value;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &narrow, sizeof bits);
    memcpy(&wide, &value, sizeof wide);
    if (isnan(value)) fprintf(saying, " nan");
    else if (isinf(value)) fprintf(saying, value > 0 ? " inf" : " -inf");
    else if (value == trunc(value) && fabs(value) < (bytes == 4 ? 0x1p24 : 0x1p53) &&
             !(value == 0 && signbit(value)))
        fprintf(saying, " %" PRId64, (int64_t) value);
    else if (bytes == 4) fprintf(saying, " x%08" PRIx32, bits);
    else fprintf(saying, " x%016" PRIx64, wide);
}

uint64_t bits_of(const char *place, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, place, bytes); /* little-endian machines, as all that the tests run on */
    return bits;
}

/* Rotated to the left, as the checksum wants it of element k. */
static uint64_t turned(uint64_t bits, size_t k)
{
    unsigned turn = (unsigned) (k % TURNS);
    return turn ? bits << turn | bits >> (64 - turn) : bits;
}

/* All numbers row by row, or their checksum. */
static void show_numbers(const argument *one)
{
    size_t parts = one->type->sort == 'c' ? 2 : 1, bytes = one->type->bytes / parts,
           count = elements(one) * parts;
    uint64_t sum = 0;
    for (size_t k = 0; k < count; k++) {
        const char *place = element(one, k / parts) + k % parts * bytes;
        uint64_t bits = bits_of(place, bytes);
        if (count > SHOWN_MAX) sum ^= turned(bits, k);
        else if (one->type->sort == 'u') fprintf(saying, " %" PRIu64, bits);
        else if (one->type->sort == 'i')
            fprintf(saying, " %" PRId64, (int64_t) (bits << (64 - 8 * bytes)) >> (64 - 8 * bytes));
        else show_real(bytes == 4 ? *(const float *) place : *(const double *) place, bytes);
    }
    if (count > SHOWN_MAX)
        fprintf(saying, " #%016" PRIx64, sum);
}

/* The content of a file that came back. */
static void show_file(const argument *one)
{
    char *bytes = NULL;
    size_t count = 0;
    uint64_t sum = 0;
    FILE *file = fopen(one->path, "rb"), *into = open_memstream(&bytes, &count);
    for (int byte; (byte = getc(file)) != EOF;)
        putc(byte, into);
    fclose(file);
    fclose(into);
    for (size_t k = 0; k < count; k++)
        sum ^= turned((unsigned char) bytes[k], k);
    if (count <= SHOWN_MAX) say("%s filename : \"%s\"\n", one->name, bytes);
    else say("%s filename %zu : #%016" PRIx64 "\n", one->name, count, sum);
    free(bytes);
}

/* The strings of a result, which are the results' own. */
static void show_texts(const argument *one, const farcall_results *results, size_t parameter)
{
    say("%s string", one->name);
    if (one->rank)
        fprintf(saying, " %zu", farcall_results_text_count(results, parameter));
    fprintf(saying, " :");
    for (size_t k = 0; k < farcall_results_text_count(results, parameter); k++) {
        const char *text = farcall_results_text(results, parameter, k, NULL);
        fprintf(saying, text ? " \"%s\"" : " null", text);
    }
    fprintf(saying, "\n");
}

void show_result(argument one, const farcall_results *results, size_t parameter)
{
    farcall_array_view view;
    if (one.type->sort == 'p') {
        show_file(&one);
    } else if (one.type->sort == 's') {
        show_texts(&one, results, parameter);
    } else {
        if (one.rank && results &&
            farcall_results_array(results, parameter, &view, NULL) == FARCALL_OK)
            memcpy(one.shape, view.shape, one.rank * sizeof *one.shape);
        say("%s %s", one.name, one.type->name);
        for (size_t k = 0; k < one.rank; k++)
            fprintf(saying, " %" PRIu64, one.shape[k]);
        fprintf(saying, " :");
        show_numbers(&one);
        fprintf(saying, "\n");
    }
}
