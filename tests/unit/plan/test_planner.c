#include "sample.h"

TEST(refuses_a_world_that_does_not_add_up)
{
    static const struct {
        uint32_t world, held, data;
        const char *text;
    } bad[] = {{9, 8, 2, "a world of 9 ranks, a mesh of 8 and nodes that hold 8"},
               {8, 7, 2, "a world of 8 ranks, a mesh of 8 and nodes that hold 7"},
               {8, 8, 3, "a world of 8 ranks, a mesh of 12 and nodes that hold 8"},
               {0, 0, 0, "a mesh of 0 x 2 x 2 has no valid size"}};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        SAMPLE(s, 2, 2, bad[i].data);
        s.job.world_size = bad[i].world;
        s.sizes[0] = bad[i].held;
        CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
        CU_ASSERT_TRUE(sample_found(&s, "JR0506", bad[i].text));
    }
}

/* CPUs of the node's ranks, or of all ranks, where they share this machine; of nodes that are
 * unlike it nobody knows. */
TEST(binds_ranks_to_cpus)
{
    char *slots[] = {TEXT("0-1"), TEXT("2-3"), TEXT("4-5"),
                     TEXT("6-7"), TEXT("8-9"), TEXT("10-11")};
    static const struct {
        uint32_t count;
        const char *cpus[6];
    } rows[] = {{0, {NULL}},
                {1, {NULL, NULL, NULL, NULL, NULL, "0-1"}},
                {2, {"0-1", "2-3", NULL, NULL, NULL, NULL}},
                {3, {NULL, NULL, "0-1", "2-3", "4-5", NULL}},
                {6, {"0-1", "2-3", "4-5", "6-7", "8-9", "10-11"}}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, 6);
        s.job.nodes = 3;
        s.sizes[0] = 2;
        s.sizes[1] = 3;
        s.sizes[2] = 1;
        s.job.own.slots = slots;
        s.job.own.slots_count = rows[i].count;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        for (uint32_t rank = 0; rank < 6; rank++) {
            const char *cpus = s.plan.ranks[rank].cpus;
            if (rows[i].cpus[rank] != NULL)
                JR_ASSERT_TEXT(cpus, rows[i].cpus[rank]);
            CU_ASSERT_EQUAL(cpus == NULL, rows[i].cpus[rank] == NULL);
        }
    }
}

/* All of them in one pass. */
TEST(refuses_every_bad_template)
{
    static char bad[] = "%{no}";
    static const char *const paths[] = {"entrypoint", "workdir", "console.prefix", "results.file",
                                        "results.artifacts"};
    static char *artifacts[] = {bad};
    SAMPLE(s, 1, 1, 1);
    s.argv[2] = bad;
    s.job.workdir = "/w/%{no}";
    s.policy.console.prefix = bad;
    s.policy.results.file = bad;
    s.policy.results.artifacts = artifacts;
    s.policy.results.artifacts_count = 1;
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_EQUAL_FATAL(s.diags.errors, LENGTH(paths));
    for (size_t i = 0; i < LENGTH(paths); i++) {
        JR_ASSERT_TEXT(s.diags.items[i].code, "JR0502");
        JR_ASSERT_TEXT(s.diags.items[i].path, paths[i]);
    }
}

TEST(refuses_ranks_that_are_none)
{
    static char junk[] = "x";
    struct jr_stream_rule rule = {.ranks = junk, .streams = JR_STREAM_ALL};
    struct sample s;
    sample_init(&s, 1, 1, 4);
    s.job.redirects = &rule;
    s.job.redirects_count = 1;
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_TRUE(sample_found(&s, "JR0506", "redirects: 'x' is not a set of local ranks"));
    sample_release(&s);
    sample_init(&s, 1, 1, 4);
    s.policy.console.ranks = junk;
    CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_INVALID);
    CU_ASSERT_TRUE(sample_found(&s, "JR0506", "'x' is not a set of ranks"));
    sample_release(&s);
}

/* Ragged nodes: 1 + 3 + 2. */
TEST(places_ranks_on_their_nodes)
{
    static const uint32_t node[] = {0, 1, 1, 1, 2, 2};
    static const uint32_t local[] = {0, 0, 1, 2, 0, 1};
    SAMPLE(s, 1, 1, 6);
    s.job.nodes = 3;
    s.sizes[0] = 1;
    s.sizes[1] = 3;
    s.sizes[2] = 2;
    s.job.node_rank = 1;
    s.job.rank_start = 1;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    for (uint32_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(s.plan.ranks[i].rank, i);
        CU_ASSERT_EQUAL(s.plan.ranks[i].node_rank, node[i]);
        CU_ASSERT_EQUAL(s.plan.ranks[i].local_rank, local[i]);
    }
    JR_ASSERT_TEXT(sample_env(&s, 2, "LOCAL_WORLD_SIZE"), "3");
    JR_ASSERT_TEXT(sample_env(&s, 5, "LOCAL_WORLD_SIZE"), "2");
    CU_ASSERT_EQUAL(s.plan.first, 1);
    CU_ASSERT_EQUAL(s.plan.count, 3);
    s.options.local = true;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    CU_ASSERT_EQUAL(s.plan.first, 0);
    CU_ASSERT_EQUAL(s.plan.count, 6);
}

