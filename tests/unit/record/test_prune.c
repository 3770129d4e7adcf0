/* What prune removes, and above all what it leaves alone. */
#include "record/prune.h"

#include "base/arena.h"
#include "base/clock.h"
#include "scratch.h"
#include "quoted.h"

/* The LOG_DIR, and what the last prune came to. */
static struct scratch scratch;
static struct jr_pruned pruned;

static void add_folder(const char *id)
{
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch.fd, id, 0700), 0);
}

static void add_file(const char *id, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", id, name);
    scratch_write(&scratch, path, text);
}

/* A record that calls itself `named`, from another host. */
static void add_record(const char *id, const char *named, double started)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "{\"format_version\": 1, \"run_id\": \"%s\", \"host\": \"no-such-host\", "
                   "\"started\": %.3f}",
                   named, started);
    add_file(id, "run.json", text);
}

/* A run that is over: it began so many seconds after the epoch. */
static void add_run_of(const char *id, double started, const char *status)
{
    char text[256];
    add_folder(id);
    add_record(id, id, started);
    (void)snprintf(text, sizeof text,
                   "{\"status\": \"%s\", \"exit_code\": 0, \"started\": %.3f, \"seconds\": 1}",
                   status, started);
    add_file(id, "results.json", text);
}

static void add_run(const char *id, double started)
{
    add_run_of(id, started, "succeeded");
}

static bool exists(const char *name)
{
    return faccessat(scratch.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Names with blanks between, of what is there, or is not. */
static void check_names(const char *names, bool there)
{
    char *copy = strdup(names), *rest = copy, *name;
    while ((name = strsep(&rest, " ")) != NULL)
        CU_ASSERT_EQUAL(exists(name), there);
    free(copy);
}

#define NONE ((struct jr_prune_options){0})

/* Prune; what was told is held to both texts, and what it came to to these numbers. */
static void prune(struct jr_prune_options options, const char *expected, const char *complaints,
                  uint32_t removed, uint32_t kept, uint32_t others)
{
    struct jr_error err = {0};
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, bad = JR_BUF_INIT;
    pruned = (struct jr_pruned){0};
    CU_ASSERT_EQUAL(jr_records_prune(&pruned, &out, &bad, scratch.dir, &options, &err), 0);
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
    JR_ASSERT_TEXT(bad.data == NULL ? "" : bad.data, complaints);
    CU_ASSERT_EQUAL(pruned.removed, removed);
    CU_ASSERT_EQUAL(pruned.kept, kept);
    CU_ASSERT_EQUAL(pruned.unfinished + pruned.foreign + pruned.failed, others);
}

TEST(a_log_dir_that_is_none_is_told)
{
    struct jr_error err = {0};
    struct jr_prune_options options = {0};
    struct jr_buf out = JR_BUF_INIT, bad = JR_BUF_INIT;
    char path[64];
    scratch_start(&scratch);
    scratch_write(&scratch, "file", "");
    (void)snprintf(path, sizeof path, "%s/file", scratch.dir);
    CU_ASSERT_EQUAL(jr_records_prune(&pruned, &out, &bad, path, &options, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "Not a directory"));
    CU_ASSERT_EQUAL(out.len + bad.len, 0);
    scratch_end(&scratch);
}

TEST(what_is_no_finished_run_stays)
{
    scratch_start(&scratch);
    add_folder("data");
    add_file("data", "precious", "x");
    add_folder("torn");
    add_file("torn", "run.json", "{\"run_id\": ");
    add_folder("unfinished");
    add_record("unfinished", "unfinished", 5);
    add_run("real", 1);
    CU_ASSERT_EQUAL(symlinkat("real", scratch.fd, "linked"), 0);
    char told[256];
    (void)snprintf(
        told, sizeof told,
        "jobrun: the record of torn is damaged; it was left alone (rm -r %s/torn removes it)\n",
        scratch.dir);
    prune((struct jr_prune_options){.keep = 1}, "", told, 0, 1, 1);
    CU_ASSERT_EQUAL(pruned.unfinished, 1);
    check_names("data/precious torn/run.json unfinished/run.json linked", true);
    scratch_end(&scratch);
}

/* A folder that was copied, or made to look like a run, bears another name. */
TEST(a_record_of_another_name_is_not_removed)
{
    scratch_start(&scratch);
    add_run("copy", 1);
    add_record("copy", "original", 1);
    add_run("other", 2);
    add_file("other", "run.json", "{\"run_id\": \"other\", \"started\": 2}");
    prune(NONE, "",
          "jobrun: other is not one of your runs; it was not removed\n"
          "jobrun: copy is not one of your runs; it was not removed\n",
          0, 0, 2);
    CU_ASSERT_EQUAL(pruned.failed, 2);
    check_names("copy/results.json other/results.json", true);
    scratch_end(&scratch);
}

TEST(what_everybody_may_write_to_is_told_and_stays)
{
    scratch_start(&scratch);
    add_run("open", 1);
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, "open", 0777, 0), 0);
    char told[512];
    (void)snprintf(told, sizeof told,
                   "jobrun: open is a folder that everybody may write to; it was left alone (chmod "
                   "o-w %s/open)\n",
                   scratch.dir);
    prune(NONE, "", told, 0, 0, 0);
    CU_ASSERT_TRUE(exists("open/run.json"));
    scratch_end(&scratch);
}

