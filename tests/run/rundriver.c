/*
 * Run a plan made by hand and print its outcome, for the tests of the run.
 *
 * usage: rundriver [OPTION=VALUE]... -- COMMAND [ARG]...
 *
 *   ranks=N        how many (1)                 dir=PATH     log folder
 *   out=S err=S    inherit, file, console, tee  id=ID        run id (run)
 *   policy=stop|continue  target=leader|group   grace=MS     run=MS
 *   silence=MS after=MS  wait=MS ask=SIGNAL command=A,B...   of a hang
 *   python=1       the ranks are Python, it is said
 *   start=MS exit=MS  returns=1 barrier=1  (with a worker as the command)
 *   partial=MS  timestamps=1  live=1  color=1
 *   limit=SIZE     log_limit
 *   collapse=1  show=REGEX  hide=REGEX
 *   outcome=PATH   where to print it            workdir=PATH
 *   path=PATH      the ranks' PATH              quiet=N      rank not shown
 *   cpus=SET       what the ranks are bound to
 *   missing=N      the rank whose program does not exist
 *   nofile=N hard=N fsize=N   limits before the run
 *   repeat=N       jr_run so many times
 *   helper=A,B...  the helper's argv: ranks are forked from it
 *   group=1        in a control group, where one can be made
 *   isolate=1      in a PID namespace
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/num.h"
#include "base/strv.h"
#include "eventloop/signals.h"
#include "run/guard.h"
#include "spawn/cgroup_tree.h"
#include "store/outcome.h"
#include "store/run_folder.h"

struct setup {
    uint32_t ranks, quiet, missing, nofile, hard, fsize, repeat, returns, barrier;
    const char *dir, *id, *outcome, *workdir, *path, *cpus;
    const char *show, *hide, *limit;
    const char *out, *err, *on_failure, *target, *helper, *ask, *command;
    uint32_t collapse, timestamps, live, color, group, isolate, python;
    struct jr_policy policy;
};

static enum jr_sink sink_of(const char *word)
{
    if (strcmp(word, "file") == 0)
        return JR_SINK_FILE;
    if (strcmp(word, "console") == 0)
        return JR_SINK_CONSOLE;
    if (strcmp(word, "tee") == 0)
        return JR_SINK_FILE | JR_SINK_CONSOLE;
    return JR_SINK_INHERIT;
}

static uint32_t number_of(const char *text)
{
    uint32_t number = 0;
    if (!jr_num_u32(text, &number))
        (void)fprintf(stderr, "rundriver: '%s' is not a number\n", text);
    return number;
}

/* An option: where its value goes. Exactly one of the three is set. */
struct option {
    const char *name;
    const char **text;
    uint32_t *number;
    uint64_t *ms;
};

static void set_option(struct setup *setup, const char *name, const char *value)
{
    struct jr_policy *policy = &setup->policy;
    const struct option options[] = {
        {"ranks", NULL, &setup->ranks, NULL},
        {"quiet", NULL, &setup->quiet, NULL},
        {"missing", NULL, &setup->missing, NULL},
        {"nofile", NULL, &setup->nofile, NULL},
        {"hard", NULL, &setup->hard, NULL},
        {"fsize", NULL, &setup->fsize, NULL},
        {"repeat", NULL, &setup->repeat, NULL},
        {"timestamps", NULL, &setup->timestamps, NULL},
        {"group", NULL, &setup->group, NULL},
        {"isolate", NULL, &setup->isolate, NULL},
        {"collapse", NULL, &setup->collapse, NULL},
        {"limit", &setup->limit, NULL, NULL},
        {"show", &setup->show, NULL, NULL},
        {"hide", &setup->hide, NULL, NULL},
        {"live", NULL, &setup->live, NULL},
        {"color", NULL, &setup->color, NULL},
        {"dir", &setup->dir, NULL, NULL},
        {"id", &setup->id, NULL, NULL},
        {"outcome", &setup->outcome, NULL, NULL},
        {"workdir", &setup->workdir, NULL, NULL},
        {"path", &setup->path, NULL, NULL},
        {"cpus", &setup->cpus, NULL, NULL},
        {"out", &setup->out, NULL, NULL},
        {"err", &setup->err, NULL, NULL},
        {"policy", &setup->on_failure, NULL, NULL},
        {"target", &setup->target, NULL, NULL},
        {"helper", &setup->helper, NULL, NULL},
        {"grace", NULL, NULL, &policy->timeouts.stop_grace_ms},
        {"run", NULL, NULL, &policy->timeouts.run_ms},
        {"silence", NULL, NULL, &policy->timeouts.silence_ms},
        {"after", NULL, NULL, &policy->timeouts.after_first_exit_ms},
        {"wait", NULL, NULL, &policy->on_hang.wait_ms},
        {"ask", &setup->ask, NULL, NULL},
        {"command", &setup->command, NULL, NULL},
        {"python", NULL, &setup->python, NULL},
        {"start", NULL, NULL, &policy->timeouts.start_ms},
        {"exit", NULL, NULL, &policy->timeouts.exit_ms},
        {"returns", NULL, &setup->returns, NULL},
        {"barrier", NULL, &setup->barrier, NULL},
        {"partial", NULL, NULL, &policy->console.partial_ms},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct option *option = &options[i];
        if (strcmp(option->name, name) != 0)
            continue;
        if (option->text != NULL)
            *option->text = value;
        if (option->number != NULL)
            *option->number = number_of(value);
        if (option->ms != NULL)
            *option->ms = number_of(value);
    }
}

