#pragma once
#include <stdbool.h>
#include <stddef.h>
typedef struct solver solver;
typedef struct mesh_s *mesh_t;
typedef double (*function)(double x, void *with);
typedef struct { double x, y; int tag[4]; } point;
struct box { point low, high; };
struct deep { double *values; };

// Makes a solver of this order.
solver *solver_new(int order, const char *name);
/* A step of it. */
int solver_step(solver *s, double dt, const double *load, size_t n_load);
point solver_at(const solver *s, point where);
void solver_on(solver *s, void (*seen)(int n, const double *x));
void solver_watch(solver *s, bool (*stop)(int step, void *with), void *with);
void solver_later(solver *s, void (*done)(void *with));
const char *solver_error(solver *);
void solver_free(solver *s);

int mesh_create(mesh_t *made, int n);
int mesh_size(mesh_t mesh);
int mesh_solve(mesh_t mesh, solver *s);

double integrate(function f, void *with, double a, double b);
double minimum(double (*f)(int n, const double *x, void *), void *with, int n, double *x);
double plain(double (*f)(double), double a);
bool until(bool (*stop)(int step));
void apply(void (*f)(double *x), double x);
void move(point *p, const point *by);
void inside(struct box b, struct deep d);
struct alone *find(int key);
void use(struct nobody *n);

/* The handle has the name of a function. */
typedef struct tree tree;
[[nodiscard]] tree *tree_new(void);
int tree(const tree *t);
void tree_free(tree *t);
inline double doubled(double x) { return 2 * x; }
