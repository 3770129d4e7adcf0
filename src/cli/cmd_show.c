/* The verbs that show a run: how it went and what its ranks are doing (show), what it came to
 * (report), what its ranks wrote (logs) and do (top). cli.h declares them. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "cli/cli.h"
#include "record/live_run.h"
#include "record/record_code.h"
#include "report/follow_logs.h"
#include "report/show.h"
#include "report/top.h"
#include "session/foreground.h"
#include "session/sweep/show_sweep.h"

#include "base/banned.h"

static void stacks_json(struct jr_buf *out, const char *id, json_t *stacks)
{
    json_auto_t *top = json_object();
    jr_json_set_int(top, "format_version", 1);
    jr_json_set_str(top, "run_id", id);
    json_object_set(top, "ranks", stacks);
    jr_json_print(out, top, 2);
    jr_buf_char(out, '\n');
}

static int show_stacks(struct jr_cli *cli, const char *id, bool json)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    struct jr_set ranks;
    int status = jr_cli_ranks(cli, &arena, &ranks);
    json_t *stacks = NULL;
    if (status == 0)
        stacks = jr_stacks_of(jr_cli_log_dir(cli), id, &ranks, cli->attempt, &err);
    jr_arena_release(&arena);
    if (status != 0)
        return status;
    if (stacks == NULL)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    if (json)
        stacks_json(&out, id, stacks);
    else if (json_array_size(stacks) == 0)
        (void)jr_cli_say(cli, 0, "no such rank is running, and none left a hang.json");
    else
        jr_stacks_print(&out, stacks);
    json_decref(stacks);
    return jr_cli_out(cli, &out);
}

/* Where the copy is that the ranks executed; one line for each node that has its own. */
static int show_code(struct jr_cli *cli, const char *id)
{
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    if (jr_record_code_folders(&out, jr_cli_log_dir(cli), id, &err) != 0) {
        jr_buf_release(&out);
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    }
    return jr_cli_out(cli, &out);
}

/* The table of a sweep, to standard output or to --output. */
static int show_sweep(struct jr_cli *cli, const char *id, enum jr_row_format format)
{
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    const struct jr_sweep_view view = {
        .format = format,
        .sort = cli->sort,
        .columns = cli->columns,
        .top = cli->top_value,
        .word = cli->words_count > 0 ? cli->words[0] : "latest",
    };
    if (jr_sweep_show(&out, jr_cli_log_dir(cli), id, &view, &err) == 0) {
        if (format == JR_ROWS_TEXT && cli->output == NULL)
            jr_cli_fit(&out, STDOUT_FILENO);
        return jr_cli_deliver(cli, &out);
    }
    jr_buf_release(&out);
    return jr_cli_say(cli, (int)err.status, "%s", err.text);
}

/* What only the table of a sweep has. */
static int check_table_options(const struct jr_cli *cli, int format)
{
    const char *option = format > JR_ROWS_JSON  ? "--format csv or markdown"
                         : cli->sort != NULL    ? "--sort"
                         : cli->columns != NULL ? "--columns"
                         : cli->top != NULL     ? "--top"
                                                : NULL;
    return option == NULL
               ? 0
               : jr_cli_say(cli, JR_STATUS_USAGE,
                            "%s is for the table of a sweep, and this is one run", option);
}

/* What only one run has. */
static int check_run_options(const struct jr_cli *cli, const char *id)
{
    const char *option = cli->stacks            ? "--stacks"
                         : cli->code            ? "--code"
                         : cli->ranks != NULL   ? "--rank"
                         : cli->attempt != NULL ? "--attempt"
                                                : NULL;
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT, first = JR_BUF_INIT, typed = JR_BUF_INIT;
    jr_buf_printf(&first, "%s/0", id);
    return option == NULL
               ? 0
               : jr_cli_say(cli, JR_STATUS_USAGE,
                            "%s is for one run, and %s is a sweep: name one of its "
                            "cells, jobrun show %s; `jobrun show %s` lists them",
                            option, id,
                            jr_cli_run_words(&typed, cli, first.failed ? id : first.data),
                            jr_cli_run_words(&whole, cli, id));
}

