/* What prune removes, and above all what it leaves alone. */
#include "record/prune.h"

#include "base/arena.h"
#include "base/clock.h"
#include "scratch.h"

static void add_folder(const struct scratch *scratch, const char *id)
{
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, id, 0700), 0);
}

static void add_file(const struct scratch *scratch, const char *id, const char *name,
                     const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", id, name);
    scratch_write(scratch, path, text);
}

/* A record that calls itself `named`, from another host. */
static void add_record(const struct scratch *scratch, const char *id, const char *named,
                       double started)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "{\"format_version\": 1, \"run_id\": \"%s\", \"host\": "
                   "\"no-such-host\", \"started\": %.3f}",
                   named, started);
    add_file(scratch, id, "run.json", text);
}

/* A run that is over: it began so many seconds after the epoch. */
static void add_run_of(const struct scratch *scratch, const char *id, double started,
                       const char *status)
{
    char text[256];
    add_folder(scratch, id);
    add_record(scratch, id, id, started);
    (void)snprintf(text, sizeof text,
                   "{\"status\": \"%s\", \"exit_code\": 0, \"started\": %.3f, \"seconds\": 1}",
                   status, started);
    add_file(scratch, id, "results.json", text);
}

static void add_run(const struct scratch *scratch, const char *id, double started)
{
    add_run_of(scratch, id, started, "succeeded");
}

static bool exists(const struct scratch *scratch, const char *name)
{
    return faccessat(scratch->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Prune; what was told is held to both texts. */
static struct jr_pruned prune(const struct scratch *scratch, struct jr_prune_options options,
                              const char *expected, const char *complaints)
{
    struct jr_pruned pruned = {0};
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT, bad = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_records_prune(&pruned, &out, &bad, scratch->dir, &options, &err), 0);
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
    JR_ASSERT_TEXT(bad.data == NULL ? "" : bad.data, complaints);
    jr_buf_release(&out);
    jr_buf_release(&bad);
    return pruned;
}

static void check_counts(const struct jr_pruned *pruned, uint32_t removed, uint32_t kept,
                         uint32_t others)
{
    CU_ASSERT_EQUAL(pruned->removed, removed);
    CU_ASSERT_EQUAL(pruned->kept, kept);
    CU_ASSERT_EQUAL(pruned->unfinished + pruned->foreign + pruned->failed, others);
}

static void a_log_dir_that_is_none_is_told(void)
{
    struct scratch scratch;
    struct jr_pruned pruned = {.removed = 7};
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

static void what_is_no_finished_run_stays(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    add_folder(&scratch, "data");
    add_file(&scratch, "data", "precious", "x");
    add_folder(&scratch, "torn");
    add_file(&scratch, "torn", "run.json", "{\"run_id\": ");
    add_folder(&scratch, "unfinished");
    add_record(&scratch, "unfinished", "unfinished", 5);
    add_run(&scratch, "real", 1);
    CU_ASSERT_EQUAL(symlinkat("real", scratch.fd, "linked"), 0);
    char told[256];
    (void)snprintf(told, sizeof told,
                   "jobrun: the record of torn is damaged; it was left alone "
                   "(rm -r %s/torn removes it)\n",
                   scratch.dir);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){.keep = 1}, "", told);
    check_counts(&pruned, 0, 1, 1);
    CU_ASSERT_EQUAL(pruned.unfinished, 1);
    CU_ASSERT_TRUE(exists(&scratch, "data/precious"));
    CU_ASSERT_TRUE(exists(&scratch, "torn/run.json"));
    CU_ASSERT_TRUE(exists(&scratch, "unfinished/run.json"));
    CU_ASSERT_TRUE(exists(&scratch, "linked"));
    scratch_end(&scratch);
}

/* A folder that was copied, or made to look like a run, bears another name. */
static void a_record_of_another_name_is_not_removed(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    add_run(&scratch, "copy", 1);
    add_record(&scratch, "copy", "original", 1);
    add_run(&scratch, "other", 2);
    add_file(&scratch, "other", "run.json", "{\"run_id\": \"other\", \"started\": 2}");
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "",
                                    "jobrun: other is not one of your runs; it was not removed\n"
                                    "jobrun: copy is not one of your runs; it was not removed\n");
    check_counts(&pruned, 0, 0, 2);
    CU_ASSERT_EQUAL(pruned.failed, 2);
    CU_ASSERT_TRUE(exists(&scratch, "copy/results.json"));
    CU_ASSERT_TRUE(exists(&scratch, "other/results.json"));
    scratch_end(&scratch);
}

