/*
 * jobrun new: a commented starter spec, or another launcher's command line as
 * one. What the line said and no spec can say is named in the spec's comments,
 * and on standard error. cli.h declares it.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/starter_specs.h"
#include "cli/translate/print_spec.h"
#include "cli/translate/translate.h"
#include "spec/load.h"

#include "base/banned.h"

static int print_starter(const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    const char *word = cli->words_count == 0 ? NULL : cli->words[0];
    const struct jr_starter_spec *starter = jr_starter_spec_find(word);
    if (starter != NULL) {
        jr_starter_spec_print(&out, starter);
        return jr_cli_deliver(cli, &out);
    }
    for (starter = jr_starter_specs; starter->word != NULL; starter++)
        jr_buf_printf(&out, "%s%s", out.len == 0 ? "" : ", ", starter->word);
    int status = jr_cli_say(cli, JR_STATUS_USAGE,
                            "there is no starter '%s'; there are %s", word,
                            out.data == NULL ? "" : out.data);
    jr_buf_release(&out);
    return status;
}

/* Say on standard error what the spec leaves out or says otherwise. */
static void print_notes_to_stderr(const struct jr_cli *cli,
                                  const struct jr_translation *translation)
{
    for (size_t i = 0; i < translation->notes_count; i++) {
        const struct jr_note *note = &translation->notes[i];
        if (note->verdict == JR_VERDICT_NEEDLESS)
            continue;
        (void)jr_cli_say(cli, 0, "'%s' %s: %s", note->what,
                         note->verdict == JR_VERDICT_LOST
                             ? "has no counterpart"
                             : "is not quite the same",
                         note->why);
    }
}

/* The reader of specs has the last word on what the line said. */
static int check_translation(const struct jr_cli *cli,
                             const struct jr_buf *text)
{
    struct jr_diags diags = {0};
    struct jr_spec_file *file = NULL;
    int status =
        jr_spec_load_text(&file, "--from", "/", text->data, text->len, &diags);
    if (status != 0)
        jr_cli_diags(cli, &diags);
    jr_diags_release(&diags);
    jr_spec_free(file);
    return status == 0 ? 0
                       : jr_cli_say(cli, JR_STATUS_USAGE,
                                    "the line contradicts itself");
}

static int print_translation(const struct jr_cli *cli,
                             const struct jr_translation *translation)
{
    struct jr_buf out = JR_BUF_INIT;
    if (translation->help != NULL) {
        jr_launcher_print(&out, translation->help);
        return jr_cli_out(cli, &out);
    }
    jr_translation_print(&out, translation);
    int status = out.failed ? 0 : check_translation(cli, &out);
    if (status != 0) {
        jr_buf_release(&out);
        return status;
    }
    print_notes_to_stderr(cli, translation);
    return jr_cli_deliver(cli, &out);
}

static int translate_line(const struct jr_cli *cli)
{
    struct jr_translation translation;
    struct jr_error err;
    int status = jr_translate(&translation, cli->from, &err) != 0
                     ? jr_cli_say(cli, (int)err.status, "%s", err.text)
                     : print_translation(cli, &translation);
    jr_translation_release(&translation);
    return status;
}

int jr_cmd_new(struct jr_cli *cli)
{
    if (cli->words_count > 1 || cli->rest != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "jobrun new [KIND], or jobrun new --from LINE");
    if (cli->words_count == 1 && cli->from != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "give a KIND or --from, not both");
    return cli->from != NULL ? translate_line(cli) : print_starter(cli);
}
