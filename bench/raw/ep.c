/* NPB EP by itself: reads lines `M FIRST COUNT`, computes that part of 2^M pairs, and answers each with
 * a line. What two of these gain over one is what a machine can gain. */
#include <inttypes.h>
#include <stdio.h>

#include "../../routines/ep/ep.c"

int main(void)
{
    int m;
    int64_t first, count;
    double sx, sy, q[ANNULI];
    while (scanf("%d %" SCNd64 " %" SCNd64, &m, &first, &count) == 3) {
        npb_ep(m, first, count, &sx, &sy, q);
        printf("%.15e %.15e\n", sx, sy);
        fflush(stdout);
    }
    return 0;
}