static void what_everybody_may_write_to_is_told_and_stays(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    add_run(&scratch, "open", 1);
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, "open", 0777, 0), 0);
    char told[512];
    (void)snprintf(told, sizeof told,
                   "jobrun: open is a folder that everybody may write to; it was left alone "
                   "(chmod o-w %s/open)\n",
                   scratch.dir);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "", told);
    check_counts(&pruned, 0, 0, 0);
    CU_ASSERT_TRUE(exists(&scratch, "open/run.json"));
    scratch_end(&scratch);
}

static void the_newest_stay(void)
{
    static const struct {
        uint32_t keep;
        const char *expected;
    } vectors[] = {
        {0, "d\nc\nb\na\n"}, {1, "c\nb\na\n"}, {3, "a\n"}, {4, ""}, {9, ""},
    };
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        struct scratch scratch;
        scratch_start(&scratch);
        add_run(&scratch, "c", 30);
        add_run(&scratch, "a", 10);
        add_run(&scratch, "d", 40);
        add_run(&scratch, "b", 20);
        struct jr_pruned pruned = prune(
            &scratch, (struct jr_prune_options){.keep = vectors[v].keep}, vectors[v].expected, "");
        uint32_t gone = (uint32_t)strlen(vectors[v].expected) / 2;
        check_counts(&pruned, gone, 4 - gone, 0);
        CU_ASSERT_EQUAL(exists(&scratch, "a"), gone < 1);
        CU_ASSERT_EQUAL(exists(&scratch, "d"), gone < 4);
        scratch_end(&scratch);
    }
}

/* A run that stays for its age does count among those that stay. */
static void the_young_stay(void)
{
    struct scratch scratch;
    double now = (double)jr_clock_wall_ns() / 1e9;
    scratch_start(&scratch);
    add_run(&scratch, "old", now - 7200);
    add_run(&scratch, "older", now - 10800);
    add_run(&scratch, "young", now - 1800);
    struct jr_pruned pruned = prune(
        &scratch, (struct jr_prune_options){.older_ms = 3600000, .dry = true}, "old\nolder\n", "");
    check_counts(&pruned, 2, 1, 0);
    CU_ASSERT_TRUE(exists(&scratch, "old"));
    CU_ASSERT_EQUAL(pruned.bytes, 0);
    pruned =
        prune(&scratch, (struct jr_prune_options){.older_ms = 3600000, .keep = 2}, "older\n", "");
    check_counts(&pruned, 1, 2, 0);
    CU_ASSERT_TRUE(exists(&scratch, "old"));
    CU_ASSERT_TRUE(exists(&scratch, "young"));
    scratch_end(&scratch);
}

static uint64_t bytes_of(const struct scratch *scratch, const char *name)
{
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(scratch->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* Links in a run lead nowhere, and a folder's depth is no reason to stop. */
static void all_of_a_run_goes_and_nothing_else(void)
{
    struct scratch scratch;
    char large[8192];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    scratch_start(&scratch);
    add_folder(&scratch, "data");
    add_file(&scratch, "data", "precious", "x");
    add_run(&scratch, "a", 1);
    add_folder(&scratch, "a/attempt_0");
    add_folder(&scratch, "a/attempt_0/0");
    add_file(&scratch, "a/attempt_0/0", "stdout.log", large);
    add_file(&scratch, "a/attempt_0/0", "results.json", "{}");
    CU_ASSERT_EQUAL(symlinkat("../data", scratch.fd, "a/link"), 0);
    CU_ASSERT_EQUAL(linkat(scratch.fd, "data/precious", scratch.fd, "a/twin", 0), 0);
    uint64_t bytes = 0;
    static const char *const own[] = {"a/run.json", "a/results.json", "a/link",
                                      "a/attempt_0/0/stdout.log", "a/attempt_0/0/results.json"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        bytes += bytes_of(&scratch, own[i]);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "a\n", "");
    check_counts(&pruned, 1, 0, 0);
    CU_ASSERT_TRUE(bytes >= sizeof large - 1);
    CU_ASSERT_EQUAL(pruned.bytes, bytes); /* the twin is there still */
    CU_ASSERT_FALSE(exists(&scratch, "a"));
    CU_ASSERT_TRUE(exists(&scratch, "data/precious"));
    scratch_end(&scratch);
}

/* Make folders in one another; *deepest is the last one's path. */
static void add_depth(const struct scratch *scratch, const char *id, unsigned depth, char *deepest)
{
    char *end = stpcpy(deepest, id);
    for (unsigned i = 0; i < depth; i++) {
        end = stpcpy(end, "/d");
        add_folder(scratch, deepest);
    }
}

/* A removal gives up on what is too deep, and says so. */
static void a_folder_may_be_200_deep(void)
{
    struct scratch scratch;
    char deepest[512];
    scratch_start(&scratch);
    add_run(&scratch, "a", 1);
    add_depth(&scratch, "a", 200, deepest);
    add_run(&scratch, "b", 2);
    add_depth(&scratch, "b", 201, deepest);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "a\n",
                                    "jobrun: b could not be removed: Too many levels of symbolic "
                                    "links\n");
    check_counts(&pruned, 1, 0, 1);
    CU_ASSERT_EQUAL(pruned.failed, 1);
    CU_ASSERT_FALSE(exists(&scratch, "a"));
    CU_ASSERT_TRUE(exists(&scratch, deepest));
    CU_ASSERT_TRUE(exists(&scratch, "b/run.json"));
    CU_ASSERT_TRUE(exists(&scratch, "b/results.json"));
    scratch_end(&scratch);
}

/* What is another user's stays, with the record that tells of it; the rest of the run goes. */
static void what_is_anothers_in_a_run_stays(void)
{
    struct scratch scratch;
    if (geteuid() != 0)
        return;
    scratch_start(&scratch);
    add_run(&scratch, "a", 1);
    add_folder(&scratch, "a/attempt_0");
    for (char name[] = "1"; name[0] <= '5'; name[0]++)
        add_file(&scratch, "a/attempt_0", name, "x");
    CU_ASSERT_EQUAL(fchownat(scratch.fd, "a/attempt_0/3", 64123, 64123, 0), 0);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "",
                                    "jobrun: a could not be removed: Operation not permitted\n");
    check_counts(&pruned, 0, 0, 1);
    CU_ASSERT_EQUAL(pruned.failed, 1);
    CU_ASSERT_TRUE(exists(&scratch, "a/attempt_0/3"));
    CU_ASSERT_FALSE(exists(&scratch, "a/attempt_0/1"));
    CU_ASSERT_FALSE(exists(&scratch, "a/attempt_0/5"));
    CU_ASSERT_TRUE(exists(&scratch, "a/run.json"));
    CU_ASSERT_TRUE(exists(&scratch, "a/results.json"));
    /* So it can be removed once that is gone. */
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "a/attempt_0/3", 0), 0);
    pruned = prune(&scratch, (struct jr_prune_options){0}, "a\n", "");
    check_counts(&pruned, 1, 0, 0);
    CU_ASSERT_FALSE(exists(&scratch, "a"));
    scratch_end(&scratch);
}

