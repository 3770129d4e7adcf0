/*
 * jobrun validate: check specs, on a machine that has none of the hardware; resolve those that name
 * targets, and all with --on, against those machines. Executes nothing, and reads no environment
 * but what --allow-env names; what else comes from there is unknown, and judged by nothing.
 * Findings are the verb's data and go to standard output; the exit status is the lowest of what the
 * files got, 0 aside.
 *
 * And the other verb about files of specs: diff. cli.h declares them.
 */
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "session/specs/check_specs.h"
#include "session/specs/diff_specs.h"

#include "base/banned.h"

/* Without an environment but for --allow-env. */
static struct jr_check_options check_options(const struct jr_cli *cli)
{
    static char *const nothing[] = {NULL};
    return (struct jr_check_options){
        .sets = cli->sets.items,
        .sweeps = cli->sweeps.items,
        .cell = cli->cell,
        .root = cli->root,
        .environ = cli->environ,
        .allow_env = cli->allow_env.count > 0 ? cli->allow_env.items : nothing,
        .on = cli->on,
        .strict = cli->strict,
    };
}

/* Say what was fixed, unless nothing is to be said of specs that are good. */
static void print_fixes(const struct jr_cli *cli, struct jr_buf *told)
{
    if (!cli->quiet)
        jr_cli_err(cli, told);
    else
        jr_buf_release(told);
}

/* Fix the spec on standard input and print it; it is kept to be checked, for it cannot be read
 * again. */
static int fix_stdin(struct jr_spec_checks *checks, const struct jr_cli *cli)
{
    struct jr_buf told = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_fix_input(&checks->input, &told, STDIN_FILENO, &checks->options, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_INVALID, "stdin: %s", err.text);
    struct jr_buf copy = {.failed = told.failed};
    jr_buf_add(&copy, checks->input.data, checks->input.len);
    copy.failed |= checks->input.failed;
    int status = jr_cli_out(cli, &copy);
    if (status == 0)
        print_fixes(cli, &told);
    else
        jr_buf_release(&told);
    return status;
}

/* Fix all before any is checked: the findings of one may lie in another. Returns the exit status, 0
 * to continue. */
static int fix_found_specs(struct jr_spec_checks *checks, const struct jr_cli *cli,
                           bool *ret_unfixed)
{
    bool input = false;
    for (int i = 0; i < cli->words_count; i++)
        input |= strcmp(cli->words[i], "-") == 0;
    if (input && cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "with --fix, - must be the only spec, because the "
                          "fixed spec goes to standard output");
    if (input)
        return fix_stdin(checks, cli);
    for (size_t i = 0; i < checks->finds.count; i++) {
        const struct jr_found_specs *found = &checks->finds.items[i];
        struct jr_buf told = JR_BUF_INIT;
        struct jr_error err = {0};
        if (found->why != NULL || found->guessed)
            continue;
        if (jr_fix_file(&told, found->path, &checks->options, &err) != 0) {
            (void)jr_cli_say(cli, 0, "%s: not fixed: %s", found->path, err.text);
            *ret_unfixed = true;
        }
        print_fixes(cli, &told);
    }
    return 0;
}

/* Print what was found, beside a spec that went to standard output. CI services see files from the
 * top of the checkout. */
static int print_checks(const struct jr_spec_checks *checks, const struct jr_cli *cli,
                        enum jr_diag_format format, bool unfixed)
{
    bool beside = checks->input.data != NULL;
    JR_FREE char *cwd = getcwd(NULL, 0);
    JR_FREE char *top = cwd == NULL ? NULL : jr_io_find_above(cwd, ".git");
    struct jr_diag_report report = {
        .diags = &checks->diags,
        .files = checks->files,
        .files_count = checks->files_count,
        .root = top == NULL ? cwd : top,
        .cwd = cwd,
        .strict = checks->options.strict,
        .color = beside ? cli->color_err : cli->color_out,
    };
    struct jr_buf out = {.width = jr_cli_message_columns(beside ? STDERR_FILENO : STDOUT_FILENO),
                         .failed = checks->arena.failed || checks->status == JR_STATUS_LAUNCH};
    bool valid = jr_diag_report_valid(&report);
    if (!valid || !cli->quiet)
        jr_diags_report(&out, &report, format);
    int printed = 0;
    if (beside)
        jr_cli_err(cli, &out);
    else
        printed = jr_cli_out(cli, &out);
    if (valid)
        return unfixed ? JR_STATUS_LAUNCH : printed;
    return (int)checks->status;
}

