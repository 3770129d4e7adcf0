/* jobrun runs: what runs there are, from their folders alone; and jobrun prune,
 * which removes old ones. cli.h declares them. */
#include "cli/cmd_runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "cli/cli.h"
#include "cli/mistaken_values.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "record/prune.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "record/run_list.h"
#include "session/ended_submissions.h"
#include "session/sweep/show_sweep.h"

#include "base/banned.h"

const char *jr_cli_log_dir(const struct jr_cli *cli)
{
    return cli->log_dir != NULL ? cli->log_dir : "runs";
}

void jr_cli_say_whose(const struct jr_cli *cli, const char *id)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    if (jr_record_folder_doubt(&line, jr_cli_log_dir(cli), id) && !line.failed)
        (void)jr_cli_say(cli, 0, "note: %s", line.data);
}

int jr_cli_ranks(const struct jr_cli *cli, struct jr_arena *arena,
                 struct jr_set *ret)
{
    const char *bad;
    *ret = (struct jr_set){.all = true};
    if (cli->ranks == NULL || jr_set_parse(ret, arena, cli->ranks, &bad))
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "--rank wants ranks like 0-3,8, not '%s'", cli->ranks);
}

static void print_record(struct jr_buf *out, const struct jr_record *record)
{
    JR_BUF_CLEANUP struct jr_buf took = JR_BUF_INIT, step = JR_BUF_INIT;
    char started[32];
    jr_clock_rfc3339(started, jr_clock_ns_of(record->started));
    jr_clock_human(&took, jr_clock_ns_of(record->seconds));
    jr_record_step(&step, record);
    jr_buf_printf(out, "%-13s ", record->status);
    if (record->finished)
        jr_buf_printf(out, "%4d", record->exit_code);
    else
        jr_buf_str(out, "   -");
    jr_buf_printf(out, "  %7u  %.19sZ  %-12s  %-11s  %s", record->world_size,
                  started, took.data, step.data, record->id);
    if (record->has_code) {
        jr_buf_str(out, "  (code: ");
        jr_record_size(out, record->code_bytes);
        jr_buf_char(out, ')');
    }
    if (!jr_trust_is_ours(&record->trust)) {
        jr_buf_str(out, "  (");
        jr_trust_explain(out, &record->trust);
        jr_buf_char(out, ')');
    }
    jr_buf_char(out, '\n');
}

static json_t *record_json(const struct jr_record *record)
{
    json_t *object = json_object();
    jr_json_set_str(object, "run_id", record->id);
    jr_json_set_str(object, "name", record->name);
    jr_json_set_str(object, "status", record->status);
    if (record->finished)
        jr_json_set_int(object, "exit_code", record->exit_code);
    else
        jr_json_set_null(object, "exit_code");
    jr_json_set_real(object, "started", record->started);
    jr_json_set_real(object, "seconds", record->seconds);
    jr_json_set_int(object, "world_size", record->world_size);
    jr_json_set(object, "progress",
                record->progress == NULL ? json_null()
                                         : json_incref(record->progress));
    if (record->has_code)
        jr_json_set_int(object, "code_bytes", (json_int_t)record->code_bytes);
    else
        jr_json_set_null(object, "code_bytes");
    jr_json_set_bool(object, "trusted", jr_trust_is_ours(&record->trust));
    return object;
}

static void print_runs_table(struct jr_buf *out,
                             const struct jr_records *records)
{
    jr_buf_printf(out, "%-13s %4s  %7s  %-20s  %-12s  %-11s  %s\n", "status",
                  "exit", "ranks", "started", "took", "step", "run");
    for (size_t i = 0; i < records->count; i++)
        print_record(out, &records->items[i]);
}

static void print_runs_json(struct jr_buf *out,
                            const struct jr_records *records)
{
    json_t *top = json_object(), *list = json_array();
    jr_json_set_int(top, "format_version", 1);
    for (size_t i = 0; i < records->count; i++)
        jr_json_append(list, record_json(&records->items[i]));
    jr_json_set(top, "runs", list);
    jr_json_print(out, top, 2);
    jr_buf_char(out, '\n');
    json_decref(top);
}