/* results.json goes first, and where it cannot go, run.json stays. */
static void a_record_stays_with_results_that_are_anothers(void)
{
    struct scratch scratch;
    if (geteuid() != 0)
        return;
    scratch_start(&scratch);
    add_run(&scratch, "a", 1);
    CU_ASSERT_EQUAL(fchownat(scratch.fd, "a/results.json", 64123, 64123, 0), 0);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "",
                                    "jobrun: a could not be removed: Operation not permitted\n");
    check_counts(&pruned, 0, 0, 1);
    CU_ASSERT_TRUE(exists(&scratch, "a/run.json"));
    CU_ASSERT_TRUE(exists(&scratch, "a/results.json"));
    scratch_end(&scratch);
}

/* The records of a run whose nodes had a jobrun each go last in each part. */
static void a_run_in_parts_goes(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    add_folder(&scratch, "p");
    add_run(&scratch, "p/node_0", 1);
    add_record(&scratch, "p/node_0", "p", 1);
    add_run(&scratch, "p/node_1", 1);
    add_record(&scratch, "p/node_1", "p", 1);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){0}, "p\n", "");
    check_counts(&pruned, 1, 0, 0);
    CU_ASSERT_FALSE(exists(&scratch, "p"));
    scratch_end(&scratch);
}

/* The next attempt of a job that is to be continued runs in the same copy. */
static void the_code_of_what_goes_on_stays(void)
{
    struct scratch scratch;
    static const char *const ids[] = {"a", "b"};
    scratch_start(&scratch);
    add_run(&scratch, "a", 1);
    add_folder(&scratch, "a/code");
    add_run_of(&scratch, "b", 2, "yielded");
    add_folder(&scratch, "b/code");
    for (int i = 0; i < 2; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "{\"format_version\": 1, \"run_id\": \"%s\", \"host\": \"h\", \"started\": "
                       "%d, \"code\": {\"frozen\": true, \"bytes\": 1}}",
                       ids[i], i + 1);
        add_file(&scratch, ids[i], "run.json", text);
    }
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){.code = true}, "a\n", "");
    check_counts(&pruned, 1, 0, 1);
    CU_ASSERT_FALSE(exists(&scratch, "a/code"));
    CU_ASSERT_TRUE(exists(&scratch, "b/code"));
    scratch_end(&scratch);
}

