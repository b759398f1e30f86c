/* ck_files.c: files */
#include "ck.h"

static void spill(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    if (f == NULL || fputs(text, f) == EOF || fclose(f) == EOF) {
	perror(path);
	exit(EXIT_FAILURE);
    }
}

static int holds(const char *path, const char *text)
{
    char line[256] = "";
    FILE *f = fopen(path, "r");
    size_t n;

    if (f == NULL) {
	perror(path);
	return 0;
    }
    n = fread(line, 1, sizeof line - 1, f);
    line[n] = '\0';
    fclose(f);
    return strcmp(line, text) == 0;
}

int main(int argc, char **argv)
{
    char *many[3] = { "in.tmp", "", "big.tmp" };
    grpc_function_handle_t *h;
    static char big[300001];
    long length[3] = { -9, -9, -9 };

    ck_begin(argc, argv);
    memset(big, 'b', sizeof big - 1);
    spill("in.tmp", "twelve bytes");
    spill("both.tmp", "this ");
    spill("big.tmp", big);
    spill("out.tmp", "stands in the way");

    h = ck_handle("files");
    OK(grpc_call(h, "in.tmp", "both.tmp", "out.tmp", 3, many, length));
    ASSERT(holds("out.tmp", "12\n5\n"));
    ASSERT(holds("both.tmp", "this and more"));
    ASSERT(length[0] == 12 && length[1] == 0 && length[2] == 300000);
    OK(grpc_call(h, "", "both.tmp", "out.tmp", 0, NULL, NULL));
    ASSERT(holds("out.tmp", "0\n13\n"));
    ASSERT(holds("both.tmp", "this and moreand more"));
    ck_release(h);
    unlink("big.tmp");
    return ck_end();
}
