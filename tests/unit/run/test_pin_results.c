/* What is noted of the files that a rank had delivered when it ended. */
#include "run/policies/pin_results.h"

#include <sys/mman.h>

#include "run/internal.h"
#include "scratch.h"

static const struct stat seen = {
    .st_dev = 1,
    .st_ino = 2,
    .st_size = 3,
    .st_mtim = {4, 5},
    .st_ctim = {6, 7},
};

TEST(notes_what_a_file_is)
{
    struct jr_pin pin;
    jr_pin_fill(&pin, &seen);
    CU_ASSERT_TRUE(pin.there && pin.dev == 1 && pin.ino == 2 && pin.size == 3);
    CU_ASSERT_TRUE(pin.mtime_ns == INT64_C(4000000005) && pin.ctime_ns == INT64_C(6000000007));
}

/* Whatever changes is seen, but for what another machine numbers itself, and for the status of a
 * file whose bytes are known. */
TEST(tells_files_apart)
{
    enum {
        NONE_CHANGED,
        OTHER_DEV,
        OTHER_INO,
        OTHER_SIZE,
        LATER,
        LATER_NS,
        TOUCHED,
        TOUCHED_NS,
        WAYS
    };
    for (int what = NONE_CHANGED; what < WAYS; what++) {
        struct stat now = seen;
        struct jr_pin pin;
        jr_pin_fill(&pin, &seen);
        now.st_dev += what == OTHER_DEV;
        now.st_ino += what == OTHER_INO;
        now.st_size += what == OTHER_SIZE;
        now.st_mtim.tv_sec += what == LATER;
        now.st_mtim.tv_nsec += what == LATER_NS;
        now.st_ctim.tv_sec += what == TOUCHED;
        now.st_ctim.tv_nsec += what == TOUCHED_NS;
        CU_ASSERT_EQUAL(jr_pin_is(&pin, &now, false), what == NONE_CHANGED);
        CU_ASSERT_EQUAL(jr_pin_is(&pin, &now, true), what <= OTHER_INO);
        pin.digest = 1;
        CU_ASSERT_EQUAL(jr_pin_is(&pin, &now, false), what == NONE_CHANGED || what >= TOUCHED);
        pin.there = false; /* what was not there is nothing */
        CU_ASSERT_TRUE(!jr_pin_is(&pin, &now, false) && !jr_pin_is(&pin, &now, true));
    }
}

static uint64_t digest_in_file(const char *bytes, size_t len)
{
    int fd = memfd_create("digest", MFD_CLOEXEC);
    CU_ASSERT_EQUAL(write(fd, bytes, len), (ssize_t)len);
    uint64_t digest = jr_pin_digest_fd(fd, len);
    CU_ASSERT_EQUAL(jr_pin_digest_fd(fd, len + 1), 0); /* it is shorter */
    (void)close(fd);
    return digest;
}

/* All bytes decide of what is not longer than may be read, and its head, its tail and many samples
 * of what is. A file has the digest of its bytes, and none has that which stands for none. */
TEST(tells_bytes_apart)
{
    enum { LONG = 5 * JR_PIN_DIGESTED + 7, BLOCK = 256 << 10 };
    static char bytes[LONG];
    const size_t sizes[] = {1, JR_PIN_DIGESTED, JR_PIN_DIGESTED + 1, LONG};
    CU_ASSERT_NOT_EQUAL(jr_pin_digest("", 0), 0);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        size_t size = sizes[n];
        uint64_t zeros = jr_pin_digest(bytes, size);
        CU_ASSERT_NOT_EQUAL(zeros, 0);
        CU_ASSERT_EQUAL(digest_in_file(bytes, size), zeros);
        for (size_t at = 0; at < size; at += BLOCK - 1) {
            /* No block of this size goes by unseen; of a short file no byte. */
            size_t changed = size <= JR_PIN_DIGESTED ? 1 : size - at < BLOCK ? size - at : BLOCK;
            memset(bytes + at, 'x', changed);
            CU_ASSERT_NOT_EQUAL(jr_pin_digest(bytes, size), zeros);
            CU_ASSERT_EQUAL(jr_pin_digest(bytes, size), digest_in_file(bytes, size));
            memset(bytes + at, 0, changed);
        }
        bytes[size - 1] = 'x';
        CU_ASSERT_NOT_EQUAL(jr_pin_digest(bytes, size), zeros);
        bytes[size - 1] = 0;
    }
}

enum { RANKS = 3 };

struct desk {
    struct scratch scratch;
    struct jr_arena arena;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
};

static void begin(struct desk *desk, char **const artifacts[RANKS], uint32_t count)
{
    *desk = (struct desk){0};
    scratch_start(&desk->scratch);
    desk->policy.results.artifacts_count = count;
    for (uint32_t i = 0; i < RANKS; i++)
        desk->ranks[i] = (struct jr_plan_rank){.rank = i,
                                               .workdir = desk->scratch.dir,
                                               .artifacts = artifacts[i],
                                               .artifacts_count = count};
    desk->plan = (struct jr_plan){
        .policy = &desk->policy, .ranks = desk->ranks, .world_size = RANKS, .count = RANKS};
}

static void end(struct desk *desk)
{
    jr_arena_release(&desk->arena);
    scratch_end(&desk->scratch);
}

/* For the rest of the block. */
#define DESK(name, ...)                                                                            \
    struct desk name RELEASE(end);                                                                 \
    begin(&name, __VA_ARGS__)