TEST(names_files_below_the_run_folder)
{
    static char one[] = "1";
    struct jr_stream_rule redirect = {.ranks = one, .streams = JR_STREAM_OUT};
    SAMPLE(s, 1, 1, 2);
    s.job.redirects = &redirect;
    s.job.redirects_count = 1;
    s.job.tee_stated = true;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    const struct jr_plan_rank *rank = &s.plan.ranks[1];
    JR_ASSERT_TEXT(s.plan.run_dir, "/home/u/job/runs/run-1");
    JR_ASSERT_TEXT(rank->dir, "attempt_0/1");
    JR_ASSERT_TEXT(rank->out_path, "attempt_0/1/stdout.log");
    CU_ASSERT_PTR_NULL(rank->err_path);
    CU_ASSERT_PTR_NULL(s.plan.ranks[0].out_path);
    JR_ASSERT_TEXT(rank->result_path, "attempt_0/1/result.json");
    JR_ASSERT_TEXT(rank->error_path, "attempt_0/1/error.json");
    JR_ASSERT_TEXT(rank->workdir, "/home/u/job");
    JR_ASSERT_TEXT(rank->prefix, "[1] ");
    CU_ASSERT_EQUAL(rank->artifacts_count, 0);
}

TEST(refuses_a_result_file_of_two_ranks)
{
    static const struct {
        const char *file, *required, *workdir;
        bool local;
        const char *text; /* NULL: good */
    } rows[] = {{"out.json", "all", "/w", false,
                 "ranks 0 and 1 would write the same result file, /w/out.json"},
                {"out.json", "1-2", "/w/%{data_rank}/..", false,
                 "ranks 1 and 2 would write the same result file, /w/out.json"},
                {"%{local_rank}.json", "all", "/w", true,
                 "ranks 0 and 4 would write the same result file, /w/0.json"},
                {"%{local_rank}.json", "all", "/w", false, NULL},
                {"out.json", "3", "/w", false, NULL},
                {"out.json", "none", "/w", false, NULL},
                {"out.json", "all", "/w/%{rank}", false, NULL},
                {"%{rank_dir}/out.json", "all", "/w", true, NULL}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, 8);
        sample_nodes(&s, 2);
        s.options.local = rows[i].local;
        s.job.workdir = rows[i].workdir;
        s.policy.results = (struct jr_results){
            .stated = true,
            .file = (char *)rows[i].file,
            .required = (char *)rows[i].required,
        };
        CU_ASSERT_EQUAL(sample_build(&s), rows[i].text == NULL ? JR_STATUS_OK : JR_STATUS_INVALID);
        if (rows[i].text != NULL)
            CU_ASSERT_TRUE(sample_found(&s, "JR0507", rows[i].text));
    }
}

/* What stands before a line must not move a cursor, or make two of it. */
TEST(escapes_prefixes)
{
    static char prefix[] = "%{rank}\n\033[31m\t\xff| ";
    SAMPLE(s, 1, 1, 2);
    s.policy.console.prefix = prefix;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    JR_ASSERT_TEXT(s.plan.ranks[1].prefix, "1\\x0a\\x1b[31m\t\\xff| ");
}

/* A folded line has the ranks in the place of %{rank}; the rest is each rank's own. */
TEST(cuts_prefixes_for_several_ranks)
{
    static const struct {
        const char *prefix, *head, *tail;
    } rows[] = {{"[%{rank}] ", "[", "] "},
                {"", "[", "] "},
                {"x: ", "x: [", "] "},
                {"%%{rank}-%{local_rank} ", "%{rank}-1 [", "] "},
                {"%%{rank}-%{rank}-%{rank} ", "%{rank}-", "-1 "},
                {"\n%{local_rank}/%{rank}|", "\\x0a1/", "|"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        SAMPLE(s, 1, 1, 2);
        s.policy.console.prefix = (char *)rows[i].prefix;
        s.policy.console.collapse = true;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        JR_ASSERT_TEXT(s.plan.ranks[1].around[0], rows[i].head);
        JR_ASSERT_TEXT(s.plan.ranks[1].around[1], rows[i].tail);
    }
}

/* --debug: a terminal for one rank, files for the others. */
TEST(gives_terminals_and_input)
{
    const uint32_t debug = 1, reads = 0;
    SAMPLE(s, 1, 1, 3);
    s.options.debug_rank = &debug;
    s.options.stdin_rank = &reads;
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const struct jr_plan_rank *rank = &s.plan.ranks[i];
        CU_ASSERT_FALSE(rank->on_console);
        CU_ASSERT_EQUAL(rank->out, i == 1 ? JR_SINK_INHERIT : JR_SINK_FILE);
        CU_ASSERT_EQUAL(rank->out_path == NULL, i == 1);
        CU_ASSERT_EQUAL(rank->err_path == NULL, i == 1);
    }
    CU_ASSERT_EQUAL(s.plan.ranks[0].input, JR_INPUT_STDIN);
    CU_ASSERT_EQUAL(s.plan.ranks[1].input, JR_INPUT_TERMINAL);
    CU_ASSERT_EQUAL(s.plan.ranks[2].input, JR_INPUT_NONE);
}

