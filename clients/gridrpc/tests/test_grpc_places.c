/* Where handles go, as clients of other languages ask for it. */
#include "grpc_check.h"

/* The answer, or the words, are kept in `said`. */
static char said[1000];

static int keep(int code, char *words)
{
    snprintf(said, sizeof said, "%s", words ? words : "(none)");
    farcall_text_free(words);
    return code;
}

static int read_places(const char *file, farcall_grpc_places **places)
{
    char *words = NULL;
    int code = farcall_grpc_places_read(file, places, &words);
    return keep(code, words);
}

/* The server's address is kept in `said`, and the answer in `terms`. */
static char terms[1000];

static int find(farcall_grpc_places *places, const char *host, const char *name, int of_class)
{
    farcall_client *client = NULL;
    char *words = NULL, wanted[200];
    snprintf(wanted, sizeof wanted, "hostname=%s", host ? host : "");
    int code = farcall_grpc_places_connect(
        places, host ? wanted : NULL, name, of_class, &client, &words);
    if (code != GRPC_NO_ERROR) {
        CHECK(client == NULL);
        return keep(code, words);
    }
    snprintf(terms, sizeof terms, "%s", words ? words : "(none)");
    farcall_text_free(words);
    snprintf(said, sizeof said, "%s", farcall_address(client));
    farcall_disconnect(client);
    return code;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    const char *address = farcall_server_address(server);
    farcall_grpc_places *places, *more;
    char folder[] = "/tmp/grpc-places-XXXXXX", path[100], text[400];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/client.conf", folder);

    /* Without a file: the default server. */
    CHECK_OK(read_places(NULL, &places));
    CHECK_OK(find(places, NULL, "succeed", 0));
    CHECK(strcmp(said, address) == 0);
    CHECK(strstr(terms, "\"place\"") != NULL && strstr(terms, "\"session_timeout\"") != NULL);
    CHECK_OK(find(places, address, "grpcchecks/Counter", 1));
    CHECK(strcmp(said, address) == 0);
    CHECK_OK(find(places, NULL, "Counter", 1));
    CHECK_CODE(find(places, NULL, "nothing", 0), GRPC_FUNCTION_NOT_FOUND);
    CHECK(strstr(said, "nothing") != NULL);
    CHECK_CODE(find(places, NULL, "Nothing", 1), GRPC_CLASS_NOT_FOUND_NP);
    CHECK_CODE(find(places, NULL, "succeed", 1), GRPC_CLASS_NOT_FOUND_NP);
    CHECK_CODE(find(places, "unix:/nonexistent", "succeed", 0), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(find(places, "no such host!", "succeed", 0), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(find(places, NULL, NULL, 0), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(find(NULL, NULL, "succeed", 0), GRPC_OTHER_ERROR_CODE);

    /* Two at a time, one of a file that a variable names; a section by its tag. */
    snprintf(text, sizeof text,
        "<SERVER>\nhostname unix:/nonexistent\ntag gone\n</SERVER>\n"
        "<SERVER>\nhostname %s\ntag there\n</SERVER>\n", address);
    write_file(path, text);
    setenv("NG_CONFIG_FILE", path, 1);
    CHECK_OK(read_places("", &more));
    CHECK_OK(find(more, "there", "succeed", 0));
    CHECK_OK(find(more, NULL, "succeed", 0));
    CHECK(strcmp(said, address) == 0);
    CHECK_CODE(find(more, "gone", "succeed", 0), GRPC_SERVER_NOT_FOUND);
    farcall_grpc_places_free(more);
    CHECK_CODE(find(places, "there", "succeed", 0), GRPC_SERVER_NOT_FOUND);
    farcall_grpc_places_free(places);
    farcall_grpc_places_free(NULL);

    /* Files that are not right. */
    write_file(path, "<SERVER>\n");
    CHECK_CODE(read_places("", &places), GRPC_CONFIGFILE_ERROR);
    CHECK(places == NULL && strstr(said, "client.conf") != NULL);
    unlink(path);
    CHECK_CODE(read_places(path, &places), GRPC_CONFIGFILE_NOT_FOUND);
    CHECK_CODE(read_places(NULL, NULL), GRPC_OTHER_ERROR_CODE);
    rmdir(folder);
    return check_end(server);
}
