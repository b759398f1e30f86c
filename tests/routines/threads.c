/* Says how many threads OpenMP would run. */
#include <omp.h>

int threads(void)
{
    return omp_get_max_threads();
}
