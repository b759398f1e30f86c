/* stencil.h: explicit steps of the heat equation */
#ifndef STENCIL_H
#define STENCIL_H

#ifdef __cplusplus
extern "C" {
#endif

/* one step on rows x cols points, whose border stays; the largest change */
extern double stencil_step(int rows, int cols, double alpha, const double *u, double *v);

#ifdef __cplusplus
}
#endif
#endif
