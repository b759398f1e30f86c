/* files.c -- files as arguments */
#include "ck.h"

static int readall(name, buf)
char *name, *buf;
{
    FILE *f = fopen(name, "r");
    int n;

    if (f == NULL) { perror(name); return -1; }
    n = fread(buf, 1, 999, f);
    buf[n > 0 ? n : 0] = 0;
    fclose(f);
    return n;
}

int main()
{
    char buf[1000];
    int n = -5;

    must(Ninf_call("text/table", 4, "table.out"));
    check(readall("table.out", buf) == 17);
    check(strcmp(buf, "1 1\n2 4\n3 9\n4 16\n") == 0);
    must(Ninf_call("text/chgrep", "table.out", '1', &n));
    check(n == 3);
    must(Ninf_call("text/edit", "table.out", '\n', ';'));
    check(readall("table.out", buf) == 17 && strcmp(buf, "1 1;2 4;3 9;4 16;") == 0);
    must(Ninf_call("text/table", 0, "table.out"));
    check(readall("table.out", buf) == 0);
    must(Ninf_call("text/chgrep", "table.out", '1', &n));
    check(n == 0);
    must(Ninf_call("text/chgrep", "", '1', &n));
    check(n == 0);
    must(Ninf_call("text/chgrep", NULL, '1', &n));
    check(n == -1);
    check(Ninf_call("text/chgrep", "no/such/file", '1', &n) == NINF_ERROR);
    check(ninf_error_code == FILE_CANNOT_OPEN);
    done("files");
}
