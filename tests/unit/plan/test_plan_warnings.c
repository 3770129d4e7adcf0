/* What a plan is warned of, and what it is refused for, word for word. */
#include "sample.h"

static const struct jr_diag *only_finding(const struct sample *s)
{
    CU_ASSERT_EQUAL_FATAL(s->diags.count, 1);
    CU_ASSERT_EQUAL(s->diags.items[0].span.line, 0);
    return &s->diags.items[0];
}

/* Groups of ranks that follow each other, on nodes of any size. */
TEST(counts_groups_that_cross_nodes)
{
    static const struct {
        uint32_t model, nodes[6];
        const char *message; /* NULL: none */
    } rows[] = {
        {2, {2, 4, 2}, NULL},
        {1, {1, 2, 3}, NULL},
        {4, {4}, NULL},
        {2, {3, 3}, "1 of 3 model groups cross nodes: ranks 2-3 are on nodes 0 to 1"},
        {2, {1, 2, 2, 1}, "3 of 3 model groups cross nodes: ranks 0-1 are on nodes 0 to 1"},
        {2, {2, 1, 1, 2}, "1 of 3 model groups cross nodes: ranks 2-3 are on nodes 1 to 2"},
        {4, {1, 1, 1, 1}, "1 of 1 model groups cross nodes: ranks 0-3 are on nodes 0 to 3"},
        {3, {3, 1, 1, 1, 3}, "1 of 3 model groups cross nodes: ranks 3-5 are on nodes 1 to 3"},
        {3, {3, 2, 3, 1}, "2 of 3 model groups cross nodes: ranks 3-5 are on nodes 1 to 2"},
        {2, {4, 1, 3}, "1 of 4 model groups cross nodes: ranks 4-5 are on nodes 1 to 2"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct sample s;
        char help[128];
        uint32_t world = 0;
        for (size_t node = 0; node < LENGTH(rows[i].nodes); node++)
            world += rows[i].nodes[node];
        sample_init(&s, rows[i].model, 1, world / rows[i].model);
        for (s.job.nodes = 0; rows[i].nodes[s.job.nodes] != 0; s.job.nodes++)
            s.sizes[s.job.nodes] = rows[i].nodes[s.job.nodes];
        CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_OK);
        CU_ASSERT_EQUAL(s.diags.errors, 0);
        if (rows[i].message == NULL) {
            CU_ASSERT_EQUAL(s.diags.count, 0);
            sample_release(&s);
            continue;
        }
        const struct jr_diag *diag = only_finding(&s);
        JR_ASSERT_TEXT(diag->code, "JR0503");
        JR_ASSERT_TEXT(diag->path, "parallelism.model");
        JR_ASSERT_TEXT(diag->message, rows[i].message);
        (void)snprintf(
            help, sizeof help,
            "give each node a multiple of %u ranks: the model axis communicates the most",
            rows[i].model);
        JR_ASSERT_TEXT(diag->help, help);
        sample_release(&s);
    }
}

/* Only imports can touch a device before the fork, and only where there is one. */
TEST(warns_of_forks_with_devices)
{
    static const struct {
        enum jr_start_method method;
        enum jr_device device;
        bool python, warned;
    } rows[] = {{JR_START_FORK, JR_DEVICE_CUDA, true, true},
                {JR_START_FORK, JR_DEVICE_ROCM, true, true},
                {JR_START_FORK, JR_DEVICE_CUDA, false, false},
                {JR_START_FORK, JR_DEVICE_CPU, true, false},
                {JR_START_FORK, JR_DEVICE_CPU, false, false},
                {JR_START_FORKSERVER, JR_DEVICE_CUDA, true, false},
                {JR_START_SPAWN, JR_DEVICE_CUDA, true, false}};
    struct jr_python python = {
        .what = JR_PYTHON_FUNCTION, .target = TEXT("train:main"), .interpreter = TEXT("python3")};
    struct jr_library library = {TEXT("/j/l.so"), TEXT("step")};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, 2);
        s.options.support = "/s";
        struct jr_entrypoint *entry = &s.job.entrypoint;
        entry->argv_count = 0;
        entry->form = rows[i].python ? JR_FORM_PYTHON : JR_FORM_LIBRARY;
        entry->python = &python;
        entry->library = &library;
        s.job.start_method = rows[i].method;
        s.job.device = rows[i].device;
        s.job.device_name = "the device";
        CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_OK);
        CU_ASSERT_EQUAL(s.diags.warnings, rows[i].warned);
        if (rows[i].warned) {
            const struct jr_diag *diag = only_finding(&s);
            JR_ASSERT_TEXT(diag->code, "JR0509");
            JR_ASSERT_TEXT(diag->path, "start_method");
            JR_ASSERT_TEXT(diag->message, "the imports of the entry module must not touch the "
                                          "device (the device) before the ranks are forked");
            JR_ASSERT_TEXT(diag->help, "start_method: forkserver imports only "
                                       "what `preload` names");
        }
    }
}