int jr_cmd_show(struct jr_cli *cli)
{
    char id[256];
    int format = jr_cli_table_format(cli);
    if (format >= 0 && jr_cli_find_sweep(cli, id)) {
        int refused = check_run_options(cli, id);
        return refused != 0 ? refused : show_sweep(cli, id, (enum jr_row_format)format);
    }
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    int status = format < 0 ? JR_STATUS_USAGE : check_table_options(cli, format);
    if (status == 0)
        status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    if (cli->code)
        return show_code(cli, id);
    if (cli->stacks)
        return show_stacks(cli, id, format == 1);
    if (cli->ranks != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE, "show takes --rank only with --stacks");
    const char *log_dir = jr_cli_log_dir(cli);
    int failed = format == 1
                     ? jr_record_results(&out, log_dir, id, cli->attempt, &err)
                     : jr_record_show(&out, log_dir, id, cli->attempt, cli->color_out, &err);
    if (failed)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    if (format != 1)
        jr_cli_fit(&out, STDOUT_FILENO);
    return jr_cli_out(cli, &out);
}

/* jobrun report: what a run came to, as lines or as one HTML file. */

/* Append how to get from the folder `from` to `to`, both absolute and folded:
 * "../runs/ID". */
static void add_relative_path(struct jr_buf *out, const char *from, const char *to)
{
    size_t same = 0;
    for (size_t i = 0;; i++) {
        bool end = from[i] == '\0' || from[i] == '/';
        if (end && (to[i] == '\0' || to[i] == '/'))
            same = i;
        if (from[i] != to[i] || from[i] == '\0')
            break;
    }
    for (const char *at = from + same; *at != '\0'; at++)
        if (*at == '/' && at[1] != '\0')
            jr_buf_str(out, "../");
    const char *rest = to + same + strspn(to + same, "/");
    jr_buf_str(out, *rest == '\0' ? "." : rest);
}

/* The run folder as the report's links name it. 0 or -1. */
static int find_run_link(struct jr_buf *out, const struct jr_cli *cli, const char *id)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_BUF_CLEANUP struct jr_buf run = JR_BUF_INIT, folder = JR_BUF_INIT;
    if (cli->output != NULL && strchr(cli->output, '/') != NULL)
        jr_buf_add(&folder, cli->output, (size_t)(strrchr(cli->output, '/') - cli->output) + 1);
    else
        jr_buf_char(&folder, '.');
    jr_buf_printf(&run, "%s/%s", jr_cli_log_dir(cli), id);
    if (here == NULL || run.failed || folder.failed)
        return -1;
    JR_FREE char *from = jr_io_absolute(here, folder.data);
    JR_FREE char *to = jr_io_absolute(here, run.data);
    if (from == NULL || to == NULL)
        return -1;
    add_relative_path(out, from, to);
    return 0;
}

static int report_sweep(struct jr_cli *cli, const char *id, bool html)
{
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf way = JR_BUF_INIT;
    if (!html)
        return show_sweep(cli, id, JR_ROWS_TEXT);
    if (find_run_link(&way, cli, id) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "cannot find the path from here to the sweep's folder");
    if (jr_sweep_page(&out, jr_cli_log_dir(cli), id, way.data, &err) == 0)
        return jr_cli_deliver(cli, &out);
    jr_buf_release(&out);
    return jr_cli_say(cli, (int)err.status, "%s", err.text);
}

