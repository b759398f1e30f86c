/* async.c -- sessions */
#include "ck.h"
#define N 5

int id[N], r[N];

begin(ms)
int ms;
{
    int i;
    for (i = 0; i < N; i++) {
	r[i] = 0;
	id[i] = Ninf_call_async("control/rest", ms * (N - i), i + 1, &r[i]);
	if (id[i] == NINF_ERROR) { Ninf_perror("Ninf_call_async"); bad++; }
    }
}

full()
{
    int i;
    for (i = 0; i < N; i++)
	check(r[i] == i + 1);
}

int main()
{
    int i, k, left;
    id_set *set, *ended;

    begin(5); for (i = 0; i < N; i++) must(Ninf_wait(id[i])); full();
    begin(5); must(Ninf_wait_all()); full();
    begin(5); must(Ninf_wait_and(id, N)); full();

    begin(5);
    for (left = N; left > 0; left--) {
	must(Ninf_wait_any(&k));
	for (i = 0; i < N && id[i] != k; i++)
	    ;
	check(i < N && r[i] == i + 1);
    }
    full();

    /* a loop until nothing is left */
    begin(5);
    left = 0;
    while (Ninf_wait_any(&k) != NINF_OK)
	left++;
    check(left == N);
    full();

    begin(5);
    must(Ninf_wait_or(id, N, &k));
    for (i = 0; i < N && id[i] != k; i++)
	;
    check(i < N && r[i] == i + 1);
    must(Ninf_wait_all());
    full();

    /* asking, and doing something else */
    begin(10);
    for (i = 0; Ninf_session_probe(id[0]) == TRUE; i++)
	usleep(1000);
    check(r[0] == 1 && i > 0);
    must(Ninf_wait_all());
    full();

    /* sets */
    begin(5);
    set = new_id_set();
    for (i = 0; i < N; i++)
	id_set_add(set, id[i]);
    check(id_set_length(set) == N);
    id_set_rm(set, id[2]);
    check(id_set_length(set) == N - 1);
    ended = Ninf_wait_or_set(set, &k);
    check(ended != NULL && id_set_length(ended) == 1 && id_set_get_id(ended, 0) == k);
    check(id_set_length(set) == N - 2);
    ended = Ninf_wait_and_set(set);
    check(ended != NULL && id_set_length(ended) == N - 2);
    must(Ninf_wait(id[2]));
    full();

    begin(2);
    must(Ninf_sync());
    full();
    check(Ninf_wait(99999) == NINF_ERROR && ninf_error_code == CANTFINDSESSION);
    done("async");
}