/* Check what the words mean, and fix it before with --fix. */
static int validate_words(struct jr_spec_checks *checks, const struct jr_cli *cli,
                          enum jr_diag_format format)
{
    bool unfixed = false;
    int status = 0;
    jr_find_specs(&checks->finds, &checks->arena, cli->words, cli->words_count, cli->environ);
    if (cli->fix)
        status = fix_found_specs(checks, cli, &unfixed);
    if (status != 0)
        return status;
    /* Specs come and go, by the hundred, and the memory of one does for the next: it is not given
     * back to the kernel in between. */
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
    jr_spec_checks_run(checks);
    status = print_checks(checks, cli, format, unfixed);
    size_t passed = checks->finds.passed; /* files of a folder that are taken for no specs */
    if (passed > 0 && !cli->quiet)
        (void)jr_cli_say(cli, 0,
                         "%zu other YAML file%s passed over: the top level "
                         "does not have `version` and another field of a spec",
                         passed, passed == 1 ? " was" : "s were");
    return status;
}

#define WORD(name, word, help) #word,

int jr_cmd_validate(struct jr_cli *cli)
{
    static const char *const formats[] = {JR_DIAG_FORMATS(WORD) NULL};
    const struct jr_check_options options = check_options(cli);
    struct jr_spec_checks checks;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    if (cli->words_count == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "no spec is given: jobrun validate FILE or FOLDER...");
    int status = (int)jr_spec_checks_open(&checks, &options);
    if (checks.arena.failed)
        (void)jr_cli_say(cli, status, "out of memory");
    else if (status != 0)
        jr_cli_diags(cli, &checks.diags);
    else
        status = validate_words(&checks, cli, (enum jr_diag_format)format);
    jr_spec_checks_release(&checks);
    return status;
}

/* jobrun diff: two specs, or two runs, side by side; or the specs of a folder beside those of a
 * revision. */

static void note_diff_line(void *data, const char *line)
{
    (void)jr_cli_say(data, 0, "%s", line);
}

/* Print what differs, or why that is not known. */
static int conclude_diff(const struct jr_cli *cli, struct jr_diff *diff, enum jr_status status,
                         const struct jr_error *err)
{
    if (status == JR_STATUS_OK) {
        int printed = jr_cli_out(cli, &diff->text);
        return printed != 0                      ? printed
               : diff->invalid                   ? JR_STATUS_INVALID
               : cli->exit_code && diff->differs ? JR_STATUS_FAILED
                                                 : 0;
    }
    if (err->text[0] != '\0')
        (void)jr_cli_say(cli, (int)status, "%s", err->text);
    jr_cli_diags(cli, &diff->diags);
    return (int)status;
}

static int diff_two_words(struct jr_cli *cli, const struct jr_diff_options *options)
{
    const struct jr_session_options settings = jr_stage_options(cli);
    struct jr_session *session = NULL;
    struct jr_error err = {0};
    int status = jr_stage_open(&session, cli, &settings);
    if (status == 0)
        status = jr_stage_facts(session, cli);
    if (status == 0) {
        struct jr_diff diff;
        enum jr_status made = jr_diff_two(&diff, session, cli->words, options, &err);
        status = conclude_diff(cli, &diff, made, &err);
        jr_diff_release(&diff);
    }
    jr_session_close(session);
    return status;
}

int jr_cmd_diff(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", "markdown", NULL};
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    const struct jr_diff_options options = {
        .format = (enum jr_diff_format)format,
        .width = jr_cli_message_columns(STDOUT_FILENO),
        .log_dir = jr_cli_log_dir(cli),
        .environ = cli->environ,
        .rev = cli->rev,
        .code = cli->code,
        .on = cli->on,
        .note = note_diff_line,
        .data = cli,
    };
    if (cli->rev != NULL) {
        struct jr_diff diff;
        struct jr_error err = {0};
        enum jr_status made = jr_diff_tree(&diff, cli->words, cli->words_count, &options, &err);
        int status = conclude_diff(cli, &diff, made, &err);
        jr_diff_release(&diff);
        return status;
    }
    if (cli->words_count == 2)
        return diff_two_words(cli, &options);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "diff needs two arguments: jobrun diff A B (files, "
                      "REV:FILE or runs), or jobrun diff --rev REV FOLDER");
}