TEST(the_newest_stay)
{
    static const struct {
        uint32_t keep;
        const char *expected;
    } vectors[] = {{0, "d\nc\nb\na\n"}, {1, "c\nb\na\n"}, {3, "a\n"}, {4, ""}, {9, ""}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        scratch_start(&scratch);
        add_run("c", 30);
        add_run("a", 10);
        add_run("d", 40);
        add_run("b", 20);
        uint32_t gone = (uint32_t)strlen(vectors[v].expected) / 2;
        prune((struct jr_prune_options){.keep = vectors[v].keep}, vectors[v].expected, "", gone,
              4 - gone, 0);
        CU_ASSERT_EQUAL(exists("a"), gone < 1);
        CU_ASSERT_EQUAL(exists("d"), gone < 4);
        scratch_end(&scratch);
    }
}

/* A run that stays for its age does count among those that stay. */
TEST(the_young_stay)
{
    double now = (double)jr_clock_wall_ns() / 1e9;
    scratch_start(&scratch);
    add_run("old", now - 7200);
    add_run("older", now - 10800);
    add_run("young", now - 1800);
    prune((struct jr_prune_options){.older_ms = 3600000, .dry = true}, "old\nolder\n", "", 2, 1, 0);
    CU_ASSERT_TRUE(exists("old"));
    CU_ASSERT_EQUAL(pruned.bytes, 0);
    prune((struct jr_prune_options){.older_ms = 3600000, .keep = 2}, "older\n", "", 1, 2, 0);
    check_names("old young", true);
    scratch_end(&scratch);
}

