/* What Farcall's library asks of this program's MPI. It knows none itself: every MPI has a binary
   interface of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Routines whose threads call MPI ask for more: CompileOptions
   "-DFARCALL_MPI_THREADS=MPI_THREAD_MULTIPLE". */
#ifndef FARCALL_MPI_THREADS
#define FARCALL_MPI_THREADS MPI_THREAD_FUNNELED
#endif

/* As in farcall-executable.h, which is not there where stubs are compiled by hand. Zero is success.
   */
struct farcall_ranks {
    size_t size;
    int (*begin)(int *rank, int *count);
    int (*announce)(long long *word);
    int (*broadcast)(void *bytes, size_t count, int root);
    int (*agree)(int *failed);
    int (*end)(void);
    void (*abort)(int status);
};
#ifdef __cplusplus
extern "C" {
#endif
void farcall_executable_ranks(const struct farcall_ranks *ranks);
#ifdef __cplusplus
}
#endif

/* Messages of ours never meet those of a routine. */
static MPI_Comm farcall_ranks_own;

/* Only the first node has the spawner's folders: on the others nothing may name them. */
static void farcall_ranks_forget(const char *variable)
{
    const char *folder = getenv(variable);
    if (folder && access(folder, F_OK)) unsetenv(variable);
}

/* A routine's own MPI_Finalize would leave the others waiting for this rank for ever. It calls this
 * first, from C and Fortran alike: attributes of MPI_COMM_SELF are deleted before anything else
 * (MPI 3.1, section 8.7.1). */
static int farcall_ranks_ends;
static int farcall_ranks_finalized(MPI_Comm own, int key, void *value, void *state)
{
    int rank = 0;
    (void)own, (void)key, (void)value, (void)state;
    if (farcall_ranks_ends) return MPI_SUCCESS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "farcall: the routine called MPI_Finalize on rank %d: leave that to Farcall\n",
        rank);
    fflush(stderr);
    return PMPI_Abort(MPI_COMM_WORLD, 1);
}

static int farcall_ranks_begin(int *rank, int *count)
{
    int level, failed, key;
    farcall_ranks_forget("TMPDIR");
    farcall_ranks_forget("OMPI_MCA_btl_vader_backing_directory");
    farcall_ranks_forget("OMPI_MCA_btl_sm_backing_directory");
    failed = MPI_Init_thread(0, 0, FARCALL_MPI_THREADS, &level);
    if (failed) return failed;
    if (level < FARCALL_MPI_THREADS) return MPI_ERR_OTHER;
    failed = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, farcall_ranks_finalized, &key, 0);
    if (failed) return failed;
    failed = MPI_Comm_set_attr(MPI_COMM_SELF, key, 0);
    if (failed) return failed;
    failed = MPI_Comm_dup(MPI_COMM_WORLD, &farcall_ranks_own);
    if (failed) return failed;
    MPI_Comm_rank(farcall_ranks_own, rank);
    return MPI_Comm_size(farcall_ranks_own, count);
}

/* Waits without taking a processor from those who compute: MPI's own waiting does. */
static int farcall_ranks_wait(MPI_Request *request)
{
    int done = 0, failed, looks = 0;
    struct timespec pause = { 0, 20000 };
    for (;;) {
        failed = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (failed || done) return failed;
        if (++looks < 200) continue;
        nanosleep(&pause, 0);
        if (pause.tv_nsec < 1000000) pause.tv_nsec += pause.tv_nsec / 4;
    }
}

/* The others wait here between calls: an idle executable takes no processor time. */
static int farcall_ranks_announce(long long *word)
{
    MPI_Request request;
    int failed = MPI_Ibcast(word, 1, MPI_LONG_LONG, 0, farcall_ranks_own, &request);
    return failed ? failed : farcall_ranks_wait(&request);
}

/* MPI counts in int: a larger array goes in pieces of a gibibyte. */
static int farcall_ranks_broadcast(void *bytes, size_t count, int root)
{
    size_t done, part, most = (size_t)1 << 30;
    int failed = 0;
    for (done = 0; done < count && !failed; done += part) {
        part = count - done < most ? count - done : most;
        failed = MPI_Bcast((char *)bytes + done, (int)part, MPI_BYTE, root, farcall_ranks_own);
    }
    return failed;
}

/* The lowest rank that failed, or the number that stands for none. */
static int farcall_ranks_agree(int *failed)
{
    MPI_Request request;
    int own = *failed;
    int error = MPI_Iallreduce(&own, failed, 1, MPI_INT, MPI_MIN, farcall_ranks_own, &request);
    return error ? error : farcall_ranks_wait(&request);
}

/* All ranks come here together: MPI_Finalize waits for the last. */
static int farcall_ranks_end(void)
{
    farcall_ranks_ends = 1;
    MPI_Comm_free(&farcall_ranks_own);
    return MPI_Finalize();
}

/* By MPI's profiling interface: Open MPI's own words on an abort get lost at times. */
int MPI_Abort(MPI_Comm communicator, int status)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "farcall: MPI_Abort was invoked on rank %d with error code %d\n", rank, status);
    fflush(stderr);
    return PMPI_Abort(communicator, status);
}

static void farcall_ranks_abort(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}

static const struct farcall_ranks farcall_ranks_functions = {
    sizeof(struct farcall_ranks),
    farcall_ranks_begin,
    farcall_ranks_announce,
    farcall_ranks_broadcast,
    farcall_ranks_agree,
    farcall_ranks_end,
    farcall_ranks_abort,
};
