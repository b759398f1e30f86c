/* strlib.c -- texts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ctype.h>

/* the text in capital letters, in memory of malloc */
char *
upper(s)
char *s;
{
    char *p, *r;

    if (s == NULL)
	return NULL;
    r = p = (char *)malloc(strlen(s) + 1);
    while (*s)
	*p++ = toupper(*s++);
    *p = 0;
    return r;
}

/* how often a byte stands in a file; -1 without one */
long
grepc(path, c)
char *path;
int c;
{
    FILE *f;
    int d;
    long n = 0;

    if (path == NULL || (f = fopen(path, "rb")) == NULL)
	return -1;
    while ((d = getc(f)) != EOF)
	if (d == c)
	    n++;
    fclose(f);
    return n;
}