/* One folder alone, with what it came to; one that is not there is gone. */
static void a_folder_goes_by_its_name(void)
{
    struct scratch scratch;
    struct jr_pruned pruned = {0};
    scratch_start(&scratch);
    add_folder(&scratch, "a");
    add_folder(&scratch, "a/b");
    add_file(&scratch, "a/b", "file", "12345");
    add_folder(&scratch, "other");
    CU_ASSERT_EQUAL(jr_prune_folder(&pruned, scratch.fd, "a"), 0);
    CU_ASSERT_FALSE(exists(&scratch, "a"));
    CU_ASSERT_TRUE(exists(&scratch, "other"));
    CU_ASSERT_TRUE(pruned.bytes > 0);
    CU_ASSERT_EQUAL(jr_prune_folder(&pruned, scratch.fd, "a"), 0);
    scratch_end(&scratch);
}

/* Each node has a copy of its own; what else it has stays. */
static void the_code_of_all_parts_goes(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    add_folder(&scratch, "p");
    for (int i = 0; i < 2; i++) {
        char part[32], path[64];
        (void)snprintf(part, sizeof part, "p/node_%d", i);
        (void)snprintf(path, sizeof path, "p/node_%d/code", i);
        add_run(&scratch, part, 1);
        add_file(&scratch, part, "run.json",
                 "{\"format_version\": 1, \"run_id\": \"p\", \"host\": \"h\", "
                 "\"started\": 1, \"code\": {\"frozen\": true, \"bytes\": 1}}");
        add_folder(&scratch, path);
        add_file(&scratch, part, "code/train.py", "x");
        add_file(&scratch, part, "code.files", "x");
    }
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){.code = true}, "p\n", "");
    check_counts(&pruned, 1, 0, 0);
    for (int i = 0; i < 2; i++) {
        static const char *const names[2][4] = {
            {"p/node_0/code", "p/node_0/code.files", "p/node_0/run.json", "p/node_0/results.json"},
            {"p/node_1/code", "p/node_1/code.files", "p/node_1/run.json", "p/node_1/results.json"}};
        for (int k = 0; k < 4; k++)
            CU_ASSERT_EQUAL(exists(&scratch, names[i][k]), k >= 2);
    }
    scratch_end(&scratch);
}

/* By a clock that was set back, a run may have begun in the future: it is young. */
static void a_run_of_the_future_is_young(void)
{
    struct scratch scratch;
    double now = (double)jr_clock_wall_ns() / 1e9;
    scratch_start(&scratch);
    add_run(&scratch, "a", now + 1000);
    struct jr_pruned pruned = prune(&scratch, (struct jr_prune_options){.older_ms = 1}, "", "");
    check_counts(&pruned, 0, 1, 0);
    pruned = prune(&scratch, (struct jr_prune_options){0}, "a\n", "");
    check_counts(&pruned, 1, 0, 0);
    scratch_end(&scratch);
}

static void a_link_that_leads_nowhere_goes(void)
{
    static const struct {
        const char *target;
        bool dry, stays;
        uint32_t keep;
    } vectors[] = {{"a", false, false, 1},    {"a", true, true, 1},    {"b", false, true, 1},
                   {"gone", false, false, 1}, {"gone", true, true, 1}, {"gone", false, true, 2}};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        struct scratch scratch;
        scratch_start(&scratch);
        add_run(&scratch, "a", 1);
        add_run(&scratch, "b", 2);
        CU_ASSERT_EQUAL(symlinkat(vectors[v].target, scratch.fd, "latest"), 0);
        (void)prune(&scratch,
                    (struct jr_prune_options){.keep = vectors[v].keep, .dry = vectors[v].dry},
                    vectors[v].keep == 1 ? "a\n" : "", "");
        CU_ASSERT_EQUAL(exists(&scratch, "latest"), vectors[v].stays);
        scratch_end(&scratch);
    }
}

/* A name that only looks like the link is somebody's. */
static void a_folder_called_latest_stays(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    add_run(&scratch, "a", 1);
    add_folder(&scratch, "latest");
    (void)prune(&scratch, (struct jr_prune_options){0}, "a\n", "");
    CU_ASSERT_TRUE(exists(&scratch, "latest"));
    scratch_end(&scratch);
}

JR_UNIT_MAIN("prune", CASE(a_log_dir_that_is_none_is_told), CASE(what_is_no_finished_run_stays),
             CASE(a_record_of_another_name_is_not_removed),
             CASE(what_everybody_may_write_to_is_told_and_stays),
             CASE(what_is_anothers_in_a_run_stays),
             CASE(a_record_stays_with_results_that_are_anothers), CASE(the_newest_stay),
             CASE(the_young_stay), CASE(the_code_of_what_goes_on_stays),
             CASE(the_code_of_all_parts_goes), CASE(a_folder_goes_by_its_name),
             CASE(a_run_of_the_future_is_young), CASE(all_of_a_run_goes_and_nothing_else),
             CASE(a_run_in_parts_goes), CASE(a_folder_may_be_200_deep),
             CASE(a_link_that_leads_nowhere_goes), CASE(a_folder_called_latest_stays))
