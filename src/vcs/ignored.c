#include "vcs/ignored.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "vcs/git_call.h"

#include "base/banned.h"

enum { LIMIT_MS = 10000, MOST_BYTES = 64 << 20 };

/* Append all that comes out of `fd`, as long as there is time and room; false
 * where that was too little. */
static bool read_ignored_list(struct jr_buf *out, int fd)
{
    const uint64_t end = jr_clock_ns() + LIMIT_MS * UINT64_C(1000000);
    char piece[8192];
    for (;;) {
        uint64_t now = jr_clock_ns();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int left = now >= end ? 0 : (int)((end - now) / 1000000);
        int got = poll(&ready, 1, left);
        if (got < 0 && errno == EINTR)
            continue;
        ssize_t len = got <= 0 ? -1 : read(fd, piece, sizeof piece);
        if (len <= 0)
            return len == 0 && !out->failed;
        jr_buf_add(out, piece, (size_t)len);
        if (out->len > MOST_BYTES)
            return false;
    }
}

/* Ask git; false where it does not answer. */
static bool list_ignored(struct jr_buf *out, const char *folder,
                         char *const *envp)
{
    static const char *const words[] = {
        "ls-files",    "-z", "--others", "--ignored", "--exclude-standard",
        "--directory", "--", ".",        NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const int fds[3] = {-1, ends[1], -1};
    pid_t pid = jr_git_spawn(folder, words, fds, envp);
    (void)close(ends[1]);
    bool answered = pid > 0 && read_ignored_list(out, ends[0]);
    (void)close(ends[0]);
    if (pid > 0 && !answered)
        (void)kill(pid, SIGKILL);
    return pid > 0 && jr_git_reap(pid) == 0 && answered;
}

static int compare_texts_at(const void *a, const void *b)
{
    char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

struct jr_strv jr_git_ignored(struct jr_arena *arena, const char *folder,
                              char *const *envp)
{
    JR_BUF_CLEANUP struct jr_buf answer = JR_BUF_INIT;
    struct jr_strv ret = {0};
    JR_FREE char *real = realpath(folder, NULL);
    JR_FREE char *top = real == NULL ? NULL : jr_io_find_above(real, ".git");
    if (top == NULL || !list_ignored(&answer, real, envp))
        return ret;
    for (size_t at = 0; at < answer.len; at += strlen(answer.data + at) + 1)
        jr_strv_push(&ret, arena, jr_arena_strdup(arena, answer.data + at));
    if (arena->failed)
        return (struct jr_strv){0};
    if (ret.count > 1)
        qsort(ret.items, ret.count, sizeof *ret.items, compare_texts_at);
    return ret;
}

bool jr_git_is_ignored(const struct jr_strv *ignored, const char *path)
{
    return ignored->count > 0 &&
           bsearch(&path, ignored->items, ignored->count,
                   sizeof *ignored->items, compare_texts_at) != NULL;
}
