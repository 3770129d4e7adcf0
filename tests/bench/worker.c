/*
 * One rank of a benchmark, under any launcher:
 *
 *   worker fail FILE N   once all N are up, rank 3 writes the time
 *                        (CLOCK_MONOTONIC ns) to FILE and exits with 7; the
 *                        others sleep. FILE.up counts who is up: a byte each
 *   worker lines BYTES   writes that many bytes as lines of 100 bytes
 *   worker steps BYTES   the same, and each line tells the next step
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 100, LINES = 640, FAILING = 3, STEP = 5, DIGITS = 8 };

static long rank_of_any_launcher(void)
{
    static const char *const names[] = {"RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL)
            return strtol(value, NULL, 10);
    }
    return -1;
}

/* Say that one more is up. */
static int count_up(const char *path)
{
    char up[4096];
    (void)snprintf(up, sizeof up, "%s.up", path);
    int fd = open(up, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return fd < 0 || write(fd, "+", 1) != 1 ? -1 : fd;
}

static int fail(const char *path, long all)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    struct timespec now;
    struct stat status;
    int up = count_up(path);
    if (up < 0)
        return 1;
    if (rank_of_any_launcher() != FAILING) {
        sleep(30);
        return 0;
    }
    while (fstat(up, &status) == 0 && status.st_size < all)
        nanosleep(&nap, NULL);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    clock_gettime(CLOCK_MONOTONIC, &now);
    dprintf(fd, "%lld\n", (long long)now.tv_sec * 1000000000LL + now.tv_nsec);
    _exit(7);
}

/* Count up a number of digits. */
static void count_step(char *last)
{
    while (*last == '9')
        *last-- = '0';
    ++*last;
}

/* Copy the last step told into each line of the block, one more each time. */
static void tell_steps(char *block, char *step)
{
    for (char *line = block; line < block + LINE * LINES; line += LINE) {
        count_step(step + DIGITS - 1);
        memcpy(line + STEP, step, DIGITS);
    }
}

static int lines(const char *bytes, int steps)
{
    static const char text[] = "step 00000000/10000000 loss 0.12345 ";
    static char block[LINE * LINES], step[DIGITS];
    memset(block, 'x', sizeof block);
    memset(step, '0', sizeof step);
    for (size_t i = LINE - 1; i < sizeof block; i += LINE)
        block[i] = '\n';
    for (size_t i = 0; steps && i < sizeof block; i += LINE)
        memcpy(block + i, text, sizeof text - 1);
    long long left = strtoll(bytes, NULL, 10);
    while (left > 0) {
        if (steps)
            tell_steps(block, step);
        ssize_t n = write(1, block, sizeof block);
        if (n <= 0)
            return 1;
        left -= n;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "fail") == 0)
        return fail(argv[2], strtol(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "lines") == 0)
        return lines(argv[2], 0);
    if (argc == 3 && strcmp(argv[1], "steps") == 0)
        return lines(argv[2], 1);
    return 2;
}
