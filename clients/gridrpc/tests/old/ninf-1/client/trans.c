/* trans.c -- transactions */
#include "ck.h"
#define N 4
#define P 6

int main()
{
    double A[N][N], B[N][N], C[N][N], D[N][N], E[N][N];
    int i, j, in[P];

    for (i = 0; i < N; i++)
	for (j = 0; j < N; j++) {
	    A[i][j] = i + j;
	    B[i][j] = i == j ? 2 : 0;
	    C[i][j] = D[i][j] = E[i][j] = 0;
	}
    /* C and D independent of each other, E needs both */
    must(Ninf_transaction_begin());
    Ninf_call("dmmul", N, A, B, C);
    Ninf_call("dmmul", N, B, A, D);
    Ninf_call("dscale", N, 0.25, D);
    Ninf_call("dmmul", N, C, D, E);
    must(Ninf_transaction_end());
    for (i = 0; i < N; i++)
	for (j = 0; j < N; j++) {
	    double want = 0;
	    int k;
	    for (k = 0; k < N; k++)
		want += 2 * (i + k) * 0.5 * (k + j);
	    check(C[i][j] == 2 * (i + j));
	    check(D[i][j] == 0.5 * (i + j));
	    check(E[i][j] == want);
	}

    must(Ninf_check_in());
    for (i = 0; i < P; i++)
	Ninf_call("ep", 1000, i + 1, &in[i]);
    must(Ninf_check_out());
    for (i = 0; i < P; i++)
	check(in[i] > 600 && in[i] < 950);

    check(Ninf_transaction_end() == NINF_ERROR);
    must(Ninf_transaction_begin());
    check(Ninf_transaction_begin() == NINF_ERROR);
    must(Ninf_transaction_end());
    done("trans");
}
