/* Glue between fftw.idl and FFTW 3: finds or makes a plan, and executes it. (Marked: this file uses
 * a GPL library.)
 *
 * This file is part of Farcall and under the Apache License, like the rest. FFTW is under the GNU
 * General Public License: the program that the machine's own compiler makes of both is under the
 * GPL, is for use on that machine, and is in no package of Farcall's (docs/licences.md).
 *
 * The file reads itself once for each precision: the first time as it stands, then inside with
 * FFTW(name) defined.
 */
#ifndef FFTW

#if !__has_include(<fftw3.h>)
#error "FFTW is not installed: install the package libfftw3-dev (Debian; elsewhere fftw-devel)"
#endif
#include <fftw3.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Plans that are kept for each precision. A plan of many dimensions holds some kilobytes; a sweep
   uses one or two. */
#define PLANS_MAX 16

/* What comes back as `info`. */
enum { DONE = 0, NO_PLAN = 1 };

/* What a transform takes to what. */
enum kind { COMPLEX, REAL_TO_COMPLEX, COMPLEX_TO_REAL, REAL };

/* All that a plan depends on. Compared as bytes: it is cleared before it is filled in. */
struct transform {
    int kind;
    int rank;
    int64_t extents[3]; /* the last `rank` of them count */
    int64_t howmany;
    int code;           /* sign of a complex transform, FFTW's kind of a real one */
    unsigned flags;
};

/* One lock for both precisions: FFTW's planner is not thread-safe, and planning is rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* E: at once, by a rule of thumb. M, P: by trying some or many ways; worth it for a size that is
   used again. */
static unsigned effort_flags(char effort)
{
    switch (effort & 95) {
    case 'M': return FFTW_MEASURE;
    case 'P': return FFTW_PATIENT;
    default: return FFTW_ESTIMATE;
    }
}

/* Elements of one transform on the real side, and on the complex side, where the last extent is
   about halved. */
static int64_t elements(const struct transform *t, int halved)
{
    int64_t product = 1;
    for (int axis = 3 - t->rank; axis < 3; axis++)
        product *= halved && axis == 2 ? t->extents[axis] / 2 + 1 : t->extents[axis];
    return product;
}

#define JOIN(a, b) a##b
#define FFTW(name) JOIN(fftw_, name)
#define GLUE(name) JOIN(farcall_fftw_, name)
#define NUMBER double
#include "farcall_fftw.c"
#undef FFTW
#undef GLUE
#undef NUMBER
#define FFTW(name) JOIN(fftwf_, name)
#define GLUE(name) JOIN(farcall_fftwf_, name)
#define NUMBER float
#include "farcall_fftw.c"

#else /* inside, once for each precision */

/* A kept plan. It is not destroyed while a call uses it. */
struct GLUE(kept) {
    struct transform key;
    FFTW(plan) plan;
    unsigned users;
    uint64_t last_use;
};

static struct GLUE(kept) GLUE(plans)[PLANS_MAX];
static uint64_t GLUE(clock);

/* A plan for arrays like `in` and `out`. Only estimates leave the arrays alone while they plan. */
static FFTW(plan) GLUE(make)(const struct transform *t, void *in, void *out)
{
    FFTW(iodim64) dims[3], many = {t->howmany, 0, 0};
    int64_t in_step = 1, out_step = 1;

    for (int axis = 2; axis >= 3 - t->rank; axis--) {
        int64_t extent = t->extents[axis], half = axis == 2 ? extent / 2 + 1 : extent;
        dims[axis - 3 + t->rank] = (FFTW(iodim64)){extent, in_step, out_step};
        in_step *= t->kind == COMPLEX_TO_REAL ? half : extent;
        out_step *= t->kind == REAL_TO_COMPLEX ? half : extent;
    }
    many.is = in_step;
    many.os = out_step;
    switch (t->kind) {
    case COMPLEX: return FFTW(plan_guru64_dft)(t->rank, dims, 1, &many, in, out, t->code, t->flags);
    case REAL_TO_COMPLEX:
        return FFTW(plan_guru64_dft_r2c)(t->rank, dims, 1, &many, in, out, t->flags);
    case COMPLEX_TO_REAL:
        return FFTW(plan_guru64_dft_c2r)(t->rank, dims, 1, &many, in, out, t->flags);
    default: {
        FFTW(r2r_kind) kinds[3] = {t->code, t->code, t->code};
        return FFTW(plan_guru64_r2r)(t->rank, dims, 1, &many, in, out, kinds, t->flags);
    }
    }
}

/* Plans on memory of its own where planning would overwrite the caller's. */
static FFTW(plan) GLUE(make_aside)(const struct transform *t, void *in, void *out)
{
    if (t->flags & FFTW_ESTIMATE)
        return GLUE(make)(t, in, out);
    size_t bytes = (size_t)(elements(t, 0) + 2) * (size_t)t->howmany * 2 * sizeof(NUMBER);
    void *in_aside = FFTW(malloc)(bytes), *out_aside = FFTW(malloc)(bytes);
    FFTW(plan) plan = in_aside && out_aside ? GLUE(make)(t, in_aside, out_aside) : NULL;
    FFTW(free)(in_aside);
    FFTW(free)(out_aside);
    return plan;
}

/* The place of the plan for `t`: where it is, or else the one unused for longest; NULL if all are
   in use. */
static struct GLUE(kept) *GLUE(place)(const struct transform *t)
{
    struct GLUE(kept) *oldest = NULL;
    for (struct GLUE(kept) *one = GLUE(plans); one < GLUE(plans) + PLANS_MAX; one++) {
        if (one->plan && memcmp(&one->key, t, sizeof *t) == 0)
            return one;
        if (one->users == 0 && (!oldest || one->last_use < oldest->last_use))
            oldest = one;
    }
    return oldest;
}

