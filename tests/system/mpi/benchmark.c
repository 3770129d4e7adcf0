/* What the benchmarks of OSU measure, with every byte looked at: latency and bandwidth between two
 * ranks, and an allreduce of all, over a few sizes. Rank 0 prints a line for each, and the last one
 * is the result. With the argument "corrupt", one byte of one message is another than was sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, ROUNDS = 20, WINDOW = 16, BIGGEST = 1 << 20 };

static const int sizes[] = {0, 1, 1 << 10, 64 << 10, BIGGEST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static int rank, size, corrupt;
static long wrong;
static unsigned char *sent, *received;

static unsigned char byte_of(int from, int round, int at)
{
    return (unsigned char)(from * 31 + round * 7 + at + at / 251);
}

static void fill(unsigned char *bytes, int len, int round)
{
    for (int i = 0; i < len; i++)
        bytes[i] = byte_of(rank, round, i);
}

static void check(const unsigned char *bytes, int len, int from, int round)
{
    for (int i = 0; i < len; i++)
        wrong += bytes[i] != byte_of(from, round, i);
}

/* One message there, and one back. */
static void play(int len, int round)
{
    int peer = 1 - rank;
    fill(sent, len, round);
    if (rank == 0)
        MPI_Send(sent, len, MPI_BYTE, peer, round, MPI_COMM_WORLD);
    MPI_Recv(received, len, MPI_BYTE, peer, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (corrupt && rank == 1 && round == ROUNDS - 1 && len == BIGGEST)
        received[len / 2] ^= 1;
    check(received, len, peer, round);
    if (rank == 1)
        MPI_Send(sent, len, MPI_BYTE, peer, round, MPI_COMM_WORLD);
}

/* Microseconds of a message, half of there and back. What is looked at is part of it. */
static double measure_latency(int len)
{
    double start = 0;
    for (int round = 0; round < WARM_UP + ROUNDS; round++) {
        if (round == WARM_UP)
            start = MPI_Wtime();
        play(len, round % ROUNDS);
    }
    return (MPI_Wtime() - start) * 1e6 / ROUNDS / 2;
}

/* A window of messages that are all under way, and then a word of thanks. */
static void stream(int len, int round)
{
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    char thanks = 1;
    for (int i = 0; i < WINDOW; i++)
        if (rank == 0)
            MPI_Isend(sent, len, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(received + (size_t)i * len, len, MPI_BYTE, 0, i, MPI_COMM_WORLD,
                      &requests[i]);
    MPI_Waitall(WINDOW, requests, statuses);
    if (rank == 0) {
        MPI_Recv(&thanks, 1, MPI_CHAR, 1, WINDOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < WINDOW; i++)
        check(received + (size_t)i * len, len, 0, round);
    MPI_Send(&thanks, 1, MPI_CHAR, 0, WINDOW, MPI_COMM_WORLD);
}

/* Megabytes in a second. */
static double measure_bandwidth(int len)
{
    enum { TIMES = 3 };
    double spent = 0;
    for (int round = 0; round < TIMES; round++) {
        if (rank == 0)
            fill(sent, len, round);
        double start = MPI_Wtime();
        stream(len, round);
        spent += MPI_Wtime() - start;
    }
    return (double)TIMES * WINDOW * len / 1e6 / spent;
}

/* Microseconds of one. */
static double measure_allreduce(int len)
{
    int count = len / (int)sizeof(int);
    int *mine = (int *)sent, *all = (int *)received;
    double spent = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++)
            mine[i] = rank + i % 1000 + round;
        double start = MPI_Wtime();
        MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        spent += MPI_Wtime() - start;
        for (int i = 0; i < count; i++)
            wrong += all[i] != size * (size - 1) / 2 + size * (i % 1000 + round);
    }
    return spent * 1e6 / ROUNDS;
}

int main(int argc, char **argv)
{
    double latency = 0, bandwidth = 0, allreduce = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    corrupt = argc > 1 && strcmp(argv[1], "corrupt") == 0;
    sent = malloc(BIGGEST);
    received = malloc((size_t)WINDOW * BIGGEST);
    if (sent == NULL || received == NULL || size < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < SIZES; i++) {
        if (rank < 2) {
            latency = measure_latency(sizes[i]);
            bandwidth = measure_bandwidth(sizes[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        allreduce = measure_allreduce(sizes[i]);
        if (rank == 0)
            printf("%d bytes: %.2f us, %.1f MB/s, allreduce %.2f us\n", sizes[i], latency,
                   bandwidth, allreduce);
    }
    long all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("result: sizes=%d latency=%.2f bandwidth=%.1f allreduce=%.2f wrong=%ld\n", SIZES,
               latency, bandwidth, allreduce, all);
    free(sent);
    free(received);
    return MPI_Finalize();
}
