#include <jobrun/jobrun.h>

#include <locale.h>
#include <signal.h>
#include <sys/wait.h>

#include "descriptors.h"
#include "scratch.h"

#define SPEC        "version: 1\nname: t\nworld_size: 2\n"
#define RUNS(shell) SPEC "entrypoint: {shell: '" shell "'}\n"

/* A session of a text, in a folder of its own. */
struct fixture {
    struct scratch scratch;
    struct jr_session *session;
    struct jr_error err;
    char notes[256]; /* the last one */
};

static void note(void *data, const char *line)
{
    struct fixture *fixture = data;
    (void)snprintf(fixture->notes, sizeof fixture->notes, "%s", line);
}

static void open_session(struct fixture *fixture, struct jr_session_options options)
{
    *fixture = (struct fixture){0};
    scratch_start(&fixture->scratch);
    options.note = note;
    options.data = fixture;
    fixture->session = jr_session_open(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture->session);
}

static enum jr_status load(struct fixture *fixture, const char *text)
{
    const struct jr_spec_source source = {
        .name = "t.yaml", .folder = fixture->scratch.dir, .text = text, .len = strlen(text)};
    return jr_session_load(fixture->session, &source, &fixture->err);
}

static void close_session(struct fixture *fixture)
{
    jr_session_close(fixture->session);
    scratch_end(&fixture->scratch);
}

#define FIXTURE(name, ...)                                                                         \
    struct fixture name RELEASE(close_session);                                                    \
    open_session(&name, __VA_ARGS__)

static const struct jr_session_options dry = {.dry_run = true};

TEST(tells_mistakes_at_their_positions)
{
    size_t count;
    FIXTURE(f, dry);
    CU_ASSERT_EQUAL(load(&f, "version: 1\nname: t\nworld_size: 4x\n"
                             "paralelism: {}\nentrypoint: [a]\n"),
                    JR_STATUS_INVALID);
    const struct jr_diag *diags = jr_session_diags(f.session, &count);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    JR_ASSERT_TEXT(diags[0].code, "JR0211");
    JR_ASSERT_TEXT(diags[0].span.source->name, "t.yaml");
    CU_ASSERT_EQUAL(diags[0].span.line, 3);
    CU_ASSERT_EQUAL(diags[0].span.column, 13);
    CU_ASSERT_EQUAL(diags[1].span.line, 4);
    JR_ASSERT_TEXT(f.err.text, "t.yaml:3:13: 'world_size' wants an integer of "
                               "at least 1, not '4x' (and more)");
    CU_ASSERT_EQUAL(f.err.status, JR_STATUS_INVALID);
    char *text = jr_session_diags_text(f.session, JR_DIAG_SHORT, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "t.yaml:4:1: error: unknown field"));
    free(text);
    jr_session_forget(f.session);
    (void)jr_session_diags(f.session, &count);
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_EQUAL(jr_session_resolve(f.session, &f.err), JR_STATUS_USAGE);
    CU_ASSERT_PTR_NULL(jr_session_spec(f.session));
}

TEST(refuses_stages_in_the_wrong_order)
{
    struct fixture f;
    const struct jr_spec_source nothing = {0};
    open_session(&f, dry);
    CU_ASSERT_EQUAL(jr_session_load(f.session, &nothing, NULL), JR_STATUS_USAGE);
    CU_ASSERT_EQUAL(jr_session_resolve(f.session, NULL), JR_STATUS_USAGE);
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_USAGE);
    JR_ASSERT_TEXT(f.err.text, "nothing is run in a session that is dry or only checks");
    CU_ASSERT_EQUAL(load(&f, RUNS("true")), JR_STATUS_OK);
    CU_ASSERT_EQUAL(load(&f, RUNS("true")), JR_STATUS_USAGE);
    CU_ASSERT_EQUAL(jr_session_make_plan(f.session, &f.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_make_plan(f.session, &f.err), JR_STATUS_USAGE);
    CU_ASSERT_EQUAL(jr_session_facts(f.session, NULL, &f.err), JR_STATUS_USAGE);
    close_session(&f);
    open_session(&f, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_USAGE);
    JR_ASSERT_TEXT(f.err.text, "no spec is loaded");
    CU_ASSERT_EQUAL(load(&f, RUNS("true")), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_make_plan(f.session, &f.err), JR_STATUS_USAGE);
    close_session(&f);
    jr_session_close(NULL);
}

