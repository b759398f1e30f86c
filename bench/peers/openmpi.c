/* OpenMPI as a peer: rank 0 is the client and reads commands (commands.h), rank 1 the server.
 * Buffers are reused.
 *
 * Usage: mpirun -np 2 openmpi An MPI process looks for messages without pause. The server is
 * therefore stopped (SIGSTOP) while the client has no command, so that it takes no processor from
 * the programs that are measured in turn with it.
 */
#include "commands.h"

#include <mpi.h>
#include <unistd.h>

enum tag { TOUCH = 1, END = 2 };

static pid_t server;

static const double *roundtrip(double *array, size_t bytes)
{
    int count = (int)(bytes / sizeof *array);

    MPI_Send(array, count, MPI_DOUBLE, 1, TOUCH, MPI_COMM_WORLD);
    MPI_Recv(array, count, MPI_DOUBLE, 1, TOUCH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return array;
}

/* The server runs when the clock starts: it has answered an empty message. */
static void wake(void)
{
    double nothing = 0;
    kill(server, SIGCONT);
    MPI_Send(&nothing, 0, MPI_DOUBLE, 1, TOUCH, MPI_COMM_WORLD);
    MPI_Recv(&nothing, 0, MPI_DOUBLE, 1, TOUCH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void stop(void)
{
    kill(server, SIGSTOP);
}

static int serve(void)
{
    double *array = NULL;
    int capacity = 0;

    for (;;) {
        MPI_Status status;
        int count;
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        if (count > capacity) {
            free(array);
            array = malloc((size_t)count * sizeof *array);
            capacity = array ? count : 0;
        }
        if (count > capacity)
            return 1;
        MPI_Recv(array, count, MPI_DOUBLE, 0, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (status.MPI_TAG == END)
            return 0;
        MPI_Send(array, count, MPI_DOUBLE, 0, status.MPI_TAG, MPI_COMM_WORLD);
    }
}

/* The client's commands, with the server stopped between them and at the end told to go. */
static int call(void)
{
    const struct client client = {wake, roundtrip, stop, NULL, NULL};
    double nothing = 0;

    stop();
    int status = answer(&client);
    kill(server, SIGCONT);
    MPI_Send(&nothing, 0, MPI_DOUBLE, 1, END, MPI_COMM_WORLD);
    return status;
}

int main(int argc, char **argv)
{
    int rank, pids[2], own = (int)getpid();

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allgather(&own, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    server = pids[1];
    int status = rank == 0 ? call() : serve();
    MPI_Finalize();
    return status;
}
