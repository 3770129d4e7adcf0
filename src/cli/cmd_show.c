/* jobrun show: how a run went, and what its ranks are doing. cli.h declares it.
 */
#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "record/record_code.h"
#include "report/show.h"
#include "report/watch_ranks.h"

#include "base/banned.h"

static void stacks_json(struct jr_buf *out, const char *id, json_t *stacks)
{
    json_t *top = json_object();
    jr_json_set_int(top, "format_version", 1);
    jr_json_set_str(top, "run_id", id);
    json_object_set(top, "ranks", stacks);
    jr_json_print(out, top, 2);
    jr_buf_char(out, '\n');
    json_decref(top);
}

static int show_stacks(struct jr_cli *cli, const char *id, bool json)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    struct jr_set ranks;
    int status = jr_cli_ranks(cli, &arena, &ranks);
    const struct jr_stacks_view view = {.ranks = &ranks,
                                        .attempt = cli->attempt};
    json_t *stacks =
        status != 0 ? NULL : jr_stacks_of(jr_cli_log_dir(cli), id, &view, &err);
    jr_arena_release(&arena);
    if (status != 0)
        return status;
    if (stacks == NULL)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    if (json)
        stacks_json(&out, id, stacks);
    else if (json_array_size(stacks) == 0)
        (void)jr_cli_say(cli, 0,
                         "no such rank is running, and none left a hang.json");
    else
        jr_stacks_print(&out, stacks);
    json_decref(stacks);
    return jr_cli_out(cli, &out);
}

/* Where the copy is that the ranks executed; one line for each node that has
 * its own. */
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

int jr_cmd_show(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", NULL};
    char id[256];
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    int format = jr_cli_format(cli, formats);
    int status = format < 0 ? JR_STATUS_USAGE : jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    if (cli->code)
        return show_code(cli, id);
    if (cli->stacks)
        return show_stacks(cli, id, format == 1);
    if (cli->ranks != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "show takes --rank only with --stacks");
    const struct jr_record_view view = {.attempt = cli->attempt,
                                        .color = cli->color_out};
    const char *log_dir = jr_cli_log_dir(cli);
    int failed = format == 1
                     ? jr_record_results(&out, log_dir, id, cli->attempt, &err)
                     : jr_record_show(&out, log_dir, id, &view, &err);
    if (failed)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    return jr_cli_out(cli, &out);
}
