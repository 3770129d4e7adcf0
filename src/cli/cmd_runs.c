/* jobrun runs: what runs there are, from their folders alone; and jobrun prune, which removes old
 * ones. cli.h declares them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/did_you_mean.h"
#include "base/shell_words.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "record/prune.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "record/run_list.h"
#include "session/submission.h"
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

int jr_cli_table_format(const struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", "csv", "markdown", NULL};
    bool table = cli->format != NULL && strcmp(cli->format, "table") == 0;
    return table && !cli->json ? JR_ROWS_TEXT : jr_cli_format(cli, formats);
}

int jr_cli_ranks(const struct jr_cli *cli, struct jr_arena *arena, struct jr_set *ret)
{
    const char *bad;
    *ret = (struct jr_set){.all = true};
    if (cli->ranks == NULL || jr_set_parse(ret, arena, cli->ranks, &bad))
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE, "--rank wants ranks like 0-3,8, not '%s'", cli->ranks);
}

/* Keep the runs whose ids begin with `run`; all of them where none does. */
static void keep_candidates(struct jr_records *records, const char *run)
{
    size_t kept = 0, len = strlen(run);
    for (size_t i = 0; i < records->count; i++) {
        struct jr_record record = records->items[i];
        if (strncmp(record.id, run, len) != 0)
            continue;
        records->items[i] = records->items[kept];
        records->items[kept++] = record;
    }
    if (kept > 0)
        records->count = kept;
}

/* What may be meant by a word that no run is called by. */
static void add_meant_run(struct jr_buf *out, const struct jr_cli *cli, const char *run)
{
    static const char *const latest[] = {"latest", NULL};
    const char *verb = cli->verb->name;
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    if (strcmp(run, latest[0]) == 0 || strchr(run, '/') != NULL)
        return; /* there is none at all, or it is a part that is missing */
    if (strcmp(run, "last") == 0 || strcmp(run, "newest") == 0 ||
        jr_did_you_mean(run, latest) != NULL)
        jr_buf_str(out, " (did you mean latest?)");
    else if (run[0] != '\0' && strspn(run, "0123456789") == strlen(run) &&
             strcmp(verb, "logs") == 0)
        jr_buf_printf(out, " (rank %s: jobrun logs %s --rank %s)", run,
                      jr_cli_run_words(&typed, cli, "latest"), run);
    else if (jr_near_file_is_yaml(run) && access(run, F_OK) == 0)
        jr_buf_str(out, " (that is a spec; a run is called by its id)");
}

/* No run is meant, or several are: say so, and show the newest ones. */
static int refuse_run(const struct jr_cli *cli, const char *run, const struct jr_error *err)
{
    enum { MOST_SHOWN = 5 };
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_buf out = {.width = jr_cli_message_columns(STDERR_FILENO)};
    struct jr_records records = JR_RECORDS_INIT;
    (void)jr_records_list(&records, jr_cli_log_dir(cli), NULL);
    jr_sweeps_add(&records, jr_cli_log_dir(cli), cli->environ);
    struct jr_records shown = records;
    keep_candidates(&shown, run);
    size_t count = shown.count;
    if (shown.count > MOST_SHOWN)
        shown.count = MOST_SHOWN;
    if (count > 1 && strncmp(shown.items[0].id, run, strlen(run)) == 0)
        jr_buf_printf(&text, "'%s' is the beginning of %zu runs", run, count);
    else
        jr_buf_str(&text, err->text);
    add_meant_run(&text, cli, run);
    jr_buf_str(&text, count == 0            ? ""
                      : shown.count < count ? "; the newest are:"
                                            : "; the runs are:");
    jr_cli_add_message(&out, text.failed ? err->text : text.data);
    jr_buf_char(&out, '\n');
    if (shown.count > 0)
        jr_runs_print(&out, &shown);
    jr_records_release(&records);
    jr_cli_err(cli, &out);
    return JR_STATUS_USAGE;
}

static const char *named_run(const struct jr_cli *cli)
{
    return cli->words_count > 0 ? cli->words[0] : "latest";
}

const char *jr_cli_run_name(const struct jr_cli *cli, const char *id)
{
    return cli->cell_name != NULL ? cli->cell_name : id;
}

const char *jr_cli_run_words(struct jr_buf *out, const struct jr_cli *cli, const char *name)
{
    jr_record_words(out, cli->sweep_dir != NULL ? cli->sweep_dir : jr_cli_log_dir(cli), name);
    return out->failed ? name : out->data;
}

bool jr_cli_find_sweep(const struct jr_cli *cli, char ret_id[static 256])
{
    const char *run = named_run(cli);
    return cli->words_count < 2 && strchr(run, '/') == NULL &&
           jr_sweep_find(ret_id, jr_cli_log_dir(cli), run);
}

