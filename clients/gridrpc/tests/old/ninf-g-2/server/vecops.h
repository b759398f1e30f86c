/*
 * vecops.h: vector operations
 */
#ifndef _VECOPS_H_
#define _VECOPS_H_

#if defined(__STDC__)
extern double vsum(int, double *);
extern void vscale(int, double, double *, double *);
extern int vmaxpos(int, double *);
#else
extern double vsum();
extern void vscale();
extern int vmaxpos();
#endif

#define SQR(x)	((x) * (x))

#endif /* _VECOPS_H_ */
