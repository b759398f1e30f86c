/* The configuration file: servers by tag and address, what holds for functions, and mistakes. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "grpc_check.h"

static char path[] = "/tmp/farcall-grpc-XXXXXX";

/* Writes the file with this text, in which %s is the server's address. */
static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    const char *address = getenv("FARCALL_SERVER");
    fprintf(file, text, address, address, address);
    fclose(file);
}

static grpc_error_t begin_with(const char *text)
{
    write_file(text);
    return grpc_initialize(path);
}

static void mistakes(void)
{
    grpc_sessionid_t session = 0;
    CHECK_CODE(begin_with("<SERVER>\nhostnam %s\n</SERVER>\n"), GRPC_CONFIGFILE_ERROR);
    CHECK_CODE(begin_with("<SERVER>\n"), GRPC_CONFIGFILE_ERROR);
    /* Nothing was begun. */
    CHECK_CODE(grpc_wait_any(&session), GRPC_NOT_INITIALIZED);
    CHECK_OK(begin_with("# nothing\n"));
    CHECK_CODE(grpc_config_file_read_np("/nonexistent/file"), GRPC_CONFIGFILE_NOT_FOUND);
    CHECK_OK(grpc_finalize());
}

/* Files that are none, or not what they should be: refused at once, whatever they are. */
static void files(void)
{
    char name[100];
    double begun = check_now();
    CHECK_CODE(grpc_initialize("/nonexistent/file"), GRPC_CONFIGFILE_NOT_FOUND);
    CHECK_CODE(grpc_initialize("/tmp"), GRPC_CONFIGFILE_ERROR);
    CHECK_CODE(grpc_initialize("/dev/zero"), GRPC_CONFIGFILE_ERROR);
    CHECK_CODE(grpc_initialize("/proc/self/exe"), GRPC_CONFIGFILE_ERROR);
    snprintf(name, sizeof name, "%s.pipe", path);
    CHECK(mkfifo(name, 0600) == 0);
    CHECK_CODE(grpc_initialize(name), GRPC_CONFIGFILE_ERROR);
    unlink(name);
    /* A terabyte of nothing. */
    CHECK(truncate(path, 1L << 40) == 0);
    CHECK_CODE(grpc_initialize(path), GRPC_CONFIGFILE_ERROR);
    CHECK_CODE(begin_with("<INCLUDE>\nfilename ../tmp/../tmp/nothing\n</INCLUDE>\n"),
        GRPC_CONFIGFILE_ERROR);
    CHECK(check_now() - begun < 2);
    CHECK_OK(begin_with("\xef\xbb\xbf<SERVER>\r\nhostname %s\r\nport 0\r\n</SERVER>\r\n"));
    CHECK_OK(grpc_finalize());
}