/* The name that was meant, or what there is. */
TEST(helps_with_failures)
{
    static const struct {
        const char *inject, *help;
    } rows[] = {{"kil:0", "did you mean 'kill'?"},
                {"hnag:0", "did you mean 'hang'?"},
                {"fly:0",
                 "kill:3@5s, exit:1=7, hang:2, stop:0, slow:*, noresult:1, oom:2: one range of "
                 "ranks each; lost_node:1@5s, deadline@10s, preempt@10s"},
                {"kill:x", "ranks are written as 3, 0-3, 0-7/2 or *"},
                {"kill:0-3/0", "ranks are written as 3, 0-3, 0-7/2 or *"},
                {"kill:0-4294967296", "ranks are written as 3, 0-3, 0-7/2 or *"},
                {"kill:0-3/4294967296", "ranks are written as 3, 0-3, 0-7/2 or *"},
                {"kill:0-3/x", "ranks are written as 3, 0-3, 0-7/2 or *"},
                {"kill:0-4294967295", "the last of 4 ranks is 3"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, 1, 1, 4);
        s.options.inject = rows[i].inject;
        CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_USAGE);
        CU_ASSERT_EQUAL_FATAL(s.diags.count, 1);
        JR_ASSERT_TEXT(s.diags.items[0].help, rows[i].help);
    }
}

/* Ranks of one node, whichever it is; the help names the first of the two. */
TEST(refuses_a_result_file_on_any_node)
{
    static const struct {
        const char *workdir, *file, *required;
        uint32_t first, second; /* the ranks; equal: it is good */
    } rows[] = {{"/w/%{node_rank}", "r.json", "all", 0, 1},
                {"/w", "%{node_rank}-%{rank}.json", "all", 0, 0},
                {"/w", "../%{local_rank}.json", "all", 0, 0},
                {"/w", "../x.json", "0,2,4-5", 4, 5},
                {"/w", "../x.json", "0,2-3", 2, 3},
                {"/w", "../x.json", "0,2,4", 0, 0},
                {"/w", "../x.json", "1,0", 0, 1},
                {"/w", NULL, "all", 0, 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct sample s;
        char help[160];
        sample_init(&s, 1, 1, 6);
        sample_nodes(&s, 3);
        s.job.workdir = rows[i].workdir;
        s.policy.results = (struct jr_results){
            .stated = true, .file = (char *)rows[i].file, .required = (char *)rows[i].required};
        bool good = rows[i].first == rows[i].second;
        CU_ASSERT_EQUAL(sample_build(&s), good ? JR_STATUS_OK : JR_STATUS_INVALID);
        if (!good) {
            const struct jr_diag *diag = only_finding(&s);
            char ranks[32];
            (void)snprintf(ranks, sizeof ranks, "ranks %u and %u ", rows[i].first, rows[i].second);
            CU_ASSERT_EQUAL(strncmp(diag->message, ranks, strlen(ranks)), 0);
            JR_ASSERT_TEXT(diag->path, "results.file");
            (void)snprintf(help, sizeof help,
                           "put %%{rank} into results.file; or, if one rank delivers for all, "
                           "name that rank: results: {required: \"%u\"}",
                           rows[i].first);
            JR_ASSERT_TEXT(diag->help, help);
        }
        s.policy.results.stated = false; /* then nobody looks */
        sample_release(&s);
        sample_init(&s, 1, 1, 2);
        s.policy.results.file = (char *)rows[i].file;
        s.policy.results.required = TEXT("all");
        CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_OK);
        sample_release(&s);
    }
}