/* Returns the index of the first word of the command. */
static int read_options(struct setup *setup, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        set_option(setup, argv[i], value);
    }
    struct jr_policy *policy = &setup->policy;
    policy->console.collapse = setup->collapse != 0;
    policy->log_limit = (char *)setup->limit;
    policy->console.show = (char *)setup->show;
    policy->console.hide = (char *)setup->hide;
    policy->console.timestamps = setup->timestamps != 0;
    policy->exit_barrier = setup->barrier != 0;
    policy->isolation = setup->isolate != 0 ? JR_ISOLATION_PID : JR_ISOLATION_NONE;
    policy->on_failure =
        strcmp(setup->on_failure, "continue") == 0 ? JR_ON_FAILURE_CONTINUE : JR_ON_FAILURE_STOP;
    policy->stop_target = strcmp(setup->target, "group") == 0 ? JR_STOP_GROUP : JR_STOP_LEADER;
    return i + 1;
}

static void make_rank(struct jr_plan_rank *rank, uint32_t i, struct jr_arena *arena,
                      const struct setup *setup, char **command)
{
    char **nowhere = jr_arena_array(arena, 2, sizeof *nowhere);
    if (nowhere != NULL)
        nowhere[0] = jr_arena_strdup(arena, "/no/such/program");
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, environ);
    jr_env_unset(&env, "RANK");
    jr_strv_push(&env, arena, jr_arena_printf(arena, "RANK=%u", i));
    if (setup->path != NULL) {
        jr_env_unset(&env, "PATH");
        jr_strv_push(&env, arena, jr_arena_printf(arena, "PATH=%s", setup->path));
    }
    *rank = (struct jr_plan_rank){.rank = i,
                                  .local_rank = i,
                                  .argv = i == setup->missing ? nowhere : command,
                                  .env = env.items,
                                  .workdir = setup->workdir,
                                  .cpus = setup->cpus,
                                  .prefix = jr_arena_printf(arena, "[%u] ", i),
                                  .limited = setup->limit != NULL,
                                  .around = {"[", "] "},
                                  .on_console = i != setup->quiet,
                                  .out = sink_of(setup->out),
                                  .err = sink_of(setup->err),
                                  .dir = jr_arena_printf(arena, "attempt_0/%u", i),
                                  .out_path = jr_arena_printf(arena, "attempt_0/%u/stdout.log", i),
                                  .err_path = jr_arena_printf(arena, "attempt_0/%u/stderr.log", i)};
}

/* The words of `text` between commas. */
static char **split(struct jr_arena *arena, const char *text)
{
    struct jr_strv words = {0};
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ",");
        jr_strv_push(&words, arena, jr_arena_strndup(arena, text, len));
        text += len + (text[len] == ',');
    }
    return words.items;
}

static const char *end_word(enum jr_end end)
{
    static const char *const words[] = {"none", "start", "exited", "signaled"};
    return words[end];
}

static void print_outcome(FILE *to, const struct jr_outcome *outcome)
{
    (void)fprintf(to,
                  "run stop_signal=%d runner_signal=%d timed_out=%d console_failed=%d left=%u "
                  "hung=%d straggled=%d limits=%u text=%s\n",
                  outcome->stop_signal, outcome->runner_signal,
                  outcome->timed_out_by == JR_TIMEOUT_RUN, outcome->console_failed, outcome->left,
                  outcome->timed_out_by == JR_TIMEOUT_SILENCE,
                  outcome->timed_out_by == JR_TIMEOUT_AFTER_FIRST_EXIT, outcome->pattern_limits,
                  outcome->start_text);
    for (uint32_t i = 0; i < outcome->count; i++) {
        const struct jr_rank_outcome *rank = &outcome->ranks[i];
        static const char *const stages[] = {
#define STAGE_WORD(name, word, text) word,
            JR_STAGES(STAGE_WORD)};
        (void)fprintf(to,
                      "rank %u end=%s code=%d signal=%d stage=%s errno=%s "
                      "stopped_with=%d killed=%d order=%u log=%d:%d "
                      "dropped=%" PRIu64 ",%" PRIu64 " started=%d ended=%d rss=%d returned=%d "
                      "lingered=%d core=%d heard=%d\n",
                      i, end_word(rank->end), rank->exit_code, rank->signal, stages[rank->stage],
                      rank->start_errno == 0 ? "0" : strerrorname_np(rank->start_errno),
                      rank->stopped_with, rank->killed, rank->order, rank->log_errno != 0,
                      rank->log_errno, rank->dropped[0], rank->dropped[1], rank->pid > 0,
                      rank->ended_ns >= rank->started_ns, rank->max_rss_bytes > 0, rank->returned,
                      rank->lingered, rank->core_dumped, rank->heard_ns >= rank->started_ns);
    }
}

