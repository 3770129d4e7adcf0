#include "run/policies/pin_results.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "run/internal.h"
#include "store/outcome.h"
#include "store/run_folder.h"

#include "base/banned.h"

static int64_t file_time_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

void jr_pin_fill(struct jr_pin *ret, const struct stat *st)
{
    *ret = (struct jr_pin){.there = true,
                           .dev = st->st_dev,
                           .ino = st->st_ino,
                           .size = (uint64_t)st->st_size,
                           .mtime_ns = file_time_ns(&st->st_mtim),
                           .ctime_ns = file_time_ns(&st->st_ctim)};
}

/* Whatever has become of its status. */
static bool is_pinned_file(const struct jr_pin *pin, const struct jr_pin *now, bool far)
{
    return pin->there && pin->size == now->size && pin->mtime_ns == now->mtime_ns &&
           (far || (pin->dev == now->dev && pin->ino == now->ino));
}

bool jr_pin_is(const struct jr_pin *pin, const struct stat *st, bool far)
{
    struct jr_pin now;
    jr_pin_fill(&now, st);
    return is_pinned_file(pin, &now, far) && (pin->digest != 0 || pin->ctime_ns == now.ctime_ns);
}

static uint64_t digest_of_bytes(const void *bytes, size_t len)
{
    char hex[JR_HASH_SIZE];
    jr_hash(hex, bytes, len);
    hex[16] = '\0'; /* 64 bits */
    uint64_t digest = strtoull(hex, NULL, 16);
    return digest == 0 ? 1 : digest;
}

/* Of a file that is too long to be digested whole: its head, its tail, and samples between them,
 * JR_PIN_DIGESTED in all. */
enum { EDGE = 256 << 10, SAMPLE = 4 << 10, SAMPLES = 128 };

_Static_assert(2 * EDGE + SAMPLES * SAMPLE == JR_PIN_DIGESTED,
               "pieces are as long as a whole file may be");

/* Where piece `k` of such a file is, and how long; 0: there is none. */
static size_t find_piece(uint64_t size, unsigned k, uint64_t *ret_at)
{
    bool whole = size <= JR_PIN_DIGESTED, edge = k < 2;
    uint64_t step = whole ? 0 : (size - 2 * EDGE) / SAMPLES;
    *ret_at = k == 0 ? 0 : edge ? size - EDGE : EDGE + step * (k - 2);
    if (whole)
        return k == 0 ? (size_t)size : 0;
    return edge ? EDGE : k < 2 + SAMPLES ? SAMPLE : 0;
}

uint64_t jr_pin_digest(const void *bytes, size_t len)
{
    JR_FREE char *pieces = malloc(JR_PIN_DIGESTED);
    char *end = pieces;
    uint64_t at;
    if (len <= JR_PIN_DIGESTED)
        return digest_of_bytes(bytes, len);
    for (unsigned k = 0; pieces != NULL && find_piece(len, k, &at) > 0; k++)
        end = mempcpy(end, (const char *)bytes + at, find_piece(len, k, &at));
    return pieces == NULL ? 0 : digest_of_bytes(pieces, JR_PIN_DIGESTED);
}

uint64_t jr_pin_digest_fd(int fd, uint64_t size)
{
    size_t room = size < JR_PIN_DIGESTED ? (size_t)size : JR_PIN_DIGESTED;
    JR_FREE char *pieces = malloc(room + 1);
    size_t len = 0, piece;
    uint64_t at;
    if (pieces == NULL || size > INT64_MAX)
        return 0;
    for (unsigned k = 0; (piece = find_piece(size, k, &at)) > 0; k++)
        for (size_t end = len + piece; len < end;) {
            ssize_t got = pread(fd, pieces + len, end - len, (off_t)(at + piece - (end - len)));
            if (got == 0 || (got < 0 && errno != EINTR))
                return 0;
            len += got < 0 ? 0 : (size_t)got;
        }
    return digest_of_bytes(pieces, len);
}