int jr_cmd_report(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "html", NULL};
    char id[256];
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf way = JR_BUF_INIT;
    int format = jr_cli_format(cli, formats);
    if (format >= 0 && jr_cli_find_sweep(cli, id))
        return report_sweep(cli, id, format == 1);
    int status = format < 0 ? JR_STATUS_USAGE : jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    if (find_run_link(&way, cli, id) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "cannot find the path from here to the run folder");
    struct jr_record_report_view look = {
        .html = format == 1,
        .color = cli->color_out && cli->output == NULL,
        .base = way.data,
        .name = jr_cli_run_name(cli, id),
    };
    if (jr_record_report(&out, jr_cli_log_dir(cli), id, &look, &err) != 0) {
        jr_buf_release(&out);
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    }
    if (format != 1 && cli->output == NULL)
        jr_cli_fit(&out, STDOUT_FILENO);
    return jr_cli_deliver(cli, &out);
}

/* jobrun logs: what the ranks wrote, to standard output. */

static void note_log(void *data, const char *line)
{
    (void)jr_cli_say(data, 0, "%s", line);
}

static int print_logs(struct jr_cli *cli, const char *id, const struct jr_set *ranks)
{
    const struct jr_logs_view view = {
        .ranks = ranks,
        .attempt = cli->attempt,
        .tail = cli->tail,
        .follow = cli->follow,
        .terminal = isatty(STDOUT_FILENO) == 1,
        .color = cli->color_out,
        .note = note_log,
        .data = cli,
    };
    struct jr_error err = {0};
    if (jr_logs_print(STDOUT_FILENO, jr_cli_log_dir(cli), id, &view, &err) == 0)
        return 0;
    return jr_cli_say(cli, (int)err.status, "%s", err.text);
}

/* Those of which the end alone is here, unless that is what is wanted. */
static void fetch_logs(struct jr_cli *cli, const char *id, const struct jr_set *ranks)
{
    const struct jr_fetch_logs wanted = {.log_dir = jr_cli_log_dir(cli),
                                         .id = id,
                                         .ranks = ranks,
                                         .attempt = cli->attempt,
                                         .envp = cli->environ,
                                         .note = note_log,
                                         .data = cli};
    jr_fetch_logs(&wanted);
}

int jr_cmd_logs(struct jr_cli *cli)
{
    char id[256];
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set ranks;
    int status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    status = jr_cli_ranks(cli, &arena, &ranks);
    if (status == 0) {
        if (cli->tail == NULL)
            fetch_logs(cli, id, &ranks);
        status = print_logs(cli, id, &ranks);
    }
    return status;
}

/* jobrun top: the ranks of a run that goes on, until it ends. Of a run in parts it is the ranks of
 * one that runs here. */

static int watch_run(const struct jr_cli *cli, const char *id, const struct jr_live *live)
{
    const struct jr_top_watch watch = {.log_dir = jr_cli_log_dir(cli),
                                       .id = id,
                                       .in = STDIN_FILENO,
                                       .out = STDOUT_FILENO,
                                       .terminal = cli->moves_cursor,
                                       .once = cli->once};
    struct jr_error err = {0};
    int signal = 0;
    if (jr_watch_ranks(&watch, live, &signal, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    if (signal == 0)
        return 0;
    (void)raise(signal); /* the terminal is as it was before */
    return 128 + signal;
}

int jr_cmd_top(struct jr_cli *cli)
{
    char id[256];
    struct jr_live live;
    struct jr_error err = {0};
    int status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    if (jr_live_open(&live, jr_cli_log_dir(cli), id, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s", err.text);
    if (live.standing == JR_STANDING_RUNNING)
        status = watch_run(cli, id, &live);
    else if (live.standing != JR_STANDING_FINISHED)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "%s has no results, and is not running here",
                            jr_cli_run_name(cli, id));
    jr_live_close(&live);
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    if (status == 0 && jr_live_open(&live, jr_cli_log_dir(cli), id, NULL) == 0) {
        if (live.standing == JR_STANDING_FINISHED)
            (void)jr_cli_say(cli, 0, "%s has ended: %s (jobrun show %s)", jr_cli_run_name(cli, id),
                             live.status, jr_cli_run_words(&typed, cli, jr_cli_run_name(cli, id)));
        jr_live_close(&live);
    }
    return status;
}
