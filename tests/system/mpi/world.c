/* An MPI program: hello, an allreduce, a ring, and then what its first argument says, in one rank:
 * abort, die, leave, fail, stop (itself, before a barrier), spawn (another process), or nothing.
 * "mixed" keeps rank 1 from MPI_Init, "without" all; "half" keeps rank 0 from it, while rank 1 dies
 * in it, which rank 0 would end; "wait" lets all wait for their end. "sum" leaves out the ring, in
 * which many ranks on few CPUs wait for their turns by spinning. */
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
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    if (rank + 1 < size)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
    MPI_Bcast(&token, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    return token;
}

static void ask_for_more(void)
{
    MPI_Comm children;
    int error = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int result = MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                &children, &error);
    printf("%s\n", result == MPI_SUCCESS ? "spawned" : "refused");
    fflush(stdout);
}

/* Rank 0 stays out of MPI_Init, so that nobody comes out of it. */
static void stay_half(const char *mine)
{
    while (strcmp(mine, "0") == 0)
        (void)pause();
    if (strcmp(mine, "1") == 0)
        (void)alarm(1);
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
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(how, "spawn") == 0)
        ask_for_more();
    if (strcmp(how, "fail") == 0)
        MPI_Send(&none, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *mine = getenv("RANK");
    int rank, size, one, sum;
    if (strcmp(how, "without") == 0 || (strcmp(how, "mixed") == 0 && strcmp(mine, "1") == 0))
        return 0;
    if (strcmp(how, "half") == 0)
        stay_half(mine);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(how, "sum") == 0) {
        printf("mpi %d of %d, sum %d\n", rank, size, sum);
        return MPI_Finalize();
    }
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
