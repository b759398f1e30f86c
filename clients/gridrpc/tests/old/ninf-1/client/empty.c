/* empty.c -- arrays of no elements, texts that are not there */
#include "ck.h"

int main()
{
    double a = 1;
    int b = 2, nulls = -1, null = -1;
    float c[2];
    char *s = "x", *r = "r";

    c[0] = c[1] = 3;
    must(Ninf_call("empty", 0, &a, &b, c, &s, &nulls));
    check(nulls == 4 && b == 2 && c[0] == 3);
    nulls = -1;
    must(Ninf_call("empty", 0, NULL, NULL, NULL, NULL, &nulls));
    check(nulls == 4);
    must(Ninf_call("empty", 1, &a, &b, c, &s, &nulls));
    check(nulls == 0);
    must(Ninf_call("lengths", 0, NULL, NULL));
    must(Ninf_call("capitals", NULL, &r, &null));
    check(null == 1 && r == NULL);
    must(Ninf_call("capitals", "", &r, &null));
    check(null == 0 && r != NULL && *r == 0);
    done("empty");
}
