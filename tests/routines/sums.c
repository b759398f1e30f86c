/* Routines of one number, for a plugin that calls another node. */
#include <stdlib.h>

double half(double x)
{
    return x / 2;
}

double fail(double x)
{
    (void)x;
    abort();
}
