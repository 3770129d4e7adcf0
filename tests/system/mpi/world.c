/* An MPI program: hello, an allreduce, a ring, and then what its first argument
 * says, in one rank: abort, die, leave, fail, or nothing. "mixed" keeps rank 1
 * from MPI_Init, "without" all; "wait" lets all wait for their end. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int pass_around(int rank, int size)
{
    int token = 0;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    token++;
    if (rank + 1 < size)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
    MPI_Bcast(&token, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    return token;
}

static void end_badly(const char *how)
{
    int none = 0;
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "die") == 0)
        raise(SIGKILL);
    if (strcmp(how, "leave") == 0)
        _exit(0);
    if (strcmp(how, "fail") == 0)
        MPI_Send(&none, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *mine = getenv("RANK");
    int rank, size, one, sum;
    if (strcmp(how, "without") == 0 ||
        (strcmp(how, "mixed") == 0 && strcmp(mine, "1") == 0))
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int token = pass_around(rank, size);
    printf("mpi %d of %d, sum %d, ring %d, RANK %s\n", rank, size, sum, token,
           mine == NULL ? "none" : mine);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    while (strcmp(how, "wait") == 0)
        (void)pause();
    if (rank == 1)
        end_badly(how);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