bool jr_cli_find_far_cell(struct jr_cli *cli, struct jr_far_cell *ret)
{
    const char *run = named_run(cli), *cell = strchr(run, '/');
    const char *log_dir = jr_cli_log_dir(cli);
    char sweep[256], id[256];
    char *dir = NULL;
    if (cli->words_count > 1 || cell == NULL || !jr_sweep_find(sweep, log_dir, run) ||
        jr_sweep_find_cell(&dir, id, log_dir, sweep, cell + 1, NULL) != 0)
        return false;
    *ret =
        (struct jr_far_cell){jr_arena_strdup(&cli->arena, dir), jr_arena_strdup(&cli->arena, id)};
    free(dir);
    return !cli->arena.failed && jr_far_cell_runs(ret);
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
    if (cell == NULL) {
        JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT, first = JR_BUF_INIT, typed = JR_BUF_INIT;
        jr_buf_printf(&first, "%s/0", run);
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "%s is a sweep of %zu cells: name one of them, jobrun "
                          "%s %s; `jobrun show %s` lists them",
                          sweep, jr_sweep_count_cells(log_dir, sweep), cli->verb->name,
                          jr_cli_run_words(&typed, cli, first.failed ? run : first.data),
                          jr_cli_run_words(&whole, cli, run));
    }
    if (jr_sweep_find_cell(&folder, ret_id, log_dir, sweep, cell + 1, &err) != 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    cli->sweep_dir = jr_arena_strdup(&cli->arena, log_dir);
    cli->sweep_id = jr_arena_strdup(&cli->arena, sweep);
    cli->cell_name = jr_arena_printf(&cli->arena, "%s/%s", sweep, ret_id + strspn(ret_id, "0"));
    if (strspn(ret_id, "0") == strlen(ret_id))
        cli->cell_name = jr_arena_printf(&cli->arena, "%s/0", sweep);
    cli->log_dir = jr_arena_strdup(&cli->arena, folder);
    free(folder);
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    if (jr_sweep_check_begun(cli->log_dir, ret_id, run, cli->verb->name, &err) == 0)
        return 0;
    return jr_cli_say(cli, (int)err.status, "%s", err.text);
}

static bool is_rank_set(const char *word)
{
    return isdigit((unsigned char)word[0]) && word[strspn(word, "0123456789,-/")] == '\0';
}

int jr_cli_find_run(struct jr_cli *cli, char ret_id[static 256])
{
    struct jr_error err = {0};
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    if (cli->words_count > 1 && is_rank_set(cli->words[1]) &&
        jr_option_allowed(jr_option_by_name("rank", 4), cli->verb->name))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "give one run only: what is '%s'? (ranks: jobrun %s %s --rank %s)",
                          cli->words[1], cli->verb->name,
                          jr_cli_run_words(&typed, cli, cli->words[0]), cli->words[1]);
    if (cli->words_count > 1 && jr_line_is_setting(cli->words[1]) &&
        strcmp(cli->verb->name, "rerun") == 0) {
        jr_shell_quote(&typed, cli->words[1]);
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "a run is repeated as it was; to change it, type: jobrun SPEC -s %s",
                          typed.failed ? cli->words[1] : typed.data);
    }
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE, "give one run only: what is '%s'?", cli->words[1]);
    const char *run = named_run(cli);
    if (jr_sweep_find(ret_id, jr_cli_log_dir(cli), run))
        return find_cell(cli, ret_id);
    if (jr_record_find(ret_id, jr_cli_log_dir(cli), run, &err) != 0)
        return refuse_run(cli, run, &err);
    return 0;
}

int jr_cmd_runs(struct jr_cli *cli)
{
    struct jr_error err = {0};
    struct jr_buf out = {.width = jr_cli_message_columns(STDOUT_FILENO)};
    int format = jr_cli_table_format(cli);
    if (format < 0)
        return JR_STATUS_USAGE;
    const struct jr_runs_view view = {.format = (enum jr_row_format)format,
                                      .columns = cli->columns,
                                      .sort = cli->sort,
                                      .where = cli->where,
                                      .top = cli->top_value,
                                      .cells = cli->cells,
                                      .environ = cli->environ};
    if (jr_runs_list(&out, jr_cli_log_dir(cli), &view, &err) != 0) {
        jr_buf_release(&out);
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    }
    if (out.len == 0 && !out.failed)
        (void)jr_cli_say(cli, 0, "no runs in '%s' (--log-dir DIR: another folder)",
                         jr_cli_log_dir(cli));
    return jr_cli_out(cli, &out);
}

/* jobrun prune: old runs that have finished. */

enum { KEEP = 50 }; /* runs, where nothing was said */

static int read_prune_options(const struct jr_cli *cli, struct jr_prune_options *ret)
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

static void print_pruned(const struct jr_cli *cli, const struct jr_pruned *pruned)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_printf(&out, "jobrun: %s %s%u run%s", cli->dry_run ? "would remove" : "removed",
                  cli->code ? "the copied code of " : "", pruned->removed,
                  pruned->removed == 1 ? "" : "s");
    if (pruned->bytes > 0)
        jr_buf_printf(&out, " (%" PRIu64 " KiB)", pruned->bytes / 1024);
    jr_buf_printf(&out, ", kept %u", pruned->kept);
    if (pruned->unfinished > 0)
        jr_buf_printf(&out, "; %u that %s not finished %s left alone", pruned->unfinished,
                      pruned->unfinished == 1 ? "has" : "have",
                      pruned->unfinished == 1 ? "was" : "were");
    if (pruned->foreign > 0)
        jr_buf_printf(&out, "; %u of other users %s left alone", pruned->foreign,
                      pruned->foreign == 1 ? "was" : "were");
    jr_buf_char(&out, '\n');
    jr_cli_err(cli, &out);
}

static void print_pruned_submissions(const struct jr_cli *cli, const struct jr_pruned *pruned)
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
        jr_sweeps_prune(&sweeps, &out, &bad, jr_cli_log_dir(cli), &options, cli->environ);
    if (jr_records_prune(&pruned, &out, &bad, jr_cli_log_dir(cli), &options, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    add_pruned(&pruned, &sweeps);
    jr_submissions_prune(&submitted, &out, &bad, jr_cli_log_dir(cli), &options, cli->environ);
    status = jr_cli_out(cli, &out);
    jr_cli_err(cli, &bad);
    print_pruned(cli, &pruned);
    print_pruned_submissions(cli, &submitted);
    return pruned.failed + submitted.failed > 0 ? JR_STATUS_LAUNCH : status;
}