/* The plan for `t`, kept or new. `*place` is NULL for one that nobody keeps. */
static FFTW(plan)
    GLUE(take)(const struct transform *t, void *in, void *out, struct GLUE(kept) * *place)
{
    pthread_mutex_lock(&lock);
    struct GLUE(kept) *found = *place = GLUE(place)(t);
    FFTW(plan)
    plan = found && found->plan && memcmp(&found->key, t, sizeof *t) == 0 ? found->plan : NULL;
    if (!plan) {
        plan = GLUE(make_aside)(t, in, out);
        if (plan && found) {
            FFTW(destroy_plan)(found->plan);
            *found = (struct GLUE(kept)){*t, plan, 0, 0};
        }
    }
    if (plan && found) {
        found->users++;
        found->last_use = ++GLUE(clock);
    } else {
        *place = NULL;
    }
    pthread_mutex_unlock(&lock);
    return plan;
}

static void GLUE(release)(FFTW(plan) plan, struct GLUE(kept) *place)
{
    pthread_mutex_lock(&lock);
    if (place)
        place->users--;
    else
        FFTW(destroy_plan)(plan);
    pthread_mutex_unlock(&lock);
}

static void GLUE(execute)(FFTW(plan) plan, int kind, void *in, void *out)
{
    switch (kind) {
    case COMPLEX: FFTW(execute_dft)(plan, in, out); break;
    case REAL_TO_COMPLEX: FFTW(execute_dft_r2c)(plan, in, out); break;
    case COMPLEX_TO_REAL: FFTW(execute_dft_c2r)(plan, in, out); break;
    default: FFTW(execute_r2r)(plan, in, out); break;
    }
}

/* Runs a transform; `numbers` is how many real numbers the result has, for its scale. */
static int GLUE(run)(struct transform *t, char effort, void *in, void *out, double scale)
{
    if (t->howmany == 0)
        return DONE;
    /* A plan fits arrays of its own alignment alone, unless it was told to fit all. */
    int aligned = FFTW(alignment_of)(in) == 0 && FFTW(alignment_of)(out) == 0;
    /* Only transforms from complex to real numbers of several dimensions spoil what they read. */
    int preserves = t->kind != COMPLEX_TO_REAL || t->rank == 1;
    t->flags = effort_flags(effort) | (aligned ? 0 : FFTW_UNALIGNED)
        | (preserves ? FFTW_PRESERVE_INPUT : FFTW_DESTROY_INPUT);
    struct GLUE(kept) *place;
    FFTW(plan) plan = GLUE(take)(t, in, out, &place);
    if (!plan)
        return NO_PLAN;
    GLUE(execute)(plan, t->kind, in, out);
    GLUE(release)(plan, place);
    int complex_out = t->kind == COMPLEX || t->kind == REAL_TO_COMPLEX;
    int64_t numbers = elements(t, t->kind == REAL_TO_COMPLEX) * t->howmany * (complex_out ? 2 : 1);
    if (scale != 1.0)
        for (int64_t i = 0; i < numbers; i++)
            ((NUMBER *)out)[i] *= (NUMBER)scale;
    return DONE;
}

/* The four entries. Extents that a rank does not have are 1; a batch is `howmany` transforms behind
   one another. */
void GLUE(complex)(int rank, int l, int m, int n, int howmany, const void *in, void *out, int sign,
    double scale, char effort, int *info)
{
    struct transform t;
    memset(&t, 0, sizeof t);
    t.kind = COMPLEX, t.rank = rank, t.howmany = howmany, t.code = sign;
    t.extents[0] = l, t.extents[1] = m, t.extents[2] = n;
    *info = GLUE(run)(&t, effort, (void *)in, out, scale);
}

void GLUE(real_to_complex)(int rank, int l, int m, int n, int howmany, const void *in, void *out,
    double scale, char effort, int *info)
{
    struct transform t;
    memset(&t, 0, sizeof t);
    t.kind = REAL_TO_COMPLEX, t.rank = rank, t.howmany = howmany;
    t.extents[0] = l, t.extents[1] = m, t.extents[2] = n;
    *info = GLUE(run)(&t, effort, (void *)in, out, scale);
}

void GLUE(complex_to_real)(int rank, int l, int m, int n, int howmany, void *in, void *out,
    double scale, char effort, int *info)
{
    struct transform t;
    memset(&t, 0, sizeof t);
    t.kind = COMPLEX_TO_REAL, t.rank = rank, t.howmany = howmany;
    t.extents[0] = l, t.extents[1] = m, t.extents[2] = n;
    *info = GLUE(run)(&t, effort, in, out, scale);
}

/* Cosine transforms of types 1 to 4, sine transforms as types 11 to 14. */
void GLUE(real)(int type, int rank, int l, int m, int n, int howmany, const void *in, void *out,
    double scale, char effort, int *info)
{
    static const int cosines[] = {FFTW_REDFT00, FFTW_REDFT10, FFTW_REDFT01, FFTW_REDFT11};
    static const int sines[] = {FFTW_RODFT00, FFTW_RODFT10, FFTW_RODFT01, FFTW_RODFT11};
    struct transform t;
    memset(&t, 0, sizeof t);
    t.kind = REAL, t.rank = rank, t.howmany = howmany;
    t.extents[0] = l, t.extents[1] = m, t.extents[2] = n;
    t.code = type > 10 ? sines[type - 11] : cosines[type - 1];
    *info = GLUE(run)(&t, effort, (void *)in, out, scale);
}

#endif