static void servers(void)
{
    grpc_function_handle_t handle;
    int y = 0;
    CHECK_OK(begin_with(
        "<SERVER>\nhostname unix:/nonexistent/socket\ntag gone\ninvoke_server SSH\n</SERVER>\n"
        "<SERVER>\nhostname %s\ntag here\ninvoke_server SSH\nargument_transfer "
        "nowait\n</SERVER>\n"));
    /* The first server that has it. */
    CHECK_OK(grpc_function_handle_default(&handle, "grpcchecks/succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_CODE(grpc_function_handle_default(&handle, "grpcchecks/nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_OK(grpc_function_handle_init(&handle, "here", "grpcchecks/succeed"));
    CHECK_OK(grpc_call(&handle, 2, &y));
    CHECK(y == 3);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_CODE(
        grpc_function_handle_init(&handle, "gone", "grpcchecks/succeed"), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_function_handle_init(&handle, "no such tag", "grpcchecks/succeed"),
        GRPC_SERVER_NOT_FOUND);
    /* This host, where nothing else is said. */
    CHECK_OK(grpc_function_handle_init(&handle, "localhost", "grpcchecks/succeed"));
    CHECK_OK(grpc_call(&handle, 5, &y));
    CHECK(y == 6);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
}

/* What this host is called there is a name of its own for it. */
static void named_host(void)
{
    grpc_function_handle_t handle;
    int y = 0;
    CHECK_OK(begin_with("<CLIENT>\nhostname me.example.org\n</CLIENT>\n<SERVER>\nhostname "
                        "me.example.org\n</SERVER>\n"));
    CHECK_OK(grpc_function_handle_init(&handle, "me.example.org", "grpcchecks/succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK(y == 2);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
}

/* A server that takes connections and says nothing is given up when its heartbeat is. */
static void hung(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    grpc_function_handle_t handle;
    char text[200];
    double begun;
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 5) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    snprintf(text, sizeof text,
        "<SERVER>\nhostname farcall://127.0.0.1:%d\ntag hung\nheartbeat 1\nheartbeat_timeoutCount "
        "1\n"
        "</SERVER>\n",
        ntohs(address.sin_port));
    CHECK_OK(begin_with(text));
    begun = check_now();
    CHECK_CODE(
        grpc_function_handle_init(&handle, "hung", "grpcchecks/succeed"), GRPC_SERVER_NOT_FOUND);
    CHECK(check_now() - begun > 0.9 && check_now() - begun < 4);
    CHECK_OK(grpc_finalize());
    close(listener);
}

static void functions(void)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    grpc_sessionid_t session;
    void *value = NULL;
    CHECK_OK(begin_with(
        "<SERVER>\nhostname %s\ninvoke_server SSH\nargument_transfer copy\n</SERVER>\n"
        "<FUNCTION_INFO>\nhostname %s\nfuncname grpcchecks/spin\npath /x\nsession_timeout 1 sec\n"
        "</FUNCTION_INFO>\n"));
    CHECK_OK(grpc_function_handle_default(&handle, "grpcchecks/spin"));
    CHECK_OK(grpc_session_attr_initialize_np(&handle, &attributes));
    CHECK_OK(grpc_session_attr_get_np(&attributes, GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER, &value));
    CHECK(value && *(grpc_argument_transfer_t_np *)value == GRPC_ARGUMENT_TRANSFER_COPY);
    CHECK_OK(grpc_session_attr_release_np(value));
    CHECK_OK(grpc_session_attr_get_np(&attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &value));
    CHECK(value && *(int *)value == 1);
    CHECK_OK(grpc_session_attr_release_np(value));
    CHECK_OK(grpc_call_async(&handle, &session));
    CHECK_CODE(grpc_wait(session), GRPC_TIMEOUT_NP);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
}

static void by_address(void)
{
    grpc_function_handle_t handle;
    int n = 2;
    double a = 3, x[2] = {1, 2}, y[2] = {10, 20};
    CHECK_OK(begin_with("<CLIENT>\nfortran_compatible true\nsave_sessionInfo 3\n</CLIENT>\n"));
    CHECK_OK(grpc_function_handle_default(&handle, "scale"));
    CHECK_OK(grpc_call(&handle, &n, &a, x, y));
    CHECK(y[0] == 13 && y[1] == 26);
    /* A file that says nothing of the client changes nothing of it. */
    write_file("<SERVER>\nhostname %s\n</SERVER>\n");
    CHECK_OK(grpc_config_file_read_np(path));
    CHECK_OK(grpc_call(&handle, &n, &a, x, y));
    CHECK(y[0] == 16 && y[1] == 32);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
}

/* How long sessions of a new handle may last. */
static int session_timeout(void)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    void *value = NULL;
    int seconds;
    CHECK_OK(grpc_function_handle_default(&handle, "grpcchecks/spin"));
    CHECK_OK(grpc_session_attr_initialize_np(&handle, &attributes));
    CHECK_OK(grpc_session_attr_get_np(&attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &value));
    seconds = *(int *)value;
    CHECK_OK(grpc_session_attr_release_np(value));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    return seconds;
}

/* A file that has changed is read again. */
static void again(void)
{
    const char *text = "<SERVER>\nhostname %%s\n</SERVER>\n<FUNCTION_INFO>\nhostname %%s\nfuncname "
                       "grpcchecks/spin\npath /x\n"
                       "session_timeout %d\n</FUNCTION_INFO>\n";
    char one[300], two[300];
    snprintf(one, sizeof one, text, 7);
    snprintf(two, sizeof two, text, 9);
    CHECK_OK(begin_with(one));
    CHECK(session_timeout() == 7);
    write_file(two);
    CHECK_OK(grpc_config_file_read_np(path));
    CHECK(session_timeout() == 9);
    CHECK_OK(grpc_finalize());
}

/* What the routine prints comes out here. */
static void printed(void)
{
    char words[100] = "";
    int standard_output = dup(1), ends[2];
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    ssize_t bytes;
    CHECK_OK(
        begin_with("<SERVER>\nhostname %s\ninvoke_server SSH\nredirect_outerr true\n</SERVER>\n"));
    CHECK_OK(grpc_function_handle_default(&handle, "say"));
    fflush(stdout);
    if (pipe(ends) != 0 || dup2(ends[1], 1) < 0)
        exit(1);
    CHECK_OK(grpc_call(&handle, "one "));
    CHECK_OK(grpc_call_async(&handle, &session, "two"));
    CHECK_OK(grpc_wait(session));
    dup2(standard_output, 1);
    close(ends[1]);
    bytes = read(ends[0], words, sizeof words - 1);
    words[bytes > 0 ? bytes : 0] = 0;
    CHECK(strcmp(words, "one two") == 0);
    close(ends[0]);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
}

/* What goes wrong is told in a file, and nowhere else. */
static void logged(void)
{
    char text[300], words[300] = "", *log = "/tmp/farcall-grpc-log";
    grpc_function_handle_t handle;
    FILE *file;
    unlink(log);
    snprintf(text, sizeof text, "<CLIENT>\nloglevel 2\nlog_filePath %s\n</CLIENT>\n", log);
    unsetenv("NG_LOG_LEVEL");
    CHECK_OK(begin_with(text));
    CHECK_CODE(grpc_function_handle_default(&handle, "nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_OK(grpc_finalize());
    setenv("NG_LOG_LEVEL", "0", 1);
    file = fopen(log, "r");
    CHECK(file && fgets(words, sizeof words, file) &&
          strstr(words, "grpc_function_handle_default") != NULL);
    if (file)
        fclose(file);
    unlink(log);
    CHECK_CODE(begin_with("<CLIENT>\nlog_filePath /nonexistent/folder/log\n</CLIENT>\n"),
        GRPC_CONFIGFILE_ERROR);
}

/* That an interface file cannot be read is said where its routine is missing. */
static void without_interfaces(void)
{
    char words[1000] = "", *log = "/tmp/farcall-grpc-log";
    grpc_function_handle_t handle;
    FILE *file;
    unlink(log);
    CHECK_OK(
        begin_with("<CLIENT>\nloglevel 2\nlog_filePath "
                   "/tmp/farcall-grpc-log\n</CLIENT>\n<SERVER>\nhostname localhost\n</SERVER>\n"
                   "<INFORMATION_SOURCE>\ntype NRF\ntag gone\nsource "
                   "/nonexistent/gone.nrf\n</INFORMATION_SOURCE>\n"));
    CHECK_CODE(grpc_function_handle_default(&handle, "gone/routine"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_OK(grpc_finalize());
    file = fopen(log, "r");
    CHECK(file && fread(words, 1, sizeof words - 1, file) > 0);
    CHECK(strstr(words, "/nonexistent/gone.nrf is skipped") != NULL);
    if (file)
        fclose(file);
    unlink(log);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    close(mkstemp(path));
    mistakes();
    files();
    servers();
    named_host();
    hung();
    functions();
    by_address();
    again();
    printed();
    logged();
    without_interfaces();
    unlink(path);
    return check_end(server);
}
