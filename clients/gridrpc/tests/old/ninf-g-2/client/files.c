/*
 * files.c: files in, out, and both
 */
#include "check.h"

static void
put(name, text)
	char *name, *text;
{
	FILE *fp = fopen(name, "w");

	if (fp == NULL) {
		perror(name);
		exit(1);
	}
	fputs(text, fp);
	fclose(fp);
}

static int
same(name, text)
	char *name, *text;
{
	char buf[1000];
	FILE *fp = fopen(name, "r");
	int n;

	if (fp == NULL) {
		perror(name);
		return 0;
	}
	n = fread(buf, 1, sizeof buf - 1, fp);
	buf[n] = '\0';
	fclose(fp);
	return strcmp(buf, text) == 0;
}

int
main(argc, argv)
	int argc;
	char *argv[];
{
	static char *from[] = { "bin0.tmp", "bin1.tmp" };
	static char *to[] = { "inv0.tmp", "inv1.tmp" };
	grpc_function_handle_t h;
	int lines, words, chars, ok, n, i, c;
	FILE *fp;

	START(argc, argv);
	put("a.tmp", "pear plum\napple\nfig  fig\n");
	CALL(grpc_function_handle_default(&h, "transfer/wc"));
	CALL(grpc_call(&h, "a.tmp", &lines, &words, &chars, &ok));
	CHECK(ok == 0 && lines == 3 && words == 5 && chars == 25);
	put("empty.tmp", "");
	CALL(grpc_call(&h, "empty.tmp", &lines, &words, &chars, &ok));
	CHECK(ok == 0 && lines == 0 && words == 0 && chars == 0);
	CALL(grpc_call(&h, "", &lines, &words, &chars, &ok));
	CHECK(ok == 0 && lines == 0 && words == 0 && chars == 0);
	CALL(grpc_function_handle_destruct(&h));

	CALL(grpc_function_handle_default(&h, "transfer/sort"));
	put("b.tmp", "what stood here before is of no matter, and longer than what comes\n");
	CALL(grpc_call(&h, "a.tmp", "b.tmp", &n));
	CHECK(n == 3 && same("b.tmp", "apple\nfig  fig\npear plum\n"));
	CALL(grpc_function_handle_destruct(&h));

	CALL(grpc_function_handle_default(&h, "transfer/append"));
	CALL(grpc_call(&h, "b.tmp", "zucchini"));
	CHECK(same("b.tmp", "apple\nfig  fig\npear plum\nzucchini\n"));
	CALL(grpc_function_handle_destruct(&h));

	for (i = 0; i < 2; i++) {
		fp = fopen(from[i], "wb");
		for (c = 0; c < 256 * (i + 1); c++)
			putc(c, fp);
		fclose(fp);
	}
	CALL(grpc_function_handle_default(&h, "transfer/invert"));
	CALL(grpc_call(&h, 2, from, to));
	for (i = 0; i < 2; i++) {
		if ((fp = fopen(to[i], "rb")) == NULL) {
			perror(to[i]);
			ng++;
			continue;
		}
		for (c = 0; c < 256 * (i + 1); c++)
			CHECK(getc(fp) == (~c & 0xff));
		CHECK(getc(fp) == EOF);
		fclose(fp);
	}
	CALL(grpc_function_handle_destruct(&h));
	FINISH("files");
}
