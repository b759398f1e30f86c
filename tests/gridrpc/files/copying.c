/* Files as arguments: binary, replaced, several. */
#include <grpc.h>
#include "check.h"

static char *host;

static grpc_function_handle_t *bound(char *name)
{
    static grpc_function_handle_t handle;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, name));
    return &handle;
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    fwrite(bytes, 1, count, f);
    fclose(f);
}

static long read_file(const char *path, char *bytes, size_t room)
{
    FILE *f = fopen(path, "rb");
    long n;
    if (!f)
        return -1;
    n = (long)fread(bytes, 1, room, f);
    fclose(f);
    return n;
}

/* Files that are open here are open there. */
static void open_files(void)
{
    grpc_sessionid_t session;
    char text[20] = "";
    unsigned char bytes[3] = {1, 2, 250};
    int n = 0, sum = 0;
    FILE *f = fopen("f.open", "w+");
    fputs("one\ntwo\nthree\n", f);
    rewind(f);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/lines"), f, &n));
    CHECK(n == 3);
    fseek(f, 4, SEEK_SET); /* from where it stands */
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/lines"), f, &n));
    CHECK(n == 2);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/lines"), (FILE *)NULL, &n));
    CHECK(n == -1);
    fseek(f, 4, SEEK_SET);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/upper"), f));
    rewind(f);
    CHECK(fread(text, 1, sizeof text, f) == 13 && memcmp(text, "one\nTWO\nTHREE", 13) == 0);
    fclose(f);

    f = fopen("f.out", "w+");
    fputs("# ", f);
    EXPECT(GRPC_NO_ERROR, grpc_call_async(bound("files/count_up"), &session, 2, f));
    EXPECT(GRPC_NO_ERROR, grpc_wait(session));
    rewind(f);
    CHECK(fread(text, 1, sizeof text, f) == 6 && memcmp(text, "# 0\n1\n", 6) == 0);
    fclose(f);
    f = fopen("f.out", "r");
    CHECK(grpc_call(bound("files/count_up"), 2, f) != GRPC_NO_ERROR); /* it cannot be written */
    fclose(f);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/checksum"), 3, bytes, &sum));
    CHECK(sum == 253);
}

int main(int argc, char *argv[])
{
    enum { BINARY = 300000 };
    static char binary[BINARY], back[BINARY + 1];
    char *in[3] = {"f.one", "f.two", "f.three"}, *out[2] = {"f.part0", "f.part1"};
    long n = 0;
    int k;
    host = argv[2];
    for (k = 0; k < BINARY; k++)
        binary[k] = (char)(k * 7 + k / 256);
    write_file("f.binary", binary, BINARY);
    write_file("f.text", "first\n", 6);
    write_file("f.old", "something else", 14);
    for (k = 0; k < 3; k++)
        write_file(in[k], binary, 100 * (k + 1));
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));

    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/size"), "f.binary", &n));
    CHECK(n == BINARY);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/size"), (char *)NULL, &n));
    CHECK(n == -1);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/copy"), "f.binary", "f.copy"));
    CHECK(read_file("f.copy", back, sizeof back) == BINARY && memcmp(back, binary, BINARY) == 0);
    EXPECT(GRPC_NO_ERROR,
        grpc_call(bound("files/copy"), "f.text", "f.old")); /* a file that is there already */
    CHECK(read_file("f.old", back, sizeof back) == 6);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/append"), "f.text", "second"));
    CHECK(read_file("f.text", back, sizeof back) == 13 && memcmp(back, "first\nsecond\n", 13) == 0);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/total"), 3, in, &n));
    CHECK(n == 600);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("files/spread"), 2, out));
    CHECK(read_file("f.part1", back, sizeof back) == 7 && memcmp(back, "part 1\n", 7) == 0);
    CHECK(grpc_call(bound("files/size"), "f.missing", &n) != GRPC_NO_ERROR);
    open_files();

    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    system("rm -f f.*");
    return check_summary();
}
