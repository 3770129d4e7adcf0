/*
 * replay SEEDS COUNT: runs a fuzz target over every file of the folder SEEDS, and then over COUNT
 * mutations of them, the same ones each time. Stops early, and well, after MOST_SECONDS. The input
 * that is being tried is in the file NAME.input, so that it is there after a crash.
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 3, MOST_SEEDS = 256, MOST_BYTES = 8192, CHANGES = 6 };

struct bytes {
    uint8_t *data;
    size_t len;
};

struct replay {
    struct bytes seeds[MOST_SEEDS];
    size_t count;
    uint64_t random;
    int input; /* the file that tells what was tried last */
};

/* xorshift64 */
static size_t below(struct replay *replay, size_t limit)
{
    replay->random ^= replay->random << 13;
    replay->random ^= replay->random >> 7;
    replay->random ^= replay->random << 17;
    return limit == 0 ? 0 : (size_t)(replay->random % limit);
}

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static struct bytes read_seed(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && fstat(fd, &st) == 0);
    struct bytes seed = {malloc((size_t)st.st_size + 1), (size_t)st.st_size};
    require(seed.data != NULL && read(fd, seed.data, seed.len) == (ssize_t)seed.len);
    (void)close(fd);
    return seed;
}

static void read_seeds(struct replay *replay, const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, is_seed, alphasort);
    require(count > 0 && count <= MOST_SEEDS);
    for (int i = 0; i < count; i++) {
        replay->seeds[replay->count++] = read_seed(folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

/* Run the target on a copy of its own, so that a read beyond it is seen. */
static void try(const struct replay *replay, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    require(copy != NULL);
    memcpy(copy, data, len);
    require(pwrite(replay->input, copy, len, 0) == (ssize_t)len &&
            ftruncate(replay->input, (off_t)len) == 0);
    (void)LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

/* Put a piece in place of `cut` bytes at `at`, where there is room. */
static void put(struct bytes *text, size_t at, size_t cut, struct bytes piece)
{
    if (text->len - cut + piece.len > MOST_BYTES)
        return;
    memmove(text->data + at + piece.len, text->data + at + cut, text->len - at - cut);
    memcpy(text->data + at, piece.data, piece.len);
    text->len += piece.len - cut;
}

static void change_byte(struct replay *replay, struct bytes *text)
{
    static const uint8_t bytes[] = "\0\n\t \"'%{}[]:,-#&*!|>?.~09ae\x1e\x7f"
                                   "\xc3\xff";
    if (text->len == 0)
        return;
    uint8_t *byte = &text->data[below(replay, text->len)];
    if (below(replay, 3) == 0)
        *byte ^= (uint8_t)(1u << below(replay, 8));
    else
        *byte = bytes[below(replay, sizeof bytes - 1)];
}

/* A piece of at most `most` bytes from anywhere in a text. */
static struct bytes piece_of(struct replay *replay, const struct bytes *text, size_t most)
{
    size_t from = below(replay, text->len + 1);
    size_t rest = text->len - from;
    size_t len = below(replay, (rest < most ? rest : most) + 1);
    return (struct bytes){text->data + from, len};
}

/* Take a piece out, put in one of any seed, or both. */
static void change_piece(struct replay *replay, struct bytes *text)
{
    const struct bytes *other = &replay->seeds[below(replay, replay->count)];
    struct bytes out = piece_of(replay, text, 16);
    struct bytes in = piece_of(replay, other, 64);
    size_t way = below(replay, 3);
    if (way == 0)
        in.len = 0;
    if (way == 1)
        out.len = 0;
    put(text, (size_t)(out.data - text->data), out.len, in);
}

static void mutate(struct replay *replay)
{
    static uint8_t room[MOST_BYTES];
    const struct bytes *seed = &replay->seeds[below(replay, replay->count)];
    struct bytes text = {room, seed->len < MOST_BYTES ? seed->len : MOST_BYTES};
    memcpy(room, seed->data, text.len);
    for (size_t i = 1 + below(replay, CHANGES); i > 0; i--) {
        if (below(replay, 2) == 0)
            change_byte(replay, &text);
        else
            change_piece(replay, &text);
    }
    try(replay, text.data, text.len);
}

static bool is_late(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - start->tv_sec >= MOST_SECONDS;
}

int main(int argc, char **argv)
{
    static struct replay replay = {.random = 0x9e3779b97f4a7c15};
    char input[4096];
    struct timespec start;
    if (argc != 3)
        return 2;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    (void)snprintf(input, sizeof input, "%s.input", argv[0]);
    replay.input = open(input, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    read_seeds(&replay, argv[1]);
    for (size_t i = 0; i < replay.count; i++)
        try(&replay, replay.seeds[i].data, replay.seeds[i].len);
    long done = 0, count = strtol(argv[2], NULL, 10);
    for (; done < count && !is_late(&start); done++)
        mutate(&replay);
    printf("%zu seeds, %ld mutations\n", replay.count, done);
    for (size_t i = 0; i < replay.count; i++)
        free(replay.seeds[i].data);
    (void)close(replay.input);
    return unlink(input);
}
