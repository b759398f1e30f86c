/* The C side of battery.idl. */
#define _GNU_SOURCE
#include <complex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* y and x change places by way of w; z keeps the old y. */
#define SWAP(T, NAME) \
    void swap_##NAME(long n, T s, const T *x, T *y, T *z, T *one, T *w) \
    { \
        for (long i = 0; i < n; i++) { w[i] = x[i]; z[i] = y[i]; } \
        for (long i = 0; i < n; i++) y[i] = w[i]; \
        *one = s; \
    }

SWAP(signed char, int8)
SWAP(unsigned char, uint8)
SWAP(short, int16)
SWAP(unsigned short, uint16)
SWAP(int, int32)
SWAP(unsigned, uint32)
SWAP(long, int64)
SWAP(unsigned long, uint64)
SWAP(float, float)
SWAP(double, double)
SWAP(float complex, scomplex)
SWAP(double complex, dcomplex)
SWAP(char, char)

void touch(long n, double *x)
{
    for (long i = 0; i < n; i++) x[i] += 1;
}

void echo(long n, const unsigned char *x, unsigned char *y)
{
    if (n > 0) memcpy(y, x, n);
}

void transpose(int m, int n, const double *a, double *b)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) b[j * m + i] = a[i * n + j];
}

void mixed(int m, int n, const double *a, double *c, int ldc)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) c[j * ldc + i] += a[i * n + j];
        for (int i = m; i < ldc; i++) c[j * ldc + i] += 1000;
    }
}

void twice(long n, const double *x, double *y)
{
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}

void maybe(int flag, int n, const double *x, double *y, int *used)
{
    *used = flag;
    for (int i = 0; flag && i < n; i++) y[i] = -x[i];
}

void blend(long n, double beta, const double *x, double *y, double *first)
{
    *first = n > 0 ? y[0] : 0;
    for (long i = 0; i < n - (beta == 0); i++) y[i] = x[i] + (beta == 0 ? 0 : beta * y[i]);
}

void padded(int m, int n, double beta, double *c, int ldc)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) c[j * ldc + i] = i + (beta == 0 ? 0 : beta * c[j * ldc + i]);
        for (int i = m; i < ldc; i++) c[j * ldc + i] = 1000;
    }
}

void defaults(int n, double f, char c, double *y, char *d)
{
    for (int i = 0; i < n; i++) y[i] = f * i;
    *d = c;
}

void some(int n, int want, int *m, double *w, double *z)
{
    *m = want;
    for (int i = 0; i < want && i < n; i++) w[i] = i + 1;
    for (int j = 0; j < want && j < n; j++)
        for (int i = 0; i < n; i++) z[j * n + i] = 100 * j + i;
}

double f_double(double x) { return 2 * x; }
float f_float(float x) { return 2 * x; }
int f_int(int x) { return 2 * x; }
signed char f_int8(signed char x) { return -x; }
double complex f_dcomplex(double complex x) { return x * I; }
float complex f_scomplex(float complex x) { return x * I; }

void greet(const char *name, char **greeting, int *length)
{
    static char text[1 << 17];
    *length = name ? (int) strlen(name) : -1;
    snprintf(text, sizeof text, "hello, %s", name ? name : "nobody");
    *greeting = name && !*name ? NULL : text;
}

struct point { double x; int tag; float w[3]; };

void points(int n, struct point p, struct point *q)
{
    for (int i = 0; i < n; i++) {
        q[i].x += p.x;
        q[i].tag += p.tag;
        for (int k = 0; k < 3; k++) q[i].w[k] += p.w[k];
    }
}

void permuted(int *r, int one, int b, int a, int again)
{
    *r = 1000 * one + 100 * b + 10 * a + again;
}

void snooze(int milliseconds, int *pid)
{
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000L };
    nanosleep(&time, NULL);
    *pid = (int) getpid();
}

/* Bytes of a file that is copied; -1 if it is none. */
static long copy_file(const char *from, const char *to, char last)
{
    FILE *in = from ? fopen(from, "rb") : NULL, *out = to ? fopen(to, "wb") : NULL;
    long bytes = 0;
    if (in == NULL) bytes = -1;
    for (int c; in && (c = getc(in)) != EOF; bytes++) if (out) putc(c, out);
    if (out) putc(last, out);
    if (in) fclose(in);
    if (out) fclose(out);
    return bytes;
}

/* `size` is that of `given`; `mode` the permissions of `changed`; `known` whether `made` was there
   before. */
void files(
    const char *given, const char *changed, const char *made, long *size, int *mode, int *known)
{
    struct stat data;
    *known = made && stat(made, &data) == 0;
    *mode = changed && stat(changed, &data) == 0 ? (int) (data.st_mode & 07777) : -1;
    *size = copy_file(given, made, '!');
    FILE *out = changed ? fopen(changed, "ab") : NULL;
    if (out) { putc('+', out); fclose(out); }
}
