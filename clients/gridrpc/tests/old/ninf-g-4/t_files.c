/* t_files.c: files */
#include "survey.h"

static void write_file(const char *path, const char *bytes, int n)
{
    FILE *f = fopen(path, "wb");

    assert(f != NULL);
    assert(fwrite(bytes, 1, n, f) == (size_t)n);
    fclose(f);
}

static int file_is(const char *path, const char *bytes, int n)
{
    char *got = malloc(n + 1);
    FILE *f = fopen(path, "rb");
    int same;

    if (f == NULL)
	return 0;
    same = fread(got, 1, n + 1, f) == (size_t)n && memcmp(got, bytes, n) == 0;
    fclose(f);
    free(got);
    return same;
}

void test_files(void)
{
    grpc_function_handle_t h;
    static char big[100000];
    char *parts[3] = { "p0.dat", "p1.dat", "p2.dat" };
    long n = -1;
    int i, bytes[3];

    for (i = 0; i < (int)sizeof big; i++)
	big[i] = i * 7 + i / 256;
    write_file("big.dat", big, sizeof big);

    G(grpc_function_handle_default(&h, "xfer/fileSize"));
    G(grpc_call(&h, "big.dat", &n));
    TRUTH(n == sizeof big);
    write_file("none.dat", "", 0);
    G(grpc_call(&h, "none.dat", &n));
    TRUTH(n == 0);
    G(grpc_call(&h, "", &n));
    TRUTH(n == 0);
    G(grpc_call(&h, NULL, &n));
    TRUTH(n == -2);
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "xfer/fileCopy"));
    write_file("copy.dat", "old", 3);
    G(grpc_call(&h, "big.dat", "copy.dat"));
    TRUTH(file_is("copy.dat", big, sizeof big));
    unlink("copy.dat");
    G(grpc_call(&h, "none.dat", "copy.dat"));
    TRUTH(file_is("copy.dat", "", 0));
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "xfer/fileUpper"));
    write_file("text.txt", "Mount Tsukuba\n877 m\n", 20);
    G(grpc_call(&h, "text.txt"));
    TRUTH(file_is("text.txt", "MOUNT TSUKUBA\n877 M\n", 20));
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "xfer/fileSplit"));
    G(grpc_call(&h, "text.txt", 3, parts, bytes));
    TRUTH(bytes[0] == 7 && bytes[1] == 7 && bytes[2] == 6);
    TRUTH(file_is("p0.dat", "MNTKA7M", 7));
    TRUTH(file_is("p2.dat", "U UB8 ", 6));
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "xfer/fileNone"));
    G(grpc_call(&h, "", "which.txt", 1));
    TRUTH(file_is("which.txt", "this one", 8));
    G(grpc_function_handle_destruct(&h));
}