static uint64_t bytes_of(const char *name)
{
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(scratch.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* Links in a run lead nowhere, and a folder's depth is no reason to stop. */
TEST(all_of_a_run_goes_and_nothing_else)
{
    char large[8192];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    scratch_start(&scratch);
    add_folder("data");
    add_file("data", "precious", "x");
    add_run("a", 1);
    add_folder("a/attempt_0");
    add_folder("a/attempt_0/0");
    add_file("a/attempt_0/0", "stdout.log", large);
    add_file("a/attempt_0/0", "results.json", "{}");
    CU_ASSERT_EQUAL(symlinkat("../data", scratch.fd, "a/link"), 0);
    CU_ASSERT_EQUAL(linkat(scratch.fd, "data/precious", scratch.fd, "a/twin", 0), 0);
    uint64_t bytes = 0;
    static const char *const own[] = {"a/run.json", "a/results.json", "a/link",
                                      "a/attempt_0/0/stdout.log", "a/attempt_0/0/results.json"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        bytes += bytes_of(own[i]);
    prune(NONE, "a\n", "", 1, 0, 0);
    CU_ASSERT_TRUE(bytes >= sizeof large - 1);
    CU_ASSERT_EQUAL(pruned.bytes, bytes); /* the twin is there still */
    CU_ASSERT_FALSE(exists("a"));
    CU_ASSERT_TRUE(exists("data/precious"));
    scratch_end(&scratch);
}

/* Make folders in one another; *deepest is the last one's path. */
static void add_depth(const char *id, unsigned depth, char *deepest)
{
    char *end = stpcpy(deepest, id);
    for (unsigned i = 0; i < depth; i++) {
        end = stpcpy(end, "/d");
        add_folder(deepest);
    }
}

/* A removal gives up on what is too deep, and says so. */
TEST(a_folder_may_be_200_deep)
{
    char deepest[512];
    scratch_start(&scratch);
    add_run("a", 1);
    add_depth("a", 200, deepest);
    add_run("b", 2);
    add_depth("b", 201, deepest);
    prune(NONE, "a\n", "jobrun: b could not be removed: Too many levels of symbolic links\n", 1, 0,
          1);
    CU_ASSERT_EQUAL(pruned.failed, 1);
    CU_ASSERT_FALSE(exists("a"));
    CU_ASSERT_TRUE(exists(deepest));
    check_names("b/run.json b/results.json", true);
    scratch_end(&scratch);
}

/* What is another user's stays, with the record that tells of it; the rest of the run goes. */
TEST(what_is_anothers_in_a_run_stays)
{
    if (geteuid() != 0)
        return;
    scratch_start(&scratch);
    add_run("a", 1);
    add_folder("a/attempt_0");
    for (char name[] = "1"; name[0] <= '5'; name[0]++)
        add_file("a/attempt_0", name, "x");
    CU_ASSERT_EQUAL(fchownat(scratch.fd, "a/attempt_0/3", 64123, 64123, 0), 0);
    prune(NONE, "", "jobrun: a could not be removed: Operation not permitted\n", 0, 0, 1);
    CU_ASSERT_EQUAL(pruned.failed, 1);
    CU_ASSERT_TRUE(exists("a/attempt_0/3"));
    check_names("a/attempt_0/1 a/attempt_0/5", false);
    check_names("a/run.json a/results.json", true);
    /* So it can be removed once that is gone. */
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "a/attempt_0/3", 0), 0);
    prune(NONE, "a\n", "", 1, 0, 0);
    CU_ASSERT_FALSE(exists("a"));
    scratch_end(&scratch);
}

/* results.json goes first, and where it cannot go, run.json stays. */
TEST(a_record_stays_with_results_that_are_anothers)
{
    if (geteuid() != 0)
        return;
    scratch_start(&scratch);
    add_run("a", 1);
    CU_ASSERT_EQUAL(fchownat(scratch.fd, "a/results.json", 64123, 64123, 0), 0);
    prune(NONE, "", "jobrun: a could not be removed: Operation not permitted\n", 0, 0, 1);
    check_names("a/run.json a/results.json", true);
    scratch_end(&scratch);
}

/* The records of a run whose nodes had a jobrun each go last in each part. */
TEST(a_run_in_parts_goes)
{
    scratch_start(&scratch);
    add_folder("p");
    add_run("p/node_0", 1);
    add_record("p/node_0", "p", 1);
    add_run("p/node_1", 1);
    add_record("p/node_1", "p", 1);
    prune(NONE, "p\n", "", 1, 0, 0);
    CU_ASSERT_FALSE(exists("p"));
    scratch_end(&scratch);
}

/* The next attempt of a job that is to be continued runs in the same copy. */
TEST(the_code_of_what_goes_on_stays)
{
    static const char *const ids[] = {"a", "b"};
    scratch_start(&scratch);
    add_run("a", 1);
    add_folder("a/code");
    add_run_of("b", 2, "yielded");
    add_folder("b/code");
    for (int i = 0; i < 2; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "{\"format_version\": 1, \"run_id\": \"%s\", \"host\": \"h\", \"started\": "
                       "%d, \"code\": {\"frozen\": true, \"bytes\": 1}}",
                       ids[i], i + 1);
        add_file(ids[i], "run.json", text);
    }
    prune((struct jr_prune_options){.code = true}, "a\n", "", 1, 0, 1);
    CU_ASSERT_FALSE(exists("a/code"));
    CU_ASSERT_TRUE(exists("b/code"));
    scratch_end(&scratch);
}