static int run_once(const struct setup *setup, const struct jr_plan *plan)
{
    struct jr_error err = {0};
    struct jr_outcome outcome;
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    if (jr_run_folder_create(&dir, setup->dir, setup->id, false, JR_LOG_PRIVATE, &err) != 0) {
        (void)fprintf(stderr, "rundriver: %s\n", err.text);
        return 7;
    }
    struct jr_group group = {0};
    if (setup->group != 0)
        jr_group_make(&group, setup->id);
    struct jr_run_options options = {
        .dir = &dir,
        .group = &group,
        .out_fd = fcntl(STDOUT_FILENO, F_GETFD) < 0 ? -1 : STDOUT_FILENO,
        .err_fd = fcntl(STDERR_FILENO, F_GETFD) < 0 ? -1 : STDERR_FILENO,
        .live = setup->live != 0,
        .color = setup->color != 0};
    jr_signals_ignored(&options.ignored);
    int result = jr_run(&outcome, plan, &options, &err);
    FILE *to = setup->outcome == NULL ? stderr : fopen(setup->outcome, "w");
    if (to != NULL && result == 0)
        print_outcome(to, &outcome);
    else if (to != NULL)
        (void)fprintf(to, "error %s\n", err.text);
    if (to != NULL)
        (void)fclose(to);
    if (result == 0)
        jr_outcome_release(&outcome);
    jr_group_remove(&group);
    jr_run_folder_close(&dir);
    return result == 0 ? 0 : 7;
}

static void set_limit(__rlimit_resource_t resource, uint32_t soft, uint32_t hard)
{
    struct rlimit limit;
    (void)getrlimit(resource, &limit);
    if (hard != 0)
        limit.rlim_max = hard;
    if (soft != 0)
        limit.rlim_cur = soft;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(resource, &limit);
}

int main(int argc, char **argv)
{
    struct setup setup = {.ranks = 1,
                          .quiet = UINT32_MAX,
                          .missing = UINT32_MAX,
                          .repeat = 1,
                          .dir = "runs",
                          .id = "run-0000",
                          .out = "inherit",
                          .err = "inherit",
                          .on_failure = "stop",
                          .target = "leader",
                          .policy = {.timeouts = {.stop_grace_ms = 30000},
                                     .on_hang = {.wait_ms = 10000},
                                     .console = {.partial_ms = 250}}};
    int command = read_options(&setup, argc, argv);
    if (command >= argc)
        return 2;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_plan plan = {
        .world_size = setup.ranks, .nodes = 1, .count = setup.ranks, .policy = &setup.policy};
    plan.returns = setup.returns != 0;
    plan.form = setup.python != 0 ? JR_FORM_PYTHON : JR_FORM_COMMAND;
    setup.policy.on_hang.signal = (char *)(uintptr_t)setup.ask;
    setup.policy.on_hang.command = split(&arena, setup.command);
    while (setup.command != NULL &&
           setup.policy.on_hang.command[setup.policy.on_hang.command_count] != NULL)
        setup.policy.on_hang.command_count++;
    plan.helper.argv = split(&arena, setup.helper);
    plan.helper.env = environ;
    plan.ranks = jr_arena_array(&arena, setup.ranks, sizeof(struct jr_plan_rank));
    for (uint32_t i = 0; plan.ranks != NULL && i < setup.ranks; i++)
        make_rank(&plan.ranks[i], i, &arena, &setup, argv + command);
    set_limit(RLIMIT_NOFILE, setup.nofile, setup.hard);
    set_limit(RLIMIT_FSIZE, setup.fsize, 0);
    int status = arena.failed ? 7 : 0;
    for (uint32_t i = 0; i < setup.repeat && status == 0; i++)
        status = run_once(&setup, &plan);
    jr_arena_release(&arena);
    return status;
}
