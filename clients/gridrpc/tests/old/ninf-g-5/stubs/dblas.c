/* dblas.f -- translated by f2c (version 20060506), and cut down by hand */
typedef int integer;
typedef double doublereal;
typedef int ftnlen;

/* Subroutine */ int dscal_(integer *n, doublereal *da, doublereal *dx, integer *incx)
{
    /* Local variables */
    integer i__;

    /* Parameter adjustments */
    --dx;

    /* Function Body */
    for (i__ = 1; i__ <= *n * *incx; i__ += *incx) {
	dx[i__] = *da * dx[i__];
    }
    return 0;
} /* dscal_ */

/* Subroutine */ int daxpy_(integer *n, doublereal *da, doublereal *dx, integer *incx,
	doublereal *dy, integer *incy)
{
    integer i__, ix = 0, iy = 0;

    for (i__ = 1; i__ <= *n; ++i__) {
	dy[iy] += *da * dx[ix];
	ix += *incx;
	iy += *incy;
    }
    return 0;
} /* daxpy_ */

/* Subroutine */ int dgemvx_(char *trans, integer *m, integer *n, doublereal *a, integer *lda,
	doublereal *x, doublereal *y, ftnlen trans_len)
{
    integer i__, j, ta = *trans == 'T' || *trans == 't';

    for (i__ = 0; i__ < (ta ? *n : *m); ++i__) {
	y[i__] = 0.;
	for (j = 0; j < (ta ? *m : *n); ++j) {
	    y[i__] += (ta ? a[j + i__ * *lda] : a[i__ + j * *lda]) * x[j];
	}
    }
    return trans_len - 1;
} /* dgemvx_ */
