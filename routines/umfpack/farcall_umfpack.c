/* Glue between umfpack.idl and SuiteSparse's UMFPACK: checks a matrix, factorises it, and solves.
 * (Marked: this file uses a GPL library.)
 *
 * This file is part of Farcall and under the Apache License, like the rest. UMFPACK is under the
 * GNU General Public License: the program that the machine's own compiler makes of both is under
 * the GPL, is for use on that machine, and is in no package of Farcall's (docs/licences.md).
 *
 * The file reads itself once for each kind of number and index: the first time as it stands, then
 * inside with UMFPACK(name) defined.
 */
#ifndef UMFPACK

#if !__has_include(<suitesparse/umfpack.h>)
#error \
    "SuiteSparse is not installed: install the package libsuitesparse-dev or suitesparse-devel"
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/umfpack.h>

/* What comes back as `status` beside UMFPACK's own numbers, which are above -1000. */
enum { BAD_POINTERS = -1001, BAD_INDEX = -1002 };

/* UMFPACK's numbers, in words; static, since it travels after the call. */
static const char *status_text(int status)
{
    switch (status) {
    case UMFPACK_OK: return "solved";
    case UMFPACK_WARNING_singular_matrix:
        return "the matrix is singular: the solution has infinities or NaN";
    case UMFPACK_WARNING_determinant_underflow:
    case UMFPACK_WARNING_determinant_overflow: return "the determinant is out of range";
    case UMFPACK_ERROR_out_of_memory: return "there is not enough memory for the factors";
    case UMFPACK_ERROR_n_nonpositive: return "the matrix has no rows";
    case UMFPACK_ERROR_invalid_matrix: return "the matrix is not in compressed columns";
    case BAD_POINTERS:
        return "column pointers must begin with 0, not decrease, and end with the number of "
               "entries";
    case BAD_INDEX: return "a row index is not between 0 and n-1";
    default: return "UMFPACK failed inside";
    }
}

#define JOIN(a, b) a##b

#define UMFPACK(name) JOIN(umfpack_di_, name)
#define GLUE(name) JOIN(farcall_umfpack_di_, name)
#define INDEX int
#define PARTS 1
#include "farcall_umfpack.c"

#define UMFPACK(name) JOIN(umfpack_dl_, name)
#define GLUE(name) JOIN(farcall_umfpack_dl_, name)
#define INDEX SuiteSparse_long
#define PARTS 1
#include "farcall_umfpack.c"

#define UMFPACK(name) JOIN(umfpack_zi_, name)
#define GLUE(name) JOIN(farcall_umfpack_zi_, name)
#define INDEX int
#define PARTS 2
#include "farcall_umfpack.c"

#define UMFPACK(name) JOIN(umfpack_zl_, name)
#define GLUE(name) JOIN(farcall_umfpack_zl_, name)
#define INDEX SuiteSparse_long
#define PARTS 2
#include "farcall_umfpack.c"

#else /* inside, once for each kind; a complex number is PARTS doubles beside each other */

#if PARTS == 2
#define WITH_IMAGINARY(array) array, NULL
#else
#define WITH_IMAGINARY(array) array
#endif

/* A matrix in compressed columns; `owned` is what must be freed. */
struct GLUE(matrix) {
    const INDEX *pointers, *rows;
    const double *values;
    void *owned[3];
};

/* UMFPACK trusts pointers and indexes in places, so nothing reaches it that lies outside of the
   arrays. */
static int GLUE(check)(
    INDEX n, INDEX entries, const INDEX *pointers, const INDEX *rows, int *sorted)
{
    *sorted = 1;
    if (pointers[0] != 0 || pointers[n] != entries)
        return BAD_POINTERS;
    for (INDEX column = 0; column < n; column++)
        if (pointers[column] > pointers[column + 1] || pointers[column + 1] > entries)
            return BAD_POINTERS;
    for (INDEX column = 0; column < n; column++)
        for (INDEX k = pointers[column]; k < pointers[column + 1]; k++) {
            if (rows[k] < 0 || rows[k] >= n)
                return BAD_INDEX;
            if (k > pointers[column] && rows[k] <= rows[k - 1])
                *sorted = 0;
        }
    return UMFPACK_OK;
}

/* Sorts the entries of each column and adds up those of one place: UMFPACK wants both, and few
   callers know. */
