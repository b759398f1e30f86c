/* odd.c -- less usual arguments */
#include "ck.h"

add(x, y, z)
double x, y, *z;
{
    *z = x + y;
    return 0;
}

main()
{
    int n = -1;
    long long y = 0;
    double a[3], s = -1;
    unsigned char c[2];
    char to[6], *r = NULL;
    FILE *f;

    if ((f = fopen("lines.out", "w")) == NULL) { perror("lines.out"); exit(1); }
    fprintf(f, "a\nb\nc\n");
    fclose(f);
    f = fopen("lines.out", "r");
    must(Ninf_call("lines", f, &n));
    check(n == 3);
    fclose(f);
    c[0] = 200; c[1] = 100;
    must(Ninf_call("big", 1LL << 40, 5u, c, 7, &y));
    check(y == (1LL << 40) + 312);
    a[0] = 1; a[1] = 2; a[2] = 3;
    must(Ninf_call("accumulate", 3, a, &s, add));
    check(s == 6);
    must(Ninf_call("odd/vscale", 3, a, 2.0));
    check(a[0] == 2 && a[2] == 6);
    must(Ninf_call("odd/copy()", 6, "hello", to));
    check(strcmp(to, "hello") == 0);
    must(Ninf_call("join", "ab", "cd", &r));
    check(r && strcmp(r, "abcd") == 0);
    free(r);
    done("odd");
}