TEST(has_nothing_before_its_stage)
{
    size_t count = 1;
    FIXTURE(f, dry);
    CU_ASSERT_PTR_NULL(jr_session_spec(f.session));
    CU_ASSERT_PTR_NULL(jr_session_value(f.session, "world_size"));
    CU_ASSERT_PTR_NULL(jr_session_plan(f.session));
    CU_ASSERT_PTR_NULL(jr_session_ranks(f.session, &count));
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_PTR_NULL(jr_session_outcome(f.session));
    CU_ASSERT_EQUAL(jr_session_status(f.session), JR_RUN_LAUNCH_FAILED);
    CU_ASSERT_EQUAL(jr_session_exit_code(f.session), JR_STATUS_LAUNCH);
#define IS_NULL(name, stage, help) CU_ASSERT_PTR_NULL(jr_session_text(f.session, JR_TEXT_##name));
    JR_TEXTS(IS_NULL)
}

TEST(refuses_a_profile_that_is_none)
{
    size_t count;
    FIXTURE(f, dry);
    CU_ASSERT_EQUAL(jr_session_facts(f.session, "2y8", &f.err), JR_STATUS_USAGE);
    CU_ASSERT_NOT_EQUAL(f.err.text[0], '\0');
    (void)jr_session_diags(f.session, &count);
    CU_ASSERT_EQUAL(count, 1);
    CU_ASSERT_EQUAL(jr_session_facts(f.session, "2x8:H100", &f.err), JR_STATUS_OK);
}

TEST(resolves_and_plans_elsewhere)
{
    char set[] = "parallelism.model=2";
    char *const sets[] = {set, NULL};
    struct jr_session_options options = dry;
    options.sets = sets;
    options.run_id = "r1";
    options.local = true;
    FIXTURE(f, options);
    CU_ASSERT_EQUAL(load(&f, "version: 1\nname: t\nentrypoint: [a]\n"), JR_STATUS_OK);
    CU_ASSERT_PTR_NULL(jr_session_spec(f.session)->world_size);
    CU_ASSERT_EQUAL(jr_session_facts(f.session, "2x8:H100", &f.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(jr_session_make_plan(f.session, &f.err), JR_STATUS_OK);
    JR_ASSERT_TEXT(jr_session_value(f.session, "world_size"), "16");
    JR_ASSERT_TEXT(jr_session_value(f.session, "parallelism.data"), "8");
    CU_ASSERT_PTR_NULL(jr_session_value(f.session, "no.such"));
    const struct jr_plan *plan = jr_session_plan(f.session);
    CU_ASSERT_EQUAL(plan->world_size, 16);
    JR_ASSERT_TEXT(plan->run_id, "r1");
    char *line = jr_session_text(f.session, JR_TEXT_HEADLINE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "t: 16 ranks on 2 nodes (data 8 x model 2), nccl, "));
    free(line);
    CU_ASSERT_PTR_NULL(jr_session_text(f.session, JR_TEXT_REPORT));
    CU_ASSERT_NOT_EQUAL(access("runs", F_OK), 0);
}

TEST(checks_a_template)
{
    struct jr_session_options options = {.check = true};
    FIXTURE(f, options);
    CU_ASSERT_EQUAL(load(&f, "version: 1\ntemplate: true\nname: t\n"), JR_STATUS_OK);
    CU_ASSERT_PTR_NULL(jr_session_spec(f.session));
    CU_ASSERT_EQUAL(jr_session_resolve(f.session, &f.err), JR_STATUS_USAGE);
}

TEST(runs_and_judges_in_rank_order)
{
    size_t count;
    FIXTURE(f, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(load(&f, RUNS("printf \"{\\\"r\\\": $RANK}\" "
                                  ">$JOBRUN_RESULT_FILE") "results: {fields: {r: "
                                                          "{type: integer}}, distinct: [r]}\n"),
                    JR_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_exit_code(f.session), 0);
    CU_ASSERT_EQUAL(jr_session_status(f.session), JR_RUN_SUCCEEDED);
    const struct jr_rank_result *ranks = jr_session_ranks(f.session, &count);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        char result[16];
        (void)snprintf(result, sizeof result, "{\"r\": %u}", i);
        CU_ASSERT_EQUAL(ranks[i].plan->rank, i);
        CU_ASSERT_EQUAL(ranks[i].outcome->end, JR_END_EXITED);
        CU_ASSERT_EQUAL(ranks[i].state, JR_RANK_SUCCEEDED);
        JR_ASSERT_TEXT(ranks[i].result, result);
        CU_ASSERT_FALSE(ranks[i].cause);
    }
    CU_ASSERT_EQUAL(jr_session_outcome(f.session)->count, 2);
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_USAGE);
    char *report = jr_session_text(f.session, JR_TEXT_REPORT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "2 of 2 ranks delivered"));
    free(report);
    JR_ASSERT_TEXT(f.notes, "");
}