static int GLUE(sort)(INDEX n, INDEX entries, struct GLUE(matrix) *matrix)
{
    size_t count = entries > 0 ? (size_t)entries : 1;
    INDEX *columns = malloc(count * sizeof(INDEX));
    INDEX *pointers = matrix->owned[0] = malloc(((size_t)n + 1) * sizeof(INDEX));
    INDEX *rows = matrix->owned[1] = malloc(count * sizeof(INDEX));
    double *values = matrix->owned[2] = malloc(count * PARTS * sizeof(double));
    int status = UMFPACK_ERROR_out_of_memory;
    if (columns && pointers && rows && values) {
        for (INDEX column = 0; column < n; column++)
            for (INDEX k = matrix->pointers[column]; k < matrix->pointers[column + 1]; k++)
                columns[k] = column;
        status = UMFPACK(triplet_to_col)(n, n, entries, matrix->rows, columns,
            WITH_IMAGINARY(matrix->values), pointers, rows, WITH_IMAGINARY(values), NULL);
        matrix->pointers = pointers, matrix->rows = rows, matrix->values = values;
    }
    free(columns);
    return status;
}

/* Factorises; `*numeric` must be freed by UMFPACK, also after a warning. */
static int GLUE(factorise)(
    INDEX n, const struct GLUE(matrix) * matrix, void **numeric, double *rcond)
{
    double info[UMFPACK_INFO];
    void *symbolic = NULL;
    int status = UMFPACK(symbolic)(n, n, matrix->pointers, matrix->rows,
        WITH_IMAGINARY(matrix->values), &symbolic, NULL, info);
    if (status == UMFPACK_OK) {
        status = UMFPACK(numeric)(matrix->pointers, matrix->rows, WITH_IMAGINARY(matrix->values),
            symbolic, numeric, NULL, info);
        *rcond = status >= UMFPACK_OK ? info[UMFPACK_RCOND] : 0.0;
    }
    UMFPACK(free_symbolic)(&symbolic);
    return status;
}

/* Puts the solution in the place of each right-hand side, with iterative refinement, which is
   UMFPACK's default. */
static int GLUE(solve_all)(int system, INDEX n, INDEX count, const struct GLUE(matrix) * matrix,
    double *b, double *work, void *numeric)
{
    int worst = UMFPACK_OK;
    for (INDEX k = 0; k < count; k++) {
        double *x = b + (size_t)k * (size_t)n * PARTS;
        memcpy(work, x, (size_t)n * PARTS * sizeof(double));
        int status =
            UMFPACK(solve)(system, matrix->pointers, matrix->rows, WITH_IMAGINARY(matrix->values),
                WITH_IMAGINARY(x), WITH_IMAGINARY(work), numeric, NULL, NULL);
        if (status < UMFPACK_OK)
            return status;
        worst = status > worst ? status : worst;
    }
    return worst;
}

/* UMFPACK_At is the transpose with conjugation, UMFPACK_Aat the one without. */
static int GLUE(system)(char trans)
{
    switch (trans & 95) {
    case 'T': return UMFPACK_Aat;
    case 'C': return UMFPACK_At;
    default: return UMFPACK_A;
    }
}

/* The entry: b becomes A^-1 b and so on; `work` holds n numbers. `*text` says what `*status` means.
   */
void GLUE(solve)(char trans, INDEX n, INDEX nrhs, INDEX entries, const INDEX *pointers,
    const INDEX *rows, const double *values, double *b, double *work, double *rcond, int *status,
    const char **text)
{
    static const INDEX no_row = 0;
    static const double no_value[PARTS] = {0.0};
    /* Arrays without elements may be NULL, which UMFPACK takes for a mistake. */
    struct GLUE(matrix) matrix = {
        pointers, entries ? rows : &no_row, entries ? values : no_value, {NULL, NULL, NULL}};
    void *numeric = NULL;
    int sorted;

    *rcond = 0.0;
    *status = GLUE(check)(n, entries, pointers, rows, &sorted);
    if (*status == UMFPACK_OK && !sorted)
        *status = GLUE(sort)(n, entries, &matrix);
    if (*status == UMFPACK_OK)
        *status = GLUE(factorise)(n, &matrix, &numeric, rcond);
    if (*status >= UMFPACK_OK) {
        int solved = GLUE(solve_all)(GLUE(system)(trans), n, nrhs, &matrix, b, work, numeric);
        *status = solved != UMFPACK_OK ? solved : *status;
    }
    UMFPACK(free_numeric)(&numeric);
    for (int i = 0; i < 3; i++)
        free(matrix.owned[i]);
    *text = status_text(*status);
}

#undef WITH_IMAGINARY
#undef UMFPACK
#undef GLUE
#undef INDEX
#undef PARTS
#endif
