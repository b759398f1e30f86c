/* Attributes of the configuration whose effect is seen outside of the program: the communication
 * log, levels and files of the log, debuggers, compression, and what signals do. */
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "grpc_check.h"

static char folder[] = "/tmp/farcall-grpc-XXXXXX", path[100];

static char *in_folder(const char *name)
{
    static char paths[8][200];
    static int next;
    char *made = paths[next++ % 8];
    snprintf(made, sizeof paths[0], "%s/%s", folder, name);
    return made;
}

/* Begins with these lines in CLIENT, and in the SERVER section of the default server. */
static void begin_with(const char *client, const char *server)
{
    FILE *file = fopen(path, "w");
    fprintf(file, "<CLIENT>\n%s</CLIENT>\n<SERVER>\nhostname %s\n%s</SERVER>\n", client,
        getenv("FARCALL_SERVER"), server);
    fclose(file);
    CHECK_OK(grpc_initialize(path));
}

/* How often a file has the words. */
static int has(const char *name, const char *words)
{
    char line[2000];
    int count = 0;
    FILE *file = fopen(in_folder(name), "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, words) != NULL;
    if (file)
        fclose(file);
    return count;
}

static void call_twice(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    int y = 0;
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK_OK(grpc_call_async(&handle, &session, 2, &y));
    CHECK_OK(grpc_wait(session));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void communication(void)
{
    char server[300];
    grpc_function_handle_t handle;
    snprintf(server, sizeof server,
        "commLog_enable true\ncommLog_filePath %s/comm\ncommLog_nFiles 2\ncommLog_suffix log\n",
        folder);
    begin_with("loglevel 0\n", server);
    call_twice();
    CHECK_OK(grpc_function_handle_default(&handle, "leave"));
    CHECK_CODE(grpc_call(&handle, 3), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_finalize());
    CHECK(has("comm.000.log", "connected to unix:") == 1);
    CHECK(has("comm.000.log", "of succeed begins") == 2 && has("comm.000.log", "ends: well") == 2);
    CHECK(has("comm.000.log", "of leave begins") == 1 && has("comm.000.log", "ends: ") == 3);
    /* Not enabled: no file, whatever is said of it. */
    unlink(in_folder("comm.000.log"));
    begin_with("", strchr(server, '\n') + 1);
    call_twice();
    CHECK_OK(grpc_finalize());
    CHECK(access(in_folder("comm.000.log"), F_OK) != 0);
}

static void levels(void)
{
    char client[300];
    grpc_function_handle_t handle;
    /* The protocol has a level of its own. */
    snprintf(client, sizeof client,
        "loglevel Error\nloglevel_ninfgProtocol Debug\nlog_filePath %s/log-%%h-%%p\n", folder);
    setenv("NG_HOSTNAME", "here.example", 1);
    begin_with(client, "");
    call_twice();
    CHECK_CODE(grpc_function_handle_default(&handle, "nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_OK(grpc_finalize());
    snprintf(client, sizeof client, "log-here.example-%d", (int)getpid());
    CHECK(has(client, "Debug: connected to") == 1 &&
          has(client, "Error: grpc_function_handle_default") == 1);
    unlink(in_folder(client));
    /* And so have errors of the functions. */
    snprintf(
        client, sizeof client, "loglevel 5\nloglevel_ninfgGrpc Off\nlog_filePath %s/log\n", folder);
    begin_with(client, "");
    CHECK_CODE(grpc_function_handle_default(&handle, "nobody"), GRPC_FUNCTION_NOT_FOUND);
    CHECK_OK(grpc_finalize());
    CHECK(has("log", "connected to") == 1 && has("log", "grpc_function_handle_default") == 0);
    unlink(in_folder("log"));
    unsetenv("NG_HOSTNAME");
    /* What has no effect is said once, as a warning. */
    snprintf(client, sizeof client, "log_filePath %s/log\nlisten_port 4000\n", folder);
    begin_with(client, "jobmanager jobmanager-fork\n");
    CHECK_OK(grpc_finalize());
    CHECK(has("log", "Warning: ") == 2 && has("log", "Error: ") == 0 &&
          has("log", "jobmanager has no effect") == 1);
}

static void write_program(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    fprintf(file, "#!/bin/sh\n%s", text);
    fclose(file);
    chmod(in_folder(name), 0755);
}

/* What a debugger does: holds a process, has it go on when its user says so, and passes on whatever
   signal it gets. */
static int debugs(pid_t process)
{
    int status = 0, signal = 0;
    double begun = check_now();
    if (ptrace(PTRACE_ATTACH, process, NULL, NULL) || waitpid(process, &status, 0) != process)
        return 1;
    usleep(500 * 1000);
    while (check_now() - begun < 20 &&
           ptrace(PTRACE_CONT, process, NULL, (void *) (long) signal) == 0) {
        if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status))
            return 0;
        signal = WSTOPSIG(status);
    }
    return 1;
}

/* A terminal and a debugger of the test's own see which process they are to look at; that waits for
   them if it is to. */
static void debuggers(void)
{
    char server[500], script[900], own[300] = "";
    grpc_function_handle_t handle;
    grpc_object_handle_t_np object;
    int y = 0, waited;
    snprintf(script, sizeof script,
        "echo \"$@\" DISPLAY=$DISPLAY >>%s/seen\nwhile [ $# -gt 3 ]; do shift; done\nexec \"$@\"\n",
        folder);
    write_program("terminal", script);
    CHECK(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    /* The object's debugger is closed soon: its process goes on by itself. */
    snprintf(script, sizeof script,
        "echo debugs $1 >>%s/seen\n[ $(grep -c debugs %s/seen) -gt 1 ] || exec %s $2\nsleep 0.3\n",
        folder, folder, own);
    write_program("debugger", script);
    snprintf(server, sizeof server,
        "debug true\ndebug_display there:7\ndebug_terminal %s/terminal\ndebug_debugger "
        "%s/debugger\ndebug_busyLoop true\n",
        folder, folder);
    begin_with("", server);
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK(y == 2);
    CHECK_OK(grpc_object_handle_default_np(&object, "Counter"));
    CHECK_OK(grpc_invoke_np(&object, "add", 1, &y));
    CHECK(y == 11);
    for (waited = 0; has("seen", "debugs /") < 2 && waited < 100; waited++)
        usleep(50 * 1000);
    CHECK(has("seen", "-display there:7 -e ") == 2 && has("seen", "DISPLAY=there:7") == 2 &&
          has("seen", "debugs /") == 2);
    CHECK_OK(grpc_object_handle_destruct_np(&object));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
    /* One that is not there is no reason to fail. */
    begin_with(
        "loglevel 0\n", "debug true\ndebug_terminal /nonexistent/terminal\ndebug_busyLoop true\n");
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call(&handle, 1, &y));
    CHECK_OK(grpc_finalize());
}

/* How many objects the server holds. */
static int objects(void)
{
    char line[1000];
    int count = 0;
    FILE *listing = popen("farcall objects", "r");
    while (listing && fgets(line, sizeof line, listing))
        count += strstr(line, "grpcchecks/Counter") != NULL;
    pclose(listing);
    return count;
}

/* A program with an object and a session, which tells through a descriptor when it has them, and
   waits. */
static int waits(const char *client, int descriptor)
{
    grpc_object_handle_t_np object;
    grpc_sessionid_t session;
    begin_with(client, "");
    CHECK_OK(grpc_object_handle_default_np(&object, "grpcchecks/Counter"));
    CHECK_OK(grpc_invoke_async_np(&object, "spin", &session));
    usleep(100 * 1000);
    if (write(descriptor, "", 1) != 1)
        return 3;
    grpc_wait(session);
    return 2;
}

/* That program is ended by the signal: what becomes of it, and of the object. */
static int after_signal(const char *client, int number, int *left)
{
    int status = 0, ends[2], waited;
    char byte, descriptor[20];
    pid_t child;
    if (pipe(ends) != 0)
        exit(1);
    fflush(stdout);
    snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
    /* A program of its own: what is forked of one with threads may not even allocate. */
    if ((child = fork()) == 0) {
        execl("/proc/self/exe", "test_grpc_attributes", path, client, descriptor, (char *)NULL);
        _exit(4);
    }
    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 1 && objects() == 1);
    close(ends[0]);
    kill(child, number);
    waitpid(child, &status, 0);
    for (waited = 0; (*left = objects()) > 0 && waited < 100; waited++)
        usleep(100 * 1000);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void signals(void)
{
    int left;
    /* Whoever started the tests in the background may have them ignore it. */
    signal(SIGINT, SIG_DFL);
    CHECK(after_signal("", SIGTERM, &left) == SIGTERM && left == 0);
    CHECK(
        after_signal("handling_signals SIGUSR1 SIGINT\n", SIGUSR1, &left) == SIGUSR1 && left == 0);
    /* What the program ignores stays ignored, and what it handles is its own. */
    signal(SIGHUP, SIG_IGN);
    begin_with("", "");
    CHECK(signal(SIGHUP, SIG_DFL) == SIG_IGN);
    CHECK(signal(SIGTERM, SIG_DFL) != SIG_DFL);
    CHECK_OK(grpc_finalize());
    CHECK(signal(SIGTERM, SIG_DFL) == SIG_DFL);
    begin_with("handling_signals none\n", "");
    CHECK(signal(SIGINT, SIG_DFL) == SIG_DFL);
    CHECK_OK(grpc_finalize());
}

int main(int count, char **arguments)
{
    farcall_server *server;
    char command[200];
    if (count == 2)
        return debugs(atoi(arguments[1]));
    if (count == 4) {
        snprintf(path, sizeof path, "%s", arguments[1]);
        return waits(arguments[2], atoi(arguments[3]));
    }
    server = check_begin(0, NULL);
    unsetenv("NG_LOG_LEVEL");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/client.conf", folder);
    signals();
    communication();
    levels();
    debuggers();
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    return check_end(server);
}
