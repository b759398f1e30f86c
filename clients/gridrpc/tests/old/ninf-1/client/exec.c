/* exec.c -- executables: processes that stay */
#include "ck.h"

int main()
{
    Ninf_executable_t *e, *f;
    int n = 0, m = 0, i, id;

    if ((e = Ninf_get_executable("control/tick")) == NULL) {
	Ninf_perror("tick");
	exit(1);
    }
    if ((f = Ninf_get_executable("control/tick")) == NULL) {
	Ninf_perror("tick");
	exit(1);
    }
    for (i = 0; i < 3; i++)
	must(Ninf_call_executable(e, &n));
    check(n == 3);
    must(id = Ninf_call_executable_async(f, &m));
    check(Ninf_get_executable_from_session(id) == f);
    must(Ninf_wait(id));
    check(m == 1);
    must(Ninf_executable_finalize(e));
    must(Ninf_executable_finalize(f));

    /* without any server */
    n = 0;
    must(Ninf_local_exec("../idl/_stub_rest", 1, 9, &n));
    check(n == 9);
    must(Ninf_call_exec("../idl/_stub_rest", 1, 10, &n));
    check(n == 10);
    done("exec");
}
