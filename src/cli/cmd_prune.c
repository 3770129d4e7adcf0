/* jobrun prune: old runs that have finished. cli.h declares it. */
#include <inttypes.h>

#include "base/num.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "record/prune.h"
#include "session/ended_submissions.h"

#include "base/banned.h"

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

int jr_cmd_prune(struct jr_cli *cli)
{
    struct jr_prune_options options = {0};
    struct jr_pruned pruned, submitted;
    struct jr_buf out = JR_BUF_INIT, bad = JR_BUF_INIT;
    struct jr_error err = {0};
    int status = read_prune_options(cli, &options);
    if (status != 0)
        return status;
    if (jr_records_prune(&pruned, &out, &bad, jr_cli_log_dir(cli), &options,
                         &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    jr_submissions_prune(&submitted, &out, &bad, jr_cli_log_dir(cli), &options,
                         cli->environ);
    status = jr_cli_out(cli, &out);
    jr_cli_err(cli, &bad);
    print_pruned(cli, &pruned);
    print_pruned_submissions(cli, &submitted);
    return pruned.failed + submitted.failed > 0 ? JR_STATUS_LAUNCH : status;
}
