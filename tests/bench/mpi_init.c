/* MPI_Init and MPI_Finalize, and nothing else. bench.py builds it where there is MPICH. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
