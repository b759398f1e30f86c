/* farm.c -- pi by throwing darts: a group of calls */
#include <math.h>
#include <unistd.h>
#include "ninf_stub.h"
#include "ck.h"

#define MAXTASK 64

int main(argc, argv)
int argc;
char **argv;
{
    int ntask = 12, n = 20000, c, i, inside[MAXTASK];
    long sum = 0;
    double pi;
    Ninf_group_t *group;

    argc = Ninf_parse_arg(argc, argv);
    while ((c = getopt(argc, argv, "n:t:")) != -1)
	switch (c) {
	case 'n': n = atoi(optarg); break;
	case 't': ntask = atoi(optarg); break;
	default: fprintf(stderr, "usage: farm [-n points] [-t tasks]\n"); exit(2);
	}
    if ((group = Ninf_group_init("control/ep")) == NULL) {
	Ninf_perror("Ninf_group_init");
	exit(1);
    }
    for (i = 0; i < ntask; i++)
	must(Ninf_group_call_async(group, n, i + 1, &inside[i]));
    must(Ninf_group_wait_all(group));
    for (i = 0; i < ntask; i++)
	sum += inside[i];
    pi = 4.0 * sum / ((double)n * ntask);
    check(pi > 3.1 && pi < 3.2);
    done("farm");
}