/* Whether `run` is the beginning of several ids, which the error names. */
static bool is_beginning(const struct jr_records *records, const char *run)
{
    bool any = false;
    for (size_t i = 0; i < records->count; i++)
        any = any || strncmp(records->items[i].id, run, strlen(run)) == 0;
    return any;
}

/* No run is meant: say so, and show the newest ones. */
static int refuse_run(const struct jr_cli *cli, const char *run,
                      const struct jr_error *err)
{
    enum { MOST_SHOWN = 5 };
    struct jr_buf out = JR_BUF_INIT;
    struct jr_records records = JR_RECORDS_INIT;
    (void)jr_records_list(&records, jr_cli_log_dir(cli), NULL);
    jr_sweeps_add(&records, jr_cli_log_dir(cli), cli->environ);
    struct jr_records newest = records;
    if (is_beginning(&records, run))
        newest.count = 0;
    if (newest.count > MOST_SHOWN)
        newest.count = MOST_SHOWN;
    jr_buf_str(&out, "jobrun: ");
    jr_buf_escaped(&out, err->text, strlen(err->text));
    jr_buf_str(&out, newest.count == 0               ? "\n"
                     : newest.count == records.count ? "; the runs are:\n"
                                                     : "; the newest are:\n");
    if (newest.count > 0)
        print_runs_table(&out, &newest);
    jr_records_release(&records);
    jr_cli_err(cli, &out);
    return JR_STATUS_USAGE;
}

static const char *named_run(const struct jr_cli *cli)
{
    return cli->words_count > 0 ? cli->words[0] : "latest";
}

bool jr_cli_find_sweep(const struct jr_cli *cli, char ret_id[static 256])
{
    const char *run = named_run(cli);
    return cli->words_count < 2 && strchr(run, '/') == NULL &&
           jr_sweep_find(ret_id, jr_cli_log_dir(cli), run);
}

/* The words mean a sweep: take its cell. */
static int find_cell(struct jr_cli *cli, char ret_id[static 256])
{
    struct jr_error err = {0};
    const char *run = named_run(cli), *cell = strchr(run, '/');
    const char *log_dir = jr_cli_log_dir(cli);
    char sweep[256];
    char *folder = NULL;
    (void)memcpy(sweep, ret_id, sizeof sweep);
    if (cell == NULL)
        return jr_cli_say(
            cli, JR_STATUS_USAGE,
            "%s is a sweep of %zu cells: name one of them, jobrun "
            "%s %s/0; `jobrun show %s` lists them",
            sweep, jr_sweep_count_cells(log_dir, sweep), cli->verb->name, run,
            run);
    if (jr_sweep_find_cell(&folder, ret_id, log_dir, sweep, cell + 1, &err) !=
        0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    cli->sweep_dir = jr_arena_strdup(&cli->arena, log_dir);
    cli->sweep_id = jr_arena_strdup(&cli->arena, sweep);
    cli->log_dir = jr_arena_strdup(&cli->arena, folder);
    free(folder);
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    if (jr_record_find(sweep, cli->log_dir, ret_id, NULL) == 0)
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE, "cell %s has not begun", run);
}

int jr_cli_find_run(struct jr_cli *cli, char ret_id[static 256])
{
    struct jr_error err = {0};
    if (cli->words_count > 1 &&
        jr_option_allowed(jr_option_by_name("rank", 4), cli->verb->name))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "give one run only: what is '%s'? (ranks: jobrun %s "
                          "%s --rank %s)",
                          cli->words[1], cli->verb->name, cli->words[0],
                          cli->words[1]);
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "give one run only: what is '%s'?", cli->words[1]);
    const char *run = named_run(cli);
    if (jr_sweep_find(ret_id, jr_cli_log_dir(cli), run))
        return find_cell(cli, ret_id);
    if (jr_record_find(ret_id, jr_cli_log_dir(cli), run, &err) != 0)
        return refuse_run(cli, run, &err);
    return 0;
}