/* An artifact is the job's where all ranks have the same path, which depends on the folder of each
 * if it is not absolute. */
TEST(knows_what_is_the_jobs)
{
    char *first[] = {(char *)"model", (char *)"/abs", (char *)"0", (char *)"x"};
    char *same[] = {(char *)"model", (char *)"/abs", (char *)"1", (char *)"x"};
    char *last[] = {(char *)"model", (char *)"/abs", (char *)"0", (char *)"y"};
    char **const artifacts[RANKS] = {first, same, last};
    DESK(desk, artifacts, 4);
    bool *common = jr_pin_common(&desk.arena, &desk.plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(common);
    CU_ASSERT_TRUE(common[0] && common[1] && !common[2] && !common[3]);
    desk.ranks[2].workdir = "/elsewhere";
    common = jr_pin_common(&desk.arena, &desk.plan);
    CU_ASSERT_TRUE(!common[0] && common[1]);
    desk.plan.world_size = 1; /* one rank has nothing in common */
    common = jr_pin_common(&desk.arena, &desk.plan);
    CU_ASSERT_TRUE(!common[0] && !common[1]);
}

/* Each by itself: the rank's own, the job's, or both; 0 where there is none. */
TEST(notes_whose_artifacts_are_asked_for)
{
    char *names[] = {(char *)"job", (char *)"own", (char *)"none"};
    char **const artifacts[RANKS] = {names, names, names};
    static const bool common[] = {true, false, false};
    DESK(desk, artifacts, 3);
    scratch_write(&desk.scratch, "job", "weights");
    scratch_write(&desk.scratch, "own", "weights");
    for (int own = 0; own < 2; own++)
        for (int jobs = 0; jobs < 2; jobs++) {
            uint64_t notes[JR_PINNED_ARTIFACTS] = {0};
            jr_pin_artifacts(notes, &desk.ranks[0],
                             &(struct jr_pin_scope){.common = common, .own = own, .jobs = jobs});
            CU_ASSERT_EQUAL(notes[0] != 0, jobs);
            CU_ASSERT_EQUAL(notes[1] != 0, own);
            CU_ASSERT_EQUAL(notes[2], 0);
            CU_ASSERT_TRUE(notes[0] != notes[1] || notes[0] == 0);
        }
}

/* Beyond so many, several share a note, which changes with each of them. */
TEST(shares_notes)
{
    enum { MANY = 2 * JR_PINNED_ARTIFACTS + 3 };
    static char texts[MANY][8];
    static bool common[MANY];
    char *names[MANY];
    char **const artifacts[RANKS] = {names, names, names};
    const struct jr_pin_scope scope = {.common = common, .own = true};
    uint64_t before[JR_PINNED_ARTIFACTS] = {0};
    for (int n = 0; n < MANY; n++) {
        (void)snprintf(texts[n], sizeof texts[n], "m%d", n);
        names[n] = texts[n];
    }
    DESK(desk, artifacts, MANY);
    for (int n = 0; n < MANY; n++)
        scratch_write(&desk.scratch, names[n], "weights");
    jr_pin_artifacts(before, &desk.ranks[0], &scope);
    for (int n = 0; n < MANY; n++) {
        uint64_t now[JR_PINNED_ARTIFACTS] = {0};
        scratch_write(&desk.scratch, names[n], "other weights");
        jr_pin_artifacts(now, &desk.ranks[0], &scope);
        for (int k = 0; k < JR_PINNED_ARTIFACTS; k++)
            CU_ASSERT_EQUAL(now[k] != before[k], k == JR_PIN_PLACE(n));
        memcpy(before, now, sizeof before);
    }
}

/* What a function says of its file when it returns; of a rank that has to deliver none, or does not
 * say it well, nothing. */
TEST(takes_what_a_rank_says)
{
    static const struct {
        const char *identity;
        bool returns, file, required, there;
    } vectors[] = {
        {" 1 2 3 4 5", true, true, true, true},   {"1 2 3 4 -5", true, true, true, true},
        {" 1 2 3 4", true, true, true, false},    {"", true, true, true, false},
        {" x 2 3 4 5", true, true, true, false},  {" 1 2 3 4 5", false, true, true, false},
        {" 1 2 3 4 5", true, false, true, false}, {" 1 2 3 4 5", true, true, false, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_runner *runner = calloc(1, sizeof *runner);
        CU_ASSERT_PTR_NOT_NULL_FATAL(runner);
        struct jr_plan plan = {.returns = vectors[i].returns};
        struct jr_plan_rank place = {.rank = 1};
        struct jr_rank_outcome outcome = {0};
        struct jr_rank_run rank = {.runner = runner, .plan = &place, .outcome = &outcome};
        runner->plan = &plan;
        runner->pin_results.file = vectors[i].file;
        runner->pin_results.stream = -1;
        runner->pin_results.required.all = vectors[i].required;
        jr_pin_returned(&rank, vectors[i].identity);
        CU_ASSERT_EQUAL(outcome.result.there, vectors[i].there);
        if (vectors[i].there) {
            CU_ASSERT_TRUE(outcome.result.dev == 1 && outcome.result.ino == 2);
            CU_ASSERT_TRUE(outcome.result.size == 3 && outcome.result.mtime_ns == 4);
            CU_ASSERT_EQUAL(outcome.result.ctime_ns, i == 0 ? 5 : -5);
        }
        free(runner);
    }
}