TEST(names_the_rank_that_failed)
{
    size_t count;
    FIXTURE(f, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(load(&f, RUNS("[ $RANK = 1 ] && exit 3; exec sleep 60")), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_begin(f.session, &f.err), JR_STATUS_OK);
    const struct jr_plan *plan = jr_session_plan(f.session);
    CU_ASSERT_EQUAL(access(plan->run_dir, F_OK), 0);
    CU_ASSERT_EQUAL_FATAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_OK);
    const struct jr_rank_result *ranks = jr_session_ranks(f.session, &count);
    CU_ASSERT_EQUAL(jr_session_exit_code(f.session), JR_STATUS_FAILED);
    CU_ASSERT_EQUAL(jr_session_status(f.session), JR_RUN_FAILED);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_TRUE(ranks[1].cause);
    CU_ASSERT_EQUAL(ranks[1].outcome->exit_code, 3);
    CU_ASSERT_EQUAL(ranks[0].state, JR_RANK_STOPPED);
    CU_ASSERT_FALSE(ranks[0].cause);
}

/* A record that cannot be written at the end is told, and counts. */
TEST(tells_of_a_folder_that_went_away)
{
    FIXTURE(f, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(load(&f, "version: 1\nname: t\nworld_size: 1\n"
                             "entrypoint: {shell: rm -rf $JOBRUN_RUN_DIR}\n"),
                    JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_OK);
    CU_ASSERT_NOT_EQUAL(f.notes[0], '\0');
    CU_ASSERT_NOT_EQUAL(jr_session_exit_code(f.session), 0);
}

/* Handlers, mask and descriptors are as they were. */
TEST(leaves_the_process_as_it_was)
{
    struct fixture f;
    struct sigaction before, after;
    sigset_t mask_before, mask_after;
    size_t descriptors = count_descriptors();
    (void)sigaction(SIGTERM, NULL, &before);
    (void)sigprocmask(SIG_BLOCK, NULL, &mask_before);
    open_session(&f, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(load(&f, RUNS("exit 4")), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_OK);
    close_session(&f);
    (void)sigaction(SIGTERM, NULL, &after);
    (void)sigprocmask(SIG_BLOCK, NULL, &mask_after);
    CU_ASSERT_PTR_EQUAL(before.sa_handler, after.sa_handler);
    for (int signal = 1; signal < SIGRTMAX; signal++)
        CU_ASSERT_EQUAL(sigismember(&mask_before, signal), sigismember(&mask_after, signal));
    CU_ASSERT_EQUAL(count_descriptors(), descriptors);
}

/* Two that are both about to run have a port each. */
TEST(sessions_share_nothing)
{
    struct fixture a, b;
    open_session(&a, (struct jr_session_options){0});
    open_session(&b, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(load(&a, RUNS("exit 0")), JR_STATUS_OK);
    CU_ASSERT_EQUAL(load(&b, RUNS("exit 5")), JR_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(jr_session_begin(a.session, &a.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(jr_session_begin(b.session, &b.err), JR_STATUS_OK);
    CU_ASSERT_NOT_EQUAL(jr_session_plan(a.session)->master_port,
                        jr_session_plan(b.session)->master_port);
    CU_ASSERT_EQUAL(jr_session_run(b.session, NULL, &b.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_run(a.session, NULL, &a.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_exit_code(a.session), 0);
    CU_ASSERT_EQUAL(jr_session_exit_code(b.session), JR_STATUS_FAILED);
    close_session(&a);
    close_session(&b);
}

/* A child that a run would have ended lives on, and the session with it. */
TEST(spares_children_of_the_caller)
{
    FIXTURE(f, (struct jr_session_options){0});
    CU_ASSERT_EQUAL(load(&f, RUNS("true")), JR_STATUS_OK);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            (void)pause();
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_USAGE);
    JR_ASSERT_TEXT(f.err.text, "this process has children, which a run would end");
    CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_exit_code(f.session), 0);
}

TEST(needs_no_options)
{
    char program[] = "true";
    char *const command[] = {program, NULL};
    const struct jr_spec_source source = {.argv = command, .ranks = 2};
    struct jr_session *session = jr_session_open(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(session);
    CU_ASSERT_EQUAL(jr_session_load(session, &source, NULL), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_resolve(session, NULL), JR_STATUS_OK);
    JR_ASSERT_TEXT(jr_session_value(session, "world_size"), "2");
    jr_session_close(session);
}

/* A locale whose decimal point is a comma, in the folder; false where localedef(1) or what it needs
 * is not installed. */
static bool speak_with_commas(const struct scratch *scratch)
{
    static const char text[] = "LC_CTYPE\ncopy \"POSIX\"\nEND LC_CTYPE\nLC_NUMERIC\ndecimal_point "
                               "\"<U002C>\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n";
    char command[256];
    scratch_write(scratch, "commas", text);
    (void)snprintf(command, sizeof command,
                   "cd %s && localedef -c -i ./commas -f ANSI_X3.4-1968 ./xx >/dev/null 2>&1",
                   scratch->dir);
    (void)!system(command); /* it warns of all else that a locale has */
    (void)setenv("LOCPATH", scratch->dir, 1);
    bool found = setlocale(LC_NUMERIC, "xx") != NULL;
    (void)unsetenv("LOCPATH"); /* newlocale(3) of glibc would leak with it */
    return found;
}

TEST(reads_and_writes_points)
{
    size_t count;
    FIXTURE(f, (struct jr_session_options){0});
    if (!speak_with_commas(&f.scratch))
        (void)puts("skipped: no locale with a decimal comma can be made here");
    CU_ASSERT_EQUAL(load(&f, SPEC "restart: {max: 1, backoff: 1ms}\nresults: {fields: {x: {type: "
                                  "number, max: 0.8}}}\nentrypoint: {shell: '[ $JOBRUN_ATTEMPT = 1 "
                                  "] && echo \"{\\\"x\\\": 0.75}\" >$JOBRUN_RESULT_FILE'}\n"),
                    JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_run(f.session, NULL, &f.err), JR_STATUS_OK);
    CU_ASSERT_EQUAL(jr_session_exit_code(f.session), 0);
    const struct jr_rank_result *ranks = jr_session_ranks(f.session, &count);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    JR_ASSERT_TEXT(ranks[1].result, "{\"x\": 0.75}");
    struct jr_session *again = jr_session_open(&dry);
    char path[256];
    (void)snprintf(path, sizeof path, "%s/runs/latest/resolved.yaml", f.scratch.dir);
    const struct jr_spec_source source = {.path = path};
    CU_ASSERT_EQUAL(jr_session_load(again, &source, &f.err), JR_STATUS_OK);
    jr_session_close(again);
    (void)setlocale(LC_NUMERIC, "C");
}
