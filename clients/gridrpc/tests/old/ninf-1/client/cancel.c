/* cancel.c -- sessions that are canceled, functions that crash */
#include <signal.h>
#include "ck.h"

static struct { int sig, code; } crashes[] = {
    { SIGFPE, STUB_ERROR_SIGFPE },
    { SIGSEGV, STUB_ERROR_SIGSEGV },
    { SIGBUS, STUB_ERROR_SIGBUS },
    { 0, 0 }
};

late(sig)
int sig;
{
    write(2, "cancel: it hangs\n", 17);
    _exit(1);
}

int main()
{
    int id, id2, r = -1, i;

    signal(SIGALRM, late);
    alarm(60);

    must(id = Ninf_call_async("rest", 600000, 1, &r));
    must(Ninf_session_cancel(id));
    check(Ninf_wait(id) == NINF_ERROR);
    check(ninf_error_code == SESSION_CANCELED);
    check(r == -1);

    must(id = Ninf_call_async("control/sleep", 600));
    must(id2 = Ninf_call_async("rest", 20, 5, &r));
    must(Ninf_session_remove(id));
    must(Ninf_wait(id2));
    check(r == 5);
    check(Ninf_wait(id) == NINF_ERROR);

    for (i = 0; crashes[i].sig; i++) {
	check(Ninf_call("crash", crashes[i].sig) == NINF_ERROR);
	check(ninf_error_code == crashes[i].code);
    }
    check(Ninf_call("leave", 3) == NINF_ERROR && ninf_error_code == STUB_ERROR);
    must(Ninf_call("rest", 1, 6, &r));
    check(r == 6);
    done("cancel");
}
