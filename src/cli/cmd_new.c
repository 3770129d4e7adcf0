/*
 * jobrun new: a commented starter spec, or another launcher's command line as
 * one. What the line said and no spec can say is named in the spec's comments,
 * and on standard error. cli.h declares it.
 */
#include <string.h>

#include "base/shell_words.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/placeholders.h"
#include "cli/schema_file.h"
#include "session/specs/starter_specs.h"
#include "session/translate/print_spec.h"
#include "session/translate/translate.h"

#include "base/banned.h"

/* There is no such starter: all that there are, and the nearest. */
static int refuse_kind(const struct jr_cli *cli, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *near = jr_value_near("KIND", word);
    for (const struct jr_starter_spec *row = jr_starter_specs; row->word; row++)
        jr_buf_printf(&text, "%s%s", text.len == 0 ? "" : ", ", row->word);
    if (near != NULL)
        jr_buf_printf(&text, "; did you mean 'jobrun new %s'?", near);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "there is no starter '%s'; there are %s", word,
                      text.failed ? "" : text.data);
}

/* The spec to standard output, or to the file of --output, and beside that what
 * its first line names. */
static int deliver_spec(const struct jr_cli *cli, struct jr_buf *spec)
{
    int status = jr_cli_deliver(cli, spec);
    return status != 0 || cli->output == NULL ? status
                                              : jr_schema_file_add(cli);
}

static int print_starter(const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    const char *word = cli->words_count == 0 ? NULL : cli->words[0];
    const struct jr_starter_spec *starter = jr_starter_spec_find(word);
    if (starter != NULL) {
        jr_starter_spec_print(&out, starter);
        return deliver_spec(cli, &out);
    }
    return refuse_kind(cli, word);
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

static int print_translation(const struct jr_cli *cli,
                             struct jr_translation *translation)
{
    struct jr_buf out = JR_BUF_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    if (translation->help != NULL) {
        out.width = jr_cli_columns();
        jr_launcher_print(&out, translation->help);
        return jr_cli_out(cli, &out);
    }
    if (jr_translation_print(&out, translation, &diags) != 0) {
        jr_cli_diags(cli, &diags);
        jr_diags_release(&diags);
        jr_buf_release(&out);
        return jr_cli_say(cli, JR_STATUS_USAGE, "the line contradicts itself");
    }
    jr_diags_release(&diags);
    print_notes_to_stderr(cli, translation);
    return deliver_spec(cli, &out);
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

/* A line that is not in quotes, or a file without -o: the line to type. */
static int refuse_words(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (cli->from == NULL) {
        jr_buf_printf(&text, "new %s -o ", cli->words[0]);
        jr_shell_quote(&text, cli->words[1]);
    } else {
        jr_shell_quote(&line, cli->from);
        for (int i = 0; i < cli->words_count; i++) {
            jr_buf_char(&line, ' ');
            jr_shell_quote(&line, cli->words[i]);
        }
        jr_buf_str(&text, "new --from ");
        if (!line.failed)
            jr_shell_quote(&text, line.data);
    }
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s; type: jobrun %s",
                      cli->from == NULL ? "new writes to the file of -o"
                                        : "--from wants the line in quotes",
                      text.failed ? "new --help" : text.data);
}

/* Whether the words are those of a line without quotes, or a kind and a file.
 */
static bool are_mistaken(const struct jr_cli *cli)
{
    const char *first = cli->words[0];
    bool kind = cli->words_count > 0 && jr_starter_spec_find(first) != NULL;
    if (cli->rest != NULL)
        return false;
    if (cli->from != NULL)
        return cli->words_count > 0 && !kind && strchr(cli->from, ' ') == NULL;
    return cli->words_count == 2 && kind && cli->output == NULL &&
           strpbrk(cli->words[1], "./") != NULL;
}

int jr_cmd_new(struct jr_cli *cli)
{
    if (are_mistaken(cli))
        return refuse_words(cli);
    if (cli->words_count > 1 || cli->rest != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "jobrun new [KIND], or jobrun new --from LINE");
    if (cli->words_count == 1 && cli->from != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "give a KIND or --from, not both");
    return cli->from != NULL ? translate_line(cli) : print_starter(cli);
}