/* One folder alone, with what it came to; one that is not there is gone. */
TEST(a_folder_goes_by_its_name)
{
    pruned = (struct jr_pruned){0};
    scratch_start(&scratch);
    add_folder("a");
    add_folder("a/b");
    add_file("a/b", "file", "12345");
    add_folder("other");
    CU_ASSERT_EQUAL(jr_prune_folder(&pruned, scratch.fd, "a"), 0);
    CU_ASSERT_FALSE(exists("a"));
    CU_ASSERT_TRUE(exists("other"));
    CU_ASSERT_TRUE(pruned.bytes > 0);
    CU_ASSERT_EQUAL(jr_prune_folder(&pruned, scratch.fd, "a"), 0);
    scratch_end(&scratch);
}

/* Each node has a copy of its own; what else it has stays. */
TEST(the_code_of_all_parts_goes)
{
    scratch_start(&scratch);
    add_folder("p");
    for (int i = 0; i < 2; i++) {
        char part[32], path[64];
        (void)snprintf(part, sizeof part, "p/node_%d", i);
        (void)snprintf(path, sizeof path, "p/node_%d/code", i);
        add_run(part, 1);
        add_file(part, "run.json",
                 "{\"format_version\": 1, \"run_id\": \"p\", \"host\": \"h\", \"started\": 1, "
                 "\"code\": {\"frozen\": true, \"bytes\": 1}}");
        add_folder(path);
        add_file(part, "code/train.py", "x");
        add_file(part, "code.files", "x");
    }
    prune((struct jr_prune_options){.code = true}, "p\n", "", 1, 0, 0);
    for (int i = 0; i < 2; i++) {
        static const char *const names[2][4] = {
            {"p/node_0/code", "p/node_0/code.files", "p/node_0/run.json", "p/node_0/results.json"},
            {"p/node_1/code", "p/node_1/code.files", "p/node_1/run.json", "p/node_1/results.json"}};
        for (int k = 0; k < 4; k++)
            CU_ASSERT_EQUAL(exists(names[i][k]), k >= 2);
    }
    scratch_end(&scratch);
}

/* By a clock that was set back, a run may have begun in the future: it is young. */
TEST(a_run_of_the_future_is_young)
{
    double now = (double)jr_clock_wall_ns() / 1e9;
    scratch_start(&scratch);
    add_run("a", now + 1000);
    prune((struct jr_prune_options){.older_ms = 1}, "", "", 0, 1, 0);
    prune(NONE, "a\n", "", 1, 0, 0);
    scratch_end(&scratch);
}

TEST(a_link_that_leads_nowhere_goes)
{
    static const struct {
        const char *target;
        bool dry, stays;
        uint32_t keep;
    } vectors[] = {{"a", false, false, 1},    {"a", true, true, 1},    {"b", false, true, 1},
                   {"gone", false, false, 1}, {"gone", true, true, 1}, {"gone", false, true, 2}};
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        scratch_start(&scratch);
        add_run("a", 1);
        add_run("b", 2);
        CU_ASSERT_EQUAL(symlinkat(vectors[v].target, scratch.fd, "latest"), 0);
        uint32_t keep = vectors[v].keep;
        prune((struct jr_prune_options){.keep = keep, .dry = vectors[v].dry},
              keep == 1 ? "a\n" : "", "", 2 - keep, keep, 0);
        CU_ASSERT_EQUAL(exists("latest"), vectors[v].stays);
        scratch_end(&scratch);
    }
}

/* A name that only looks like the link is somebody's. */
TEST(a_folder_called_latest_stays)
{
    scratch_start(&scratch);
    add_run("a", 1);
    add_folder("latest");
    prune(NONE, "a\n", "", 1, 0, 0);
    CU_ASSERT_TRUE(exists("latest"));
    scratch_end(&scratch);
}