int jr_cmd_runs(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct jr_records records = JR_RECORDS_INIT;
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    if (jr_records_list(&records, jr_cli_log_dir(cli), &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    jr_sweeps_add(&records, jr_cli_log_dir(cli), cli->environ);
    if (format == 1)
        print_runs_json(&out, &records);
    else if (records.count == 0)
        (void)jr_cli_say(cli, 0,
                         "no runs in '%s' (--log-dir DIR: another folder)",
                         jr_cli_log_dir(cli));
    else
        print_runs_table(&out, &records);
    jr_records_release(&records);
    return jr_cli_out(cli, &out);
}

/* jobrun prune: old runs that have finished. */

enum { KEEP = 50 }; /* runs, where nothing was said */

static int read_prune_options(const struct jr_cli *cli,
                              struct jr_prune_options *ret)
{
    ret->dry = cli->dry_run;
    ret->code = cli->code;
    ret->keep = cli->older == NULL && !cli->code ? KEEP : 0;
    if (cli->keep != NULL)
        ret->keep = *cli->keep;
    if (cli->older != NULL && !jr_num_duration(cli->older, &ret->older_ms))
        return jr_mistake_time(cli, "older", cli->older, "30d or 12h");
    return 0;
}

static void print_pruned(const struct jr_cli *cli,
                         const struct jr_pruned *pruned)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_printf(&out, "jobrun: %s %s%u run%s",
                  cli->dry_run ? "would remove" : "removed",
                  cli->code ? "the copied code of " : "", pruned->removed,
                  pruned->removed == 1 ? "" : "s");
    if (pruned->bytes > 0)
        jr_buf_printf(&out, " (%" PRIu64 " KiB)", pruned->bytes / 1024);
    jr_buf_printf(&out, ", kept %u", pruned->kept);
    if (pruned->unfinished > 0)
        jr_buf_printf(&out, "; %u that %s not finished %s left alone",
                      pruned->unfinished,
                      pruned->unfinished == 1 ? "has" : "have",
                      pruned->unfinished == 1 ? "was" : "were");
    if (pruned->foreign > 0)
        jr_buf_printf(&out, "; %u of other users %s left alone",
                      pruned->foreign, pruned->foreign == 1 ? "was" : "were");
    jr_buf_char(&out, '\n');
    jr_cli_err(cli, &out);
}

static void print_pruned_submissions(const struct jr_cli *cli,
                                     const struct jr_pruned *pruned)
{
    struct jr_buf out = JR_BUF_INIT;
    if (pruned->removed + pruned->unfinished == 0)
        return;
    jr_buf_printf(&out, "jobrun: %s the frozen code of %u submitted job%s",
                  cli->dry_run ? "would remove" : "removed", pruned->removed,
                  pruned->removed == 1 ? "" : "s");
    if (pruned->bytes > 0)
        jr_buf_printf(&out, " (%" PRIu64 " KiB)", pruned->bytes / 1024);
    if (pruned->unfinished > 0)
        jr_buf_printf(&out, "; that of %u was left alone", pruned->unfinished);
    jr_buf_char(&out, '\n');
    jr_cli_err(cli, &out);
}

/* A sweep counts as one run. */
static void add_pruned(struct jr_pruned *to, const struct jr_pruned *sweeps)
{
    to->removed += sweeps->removed;
    to->kept += sweeps->kept;
    to->unfinished += sweeps->unfinished;
    to->foreign += sweeps->foreign;
    to->failed += sweeps->failed;
    to->bytes += sweeps->bytes;
}

int jr_cmd_prune(struct jr_cli *cli)
{
    struct jr_prune_options options = {0};
    struct jr_pruned pruned, submitted;
    struct jr_buf out = JR_BUF_INIT, bad = JR_BUF_INIT;
    struct jr_error err = {0};
    int status = read_prune_options(cli, &options);
    if (status != 0)
        return status;
    struct jr_pruned sweeps = {0};
    if (!cli->code)
        jr_sweeps_prune(&sweeps, &out, &bad, jr_cli_log_dir(cli), &options,
                        cli->environ);
    if (jr_records_prune(&pruned, &out, &bad, jr_cli_log_dir(cli), &options,
                         &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    add_pruned(&pruned, &sweeps);
    jr_submissions_prune(&submitted, &out, &bad, jr_cli_log_dir(cli), &options,
                         cli->environ);
    status = jr_cli_out(cli, &out);
    jr_cli_err(cli, &bad);
    print_pruned(cli, &pruned);
    print_pruned_submissions(cli, &submitted);
    return pruned.failed + submitted.failed > 0 ? JR_STATUS_LAUNCH : status;
}
