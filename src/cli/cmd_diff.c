/* jobrun diff: two specs, or two runs, side by side. cli.h declares it. */
#include "cli/cmd_runs.h"
#include "cli/comparison.h"
#include "cli/diff_tree.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "report/compare_runs.h"
#include "session/findings_text.h"
#include "session/session.h"

#include "base/banned.h"

static int diff_runs(struct jr_comparison *comparison, const struct jr_cli *cli)
{
    const char *const ids[] = {comparison->a.run, comparison->b.run};
    struct jr_error err = {0};
    if (ids[0][0] == '\0' || ids[1][0] == '\0')
        return 0;
    if (jr_record_contrast(&comparison->runs, jr_cli_log_dir(cli), ids, &err) ==
        0)
        return 0;
    return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
}

static void note_unresolved(const struct jr_comparison *comparison,
                            const struct jr_cli *cli)
{
    const struct jr_side *sides[] = {&comparison->a, &comparison->b};
    for (size_t i = 0; i < 2; i++)
        if (!sides[i]->resolved && sides[i]->run[0] == '\0') {
            (void)jr_cli_say(
                cli, 0,
                "compared as they are written: one of them cannot be resolved "
                "%s (--on PROFILE: for another machine)",
                cli->on != NULL ? "there" : "on this machine");
            return;
        }
}

/* Load and compare; mistakes are reported. The facts need not be those of this
 * moment: no port is tried. */
static int compare_sides(struct jr_comparison *comparison,
                         const struct jr_cli *cli, struct jr_host hw,
                         struct jr_diags *diags)
{
    struct jr_error err = {0};
    hw.real = false;
    int status = jr_side_load(&comparison->a, cli, cli->words[0], diags);
    if (status == 0)
        status = jr_side_load(&comparison->b, cli, cli->words[1], diags);
    if (status != 0) {
        jr_cli_diags(cli, diags);
        return status;
    }
    jr_diags_release(diags);
    status = jr_comparison_make(comparison, &hw, diags, &err);
    if (status == JR_STATUS_INVALID)
        jr_cli_diags(cli, diags);
    else if (status != 0)
        (void)jr_cli_say(cli, status, "%s", err.text);
    return status != 0 ? status : diff_runs(comparison, cli);
}

static void add_comparison_json(struct jr_buf *out,
                                const struct jr_comparison *comparison)
{
    json_t *top = json_object();
    jr_json_set_int(top, "format_version", 1);
    json_t *body = jr_comparison_json(comparison);
    (void)json_object_update(top, body);
    json_decref(body);
    jr_json_print(out, top, 2);
    jr_buf_char(out, '\n');
    json_decref(top);
}

static int print_comparison(const struct jr_comparison *comparison,
                            const struct jr_cli *cli,
                            enum jr_diff_format format)
{
    struct jr_buf out = JR_BUF_INIT;
    if (format == JR_DIFF_JSON)
        add_comparison_json(&out, comparison);
    else if (format == JR_DIFF_MARKDOWN)
        jr_comparison_markdown(&out, comparison);
    else
        jr_comparison_text(&out, comparison);
    int status = jr_cli_out(cli, &out);
    if (status == 0 && cli->exit_code && jr_comparison_differs(comparison))
        status = JR_STATUS_FAILED;
    return status;
}

static int diff_two_sides(struct jr_cli *cli, enum jr_diff_format format)
{
    const struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_comparison comparison = JR_COMPARISON_INIT;
    int status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_facts(session, cli);
    if (status == 0)
        status =
            compare_sides(&comparison, cli, *jr_session_hw(session), &diags);
    if (status == 0) {
        note_unresolved(&comparison, cli);
        status = print_comparison(&comparison, cli, format);
    }
    jr_diags_release(&diags);
    jr_comparison_release(&comparison);
    jr_session_close(session);
    return status;
}

int jr_cmd_diff(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", "markdown", NULL};
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    if (cli->rev != NULL)
        return jr_diff_tree(cli, (enum jr_diff_format)format);
    if (cli->words_count == 2)
        return diff_two_sides(cli, (enum jr_diff_format)format);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "diff needs two arguments: jobrun diff A B (files, "
                      "REV:FILE or runs), or jobrun diff --rev REV FOLDER");
}
