/*
 * textops.c: files of text
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXLINES	1000
#define MAXLEN		256

static char *line[MAXLINES];

/* lines, words and characters of a file; -1 if there is none */
int
count_file(path, lines, words, chars)
	char *path;
	int *lines, *words, *chars;
{
	FILE *fp;
	int c, inword = 0;

	*lines = *words = *chars = 0;
	if (path == NULL || (fp = fopen(path, "r")) == NULL)
		return -1;
	while ((c = getc(fp)) != EOF) {
		++*chars;
		if (c == '\n')
			++*lines;
		if (c == ' ' || c == '\t' || c == '\n')
			inword = 0;
		else if (!inword) {
			inword = 1;
			++*words;
		}
	}
	fclose(fp);
	return 0;
}

static int
compare(a, b)
	const void *a, *b;
{
	return strcmp(*(char **)a, *(char **)b);
}

/* sorts the lines of one file into another; their number, or -1 */
int
sort_file(from, to)
	char *from, *to;
{
	char buf[MAXLEN];
	FILE *in, *out;
	int i, n = 0;

	if ((in = fopen(from, "r")) == NULL)
		return -1;
	while (n < MAXLINES && fgets(buf, sizeof buf, in) != NULL)
		line[n++] = strdup(buf);
	fclose(in);
	qsort(line, n, sizeof line[0], compare);
	if ((out = fopen(to, "w")) == NULL)
		return -1;
	for (i = 0; i < n; i++) {
		fputs(line[i], out);
		free(line[i]);
	}
	fclose(out);
	return n;
}