TEST(expands_stated_paths)
{
    static const struct {
        const char *file, *path;
    } rows[] = {{"out/%{rank}.json", "/w/1/out/1.json"},
                {"./a/../%{data_rank}.json", "/w/1/1.json"},
                {"/abs/%{local_rank}", "/abs/1"},
                {"%{rank_dir}/r.json", "/home/u/job/runs/run-1/attempt_0/1/r.json"}};
    char *artifacts[] = {TEXT("ckpt/%{rank}.pt"), TEXT("log.txt")};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char file[64];
        SAMPLE(s, 1, 1, 2);
        (void)snprintf(file, sizeof file, "%s", rows[i].file);
        s.job.workdir = "/w/%{rank}";
        s.policy.results.file = file;
        s.policy.results.artifacts = artifacts;
        s.policy.results.artifacts_count = 2;
        CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
        const struct jr_plan_rank *rank = &s.plan.ranks[1];
        JR_ASSERT_TEXT(rank->workdir, "/w/1");
        JR_ASSERT_TEXT(rank->result_path, rows[i].path);
        JR_ASSERT_TEXT(sample_env(&s, 1, "JOBRUN_RESULT_FILE"), rows[i].path);
        CU_ASSERT_EQUAL_FATAL(rank->artifacts_count, 2);
        JR_ASSERT_TEXT(rank->artifacts[0], "ckpt/1.pt");
        JR_ASSERT_TEXT(rank->artifacts[1], "log.txt");
    }
}

TEST(makes_the_command_line)
{
    SAMPLE(s, 1, 1, 2);
    s.argv[2] = TEXT("--shard=%{rank}/%{world_size}");
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    char **argv = s.plan.ranks[1].argv;
    JR_ASSERT_TEXT(argv[0], "./train");
    JR_ASSERT_TEXT(argv[2], "--shard=1/2");
    CU_ASSERT_PTR_NULL(argv[3]);
    JR_ASSERT_TEXT(s.plan.ranks[0].argv[2], "--shard=0/2");
}

/* The text is one argument; $0 is sh; what follows is $1 and so on. */
TEST(hands_text_to_the_shell)
{
    static const char *const expected[] = {
        "/bin/sh", "-c", "echo %{rank} is ${RANK} 1 \"$1\"", "sh", "--epochs", "5"};
    SAMPLE(s, 1, 1, 2);
    s.job.entrypoint.form = JR_FORM_SHELL;
    s.argv[0] = TEXT("echo %%{rank} is ${RANK} %{rank} \"$1\"");
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    char **argv = s.plan.ranks[1].argv;
    for (size_t i = 0; i < LENGTH(expected); i++)
        JR_ASSERT_TEXT(argv[i], expected[i]);
    CU_ASSERT_PTR_NULL(argv[LENGTH(expected)]);
}

TEST(shows_whom_the_console_shows)
{
    SAMPLE(s, 1, 1, 4);
    s.policy.console.ranks = TEXT("0,2");
    CU_ASSERT_EQUAL_FATAL(sample_build(&s), JR_STATUS_OK);
    for (uint32_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(s.plan.ranks[i].on_console, i % 2 == 0);
        CU_ASSERT_EQUAL(s.plan.ranks[i].out, JR_SINK_FILE | JR_SINK_CONSOLE);
    }
}

/* At every size of memory: the status that says so, or the whole plan. */
TEST(survives_without_memory)
{
    bool done = false;
    for (size_t limit = 1; !done; limit += 61) {
        struct sample s;
        sample_init(&s, 2, 1, 2);
        s.arena.limit = limit;
        s.policy.results.file = TEXT("%{rank}.json");
        enum jr_status status = sample_build(&s);
        done = status == JR_STATUS_OK;
        CU_ASSERT_TRUE(done || status == JR_STATUS_LAUNCH);
        if (done)
            JR_ASSERT_TEXT(sample_env(&s, 3, "RANK"), "3");
        CU_ASSERT_EQUAL(s.diags.count, 0);
        sample_release(&s);
        if (limit > 1 << 20)
            break;
    }
    CU_ASSERT_TRUE(done);
}

/* Memory grows with the world, not with its square: every rank of 4096 is in a group of 4096, whose
 * list alone is 19 KiB. */
TEST(stays_linear)
{
    static const struct {
        uint32_t world;
        size_t most;
    } rows[] = {{512, 2u << 20}, {4096, 16u << 20}};
    char text[32][64];
    char *outer[33] = {NULL};
    for (int i = 0; i < 32; i++) {
        (void)snprintf(text[i], sizeof text[i], "INHERITED_%d=some value", i);
        outer[i] = text[i];
    }
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, rows[i].world);
        s.options.environ = outer;
        CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_OK);
        CU_ASSERT_TRUE(s.arena.used < rows[i].most);
    }
}
