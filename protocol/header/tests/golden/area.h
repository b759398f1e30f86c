/* Copyright nobody.
 * All rights reserved. */
#ifndef AREA_H
#define AREA_H

#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Area of a box. */
double area(double width, double height);

/* Sum of n areas. */
void total(int n, const double *areas, double *sum);

/** The \"mean\" of values,
 *  by pairs. */
extern double mean(const double *values, size_t n_values, const double *weights,
                   size_t weights_len);
bool is_flat(const float v[3]);
long long
wide(unsigned char, long, unsigned long long big);
const char *name_of(int kind);
char *copied(const char *text);
void names(const char *const *list, int n_list);
void scale(double *x, int count, double by);
void shift(size_t len, const double *a, double *b, size_t m);
void matrix(int rows, int cols, const double a[rows][cols], double b[][3]);
double asum(int n, const double *x, int incx);
double trace(int rows, int cols, const double *a);
void bytes(const void *data, size_t size);
double complex turn(double complex z);
enum mode { FAST, SLOW };
int set_mode(enum mode mode);
extern int verbose;
static inline int twice(int x) { return 2 * x; }
int show(const char *format, ...);
int old();
void put(FILE *where, int string);
long double precise(long double x);
double *table(int n);
void unknown(other_t x, int (*f)(int));
void fill(char *buffer);

#ifdef __cplusplus
}
#endif
#endif
