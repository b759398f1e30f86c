/* barotropic.h: the barotropic vorticity equation on a rotating sphere; barotropic.c says how it is
   solved. */
#ifndef BAROTROPIC_H
#define BAROTROPIC_H

#define BAROTROPIC_RADIUS 6.37122e6  /* m */
#define BAROTROPIC_OMEGA 7.292e-5    /* 1/s: Earth turns once a day */
#define BAROTROPIC_TRUNCATION_MAX 170

typedef struct barotropic barotropic;

/* A model of this truncation, from 1 to BAROTROPIC_TRUNCATION_MAX; NULL for another, and without
 * memory. To be freed with barotropic_free. One thread at a time may use it. */
barotropic *barotropic_new(int truncation);
void barotropic_free(barotropic *model);

/* Integrates from the state `initial`, (truncation + 1)^2 coefficients of the vorticity in 1/s:
 * `count` times `seconds`, each in `steps` time steps. states[k] is the state after k + 1 of them.
 * `each` (or NULL) hears how many are there, and ends the forecast if it returns other than 0. The
 * smallest scale decays by 1/e in `e_folding` seconds; 0: not at all. -1 without memory, otherwise
 * 0. */
int barotropic_forecast(barotropic *model, const double *initial, double seconds, int steps,
    int count, double e_folding, double *states, int (*each)(int done));

/* The stream function in m^2/s on rows by columns points: row 0 is the southernmost, at -90 +
 * 90/rows degrees, and column 0 lies 180/columns degrees east of Greenwich. */
void barotropic_streamfunction(
    const barotropic *model, const double *state, int rows, int columns, double *psi);

/* Means over the sphere of the kinetic energy, in m^2/s^2, and of half the squared vorticity, in
   1/s^2. */
void barotropic_invariants(
    const barotropic *model, const double *state, double *energy, double *enstrophy);

/* The state of an idealised atmosphere: westerly jets of 30 m/s in both hemispheres, and planetary
 * waves on them. Its vorticity has degrees up to 9; what the truncation has no room for is left
 * out. */
void barotropic_idealised(const barotropic *model, double *state);

#endif
