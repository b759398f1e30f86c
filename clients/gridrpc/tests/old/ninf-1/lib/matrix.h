/* matrix.h -- matrices by rows */
#ifndef MATRIX_H
#define MATRIX_H
#define ELEM(a, ld, i, j)	((a)[(i) * (ld) + (j)])
#define FABS(x)			((x) < 0 ? -(x) : (x))
typedef double real;
#endif