/* Of a plain file that is there, its path absolute or in the run folder; 0: it cannot be read. */
static uint64_t digest_of_file(const char *path, uint64_t size)
{
    struct stat st;
    JR_CLOSE int fd =
        openat(JR_SLOT_DIR, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    return jr_pin_digest_fd(fd, size);
}

/* The finalizer of splitmix64, which spreads every bit. */
static uint64_t mix_digest(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    sum = (sum ^ sum >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    sum = (sum ^ sum >> 27) * UINT64_C(0x94d049bb133111eb);
    return sum ^ sum >> 31;
}

/* Of what the file is and of its bytes; never 0, which stands for none. Where they cannot be read,
 * nothing else than its status tells of a change that is hidden. */
static uint64_t digest_of_artifact(const char *path, const struct stat *st, bool far,
                                   uint64_t *ret_bytes)
{
    uint64_t sum = mix_digest(0, far ? 0 : st->st_dev);
    sum = mix_digest(sum, far ? 0 : st->st_ino);
    sum = mix_digest(sum, (uint64_t)st->st_size);
    sum = mix_digest(sum, (uint64_t)file_time_ns(&st->st_mtim));
    if (S_ISREG(st->st_mode) && st->st_size > 0) {
        *ret_bytes = digest_of_file(path, (uint64_t)st->st_size);
        sum = mix_digest(sum, *ret_bytes);
        if (*ret_bytes == 0)
            sum = mix_digest(sum, (uint64_t)file_time_ns(&st->st_ctim));
    }
    return sum == 0 ? 1 : sum;
}

bool *jr_pin_common(struct jr_arena *arena, const struct jr_plan *plan)
{
    uint32_t count = plan->policy->results.artifacts_count;
    bool *common = jr_arena_array(arena, count + 1, sizeof *common);
    for (uint32_t n = 0; common != NULL && n < count; n++) {
        const struct jr_plan_rank *first = &plan->ranks[0], *rank = first;
        common[n] = plan->world_size > 1;
        while (++rank < first + plan->world_size)
            common[n] &=
                strcmp(rank->artifacts[n], first->artifacts[n]) == 0 &&
                (rank->artifacts[n][0] == '/' || strcmp(rank->workdir, first->workdir) == 0);
    }
    return common;
}

void jr_pin_artifacts(uint64_t ret[static JR_PINNED_ARTIFACTS], const struct jr_plan_rank *rank,
                      const struct jr_pin_scope *scope)
{
    for (uint32_t n = 0; n < rank->artifacts_count; n++) {
        uint64_t *pin = &ret[JR_PIN_PLACE(n)], digest = 0, bytes = 0;
        struct stat st;
        if (!(scope->common[n] ? scope->jobs : scope->own))
            continue;
        JR_FREE char *path = jr_io_absolute(rank->workdir, rank->artifacts[n]);
        if (path != NULL && lstat(path, &st) == 0)
            digest = digest_of_artifact(path, &st, scope->far, &bytes);
        if (scope->bytes != NULL)
            scope->bytes[n] = bytes;
        *pin = n < JR_PINNED_ARTIFACTS ? digest : mix_digest(mix_digest(*pin, n), digest);
    }
}

static int open_pinning(struct jr_runner *runner)
{
    const struct jr_results *wants = &runner->plan->policy->results;
    struct jr_pin_results *pinning = &runner->pin_results;
    const char *required = wants->required == NULL ? "all" : wants->required;
    const char *bad;
    *pinning = (struct jr_pin_results){.stream = -1};
    if (!wants->stated || !jr_set_parse(&pinning->required, &pinning->arena, required, &bad))
        return 0;
    pinning->everyone = !pinning->required.all && pinning->required.count == 0;
    pinning->file = wants->from == JR_FROM_FILE || wants->from == JR_FROM_RETURN;
    pinning->common = jr_pin_common(&pinning->arena, runner->plan);
    pinning->artifacts = wants->artifacts_count > 0 && pinning->common != NULL;
    if (!pinning->file)
        pinning->stream = wants->from == JR_FROM_STDERR;
    return 0;
}

static bool must_deliver(const struct jr_rank_run *rank)
{
    const struct jr_pin_results *pinning = &rank->runner->pin_results;
    return (pinning->file || pinning->stream >= 0) &&
           jr_set_has(&pinning->required, rank->plan->rank);
}

/* What a rank said of its file when it returned stays as it said. */
static void pin_file(struct jr_rank_run *rank)
{
    struct jr_pin *pin = &rank->outcome->result;
    const char *path = rank->plan->result_path;
    struct stat st;
    struct jr_pin now;
    if (path == NULL || fstatat(JR_SLOT_DIR, path, &st, AT_SYMLINK_NOFOLLOW))
        return;
    jr_pin_fill(&now, &st);
    if (!pin->there)
        *pin = now;
    if (pin->digest == 0 && S_ISREG(st.st_mode) && is_pinned_file(pin, &now, false))
        pin->digest = digest_of_file(path, pin->size);
}

void jr_pin_returned(struct jr_rank_run *rank, const char *identity)
{
    struct jr_pin *pin = &rank->outcome->result;
    unsigned long long dev, ino, size;
    long long changed, touched;
    if (!must_deliver(rank) || !rank->runner->plan->returns ||
        sscanf(identity, " %llu %llu %llu %lld %lld", &dev, &ino, &size, &changed, &touched) != 5)
        return;
    *pin = (struct jr_pin){.there = true,
                           .dev = dev,
                           .ino = ino,
                           .size = size,
                           .mtime_ns = changed,
                           .ctime_ns = touched};
    pin_file(rank); /* what it holds now */
}

/* What must be there of the rank itself; and once no rank is left, what any of them may have
 * made. */
static void pin_artifacts(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    const struct jr_pin_results *pinning = &runner->pin_results;
    bool last = runner->running == 0 && !jr_launch_is_due(runner);
    const struct jr_pin_scope scope = {.common = pinning->common,
                                       .own = pinning->everyone ||
                                              jr_set_has(&pinning->required, rank->plan->rank),
                                       .jobs = last,
                                       .far = rank->outcome->far};
    if (!pinning->artifacts || (!scope.own && !scope.jobs))
        return;
    jr_pin_artifacts(rank->outcome->artifacts, rank->plan, &scope);
    rank->outcome->job_pinned = last;
    rank->outcome->pinned = true;
}

uint64_t jr_pin_log(int fd, uint64_t end)
{
    size_t len = end < JR_PIN_LOG ? (size_t)end : JR_PIN_LOG;
    JR_FREE char *bytes = len == 0 ? NULL : malloc(len);
    if (bytes == NULL || end > INT64_MAX ||
        pread(fd, bytes, len, (off_t)(end - len)) != (ssize_t)len)
        return 0;
    return digest_of_bytes(bytes, len);
}

/* How many bytes the rank, and what it started, has put into its stream, and the last of them. What
 * is in its pipe comes into the file first. Of a log that log_limit cuts, places move: its bytes
 * are not noted. */
static void pin_stream(struct jr_rank_run *rank, int stream)
{
    struct jr_runner *runner = rank->runner;
    struct jr_rank_outcome *outcome = rank->outcome;
    const char *path = stream == 0 ? rank->plan->out_path : rank->plan->err_path;
    uint32_t i = (uint32_t)(rank - runner->ranks);
    bool piped = jr_start_route(rank->plan, stream, runner->options) == JR_ROUTE_PIPE;
    struct stat st = {0};
    if (!piped && path != NULL)
        (void)fstatat(JR_SLOT_DIR, path, &st, AT_SYMLINK_NOFOLLOW);
    outcome->captured = piped ? jr_tee_bytes(&runner->tee, i, stream) : (uint64_t)st.st_size;
    if (path == NULL || rank->plan->limited)
        return;
    if (piped)
        jr_tee_pull(&runner->tee, i, stream);
    JR_CLOSE int fd = openat(JR_SLOT_DIR, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        outcome->result.digest = jr_pin_log(fd, outcome->captured);
}

static void pin_delivered(struct jr_rank_run *rank)
{
    const struct jr_pin_results *pinning = &rank->runner->pin_results;
    if (!jr_outcome_is_well(rank->outcome))
        return;
    rank->outcome->far = rank->runner->options->link != NULL;
    pin_artifacts(rank);
    if (!must_deliver(rank))
        return;
    rank->outcome->pinned = true;
    if (pinning->stream >= 0)
        pin_stream(rank, pinning->stream);
    else
        pin_file(rank);
}

const struct jr_runner_policy jr_pin_results_policy = {
    .name = "pin_results",
    .open = open_pinning,
    .rank_ended = pin_delivered,
};
