/* cli.h declares it. */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "generated/version.h"
#include "session/translate/translate.h"

#include "base/banned.h"

/* A column of texts beside the words needs so much room; else a text stands below its word. */
enum { OPTION_COLUMN = 26, VERB_COLUMN = 14, LEAST_TEXT = 30, BELOW = 10 };

/* The text of a row whose word begins at `start`. */
static void print_row_text(struct jr_buf *out, size_t start, size_t column, const char *text)
{
    size_t width = out->len - start;
    bool below = out->width < column + LEAST_TEXT;
    if (below)
        jr_buf_printf(out, "\n%*s", BELOW, "");
    else
        jr_buf_fill(out, ' ', width < column ? column - width : 1);
    jr_buf_phrases(out, text, below ? BELOW : column);
    jr_buf_char(out, '\n');
}

static void print_option(struct jr_buf *out, const struct jr_option *option, const char *verb)
{
    size_t start = out->len;
    if (option->letter != 0)
        jr_buf_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        jr_buf_printf(out, "      --%s", option->name);
    if (option->arg != NULL)
        jr_buf_printf(out, " %s", option->arg);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_option_describe(&text, option, verb);
    if (option->arg != NULL)
        jr_value_words(&text, option->arg, verb);
    print_row_text(out, start, OPTION_COLUMN, text.failed ? option->help : text.data);
}

static void print_options(struct jr_buf *out, const char *verb)
{
    jr_buf_str(out, "\noptions:\n");
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (verb == NULL ? row->verbs == NULL : jr_option_allowed(row, verb))
            print_option(out, row, verb != NULL ? verb : "");
}

static void print_word_row(struct jr_buf *out, const char *word, const char *help)
{
    size_t start = out->len;
    jr_buf_printf(out, "  %s", word);
    print_row_text(out, start, VERB_COLUMN, help);
}

/* Print the meaning of the words that may replace the capitals of a synopsis or of an option:
 * "formats:", one per line. */
static void print_words(struct jr_buf *out, const char *name, const char *verb)
{
    const struct jr_value *value = jr_value_find(name, verb);
    if (value == NULL || value->words == NULL || value->words->help == NULL)
        return;
    jr_buf_char(out, '\n');
    for (; *name != '\0'; name++)
        jr_buf_char(out, (char)tolower((unsigned char)*name));
    jr_buf_str(out, "s:\n");
    for (const struct jr_value_word *row = value->words; row->word; row++)
        print_word_row(out, row->word, row->help);
}

/* Paragraphs, wrapped. */
static void print_paragraphs(struct jr_buf *out, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf part = JR_BUF_INIT;
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t len = end != NULL ? (size_t)(end - text) : strlen(text);
        jr_buf_clear(&part);
        jr_buf_add(&part, text, len);
        jr_buf_char(out, '\n');
        jr_buf_wrapped(out, part.failed ? "" : part.data, 0);
        jr_buf_char(out, '\n');
        text += len + (end != NULL ? 2 : 0);
    }
}

static void print_verb(struct jr_buf *out, const struct jr_verb *verb)
{
    const struct jr_usage *usage = jr_usage_find(verb->name);
    struct jr_synopsis walk = {.at = verb->words};
    char name[JR_VALUE_NAME];
    jr_buf_printf(out, "usage: jobrun %s [OPTION...]%s%s\n", verb->name,
                  verb->words[0] != '\0' ? " " : "", verb->words);
    print_paragraphs(out, usage->text);
    print_options(out, verb->name);
    while (jr_synopsis_next(&walk, name))
        print_words(out, name, verb->name);
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (row->arg != NULL && jr_option_allowed(row, verb->name))
            print_words(out, row->arg, verb->name);
    if (strcmp(verb->name, "new") == 0) {
        JR_BUF_CLEANUP struct jr_buf names = JR_BUF_INIT;
        jr_launcher_names(&names);
        jr_buf_str(out, "\nlaunchers:\n  ");
        jr_buf_wrapped(out, names.failed ? "" : names.data, 2);
        jr_buf_char(out, '\n');
    }
    jr_buf_str(out, strchr(usage->example, '\n') != NULL ? "\nexamples:\n" : "\nexample:\n");
    for (const char *text = usage->example; *text != '\0';) {
        size_t len = strcspn(text, "\n");
        jr_buf_printf(out, "  %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
    jr_buf_str(out, "\nexit status: see jobrun --help\n");
}

static void print_program(struct jr_buf *out, bool all)
{
    jr_buf_str(out, "usage: jobrun [run] SPEC [-- ARG...]\n"
                    "       jobrun [run] -n N -- CMD...\n"
                    "       jobrun VERB ...\n");
    print_paragraphs(out, "jobrun reads a job spec, fills in missing values "
                          "from the hardware, launches the ranks, and succeeds "
                          "only if every rank delivers its result.");
    jr_buf_str(out, "\nverbs:\n");
    for (const struct jr_verb *verb = jr_verbs; verb->name != NULL; verb++)
        if (all || !(verb->flags & JR_VERB_RARE))
            print_word_row(out, verb->name, verb->help);
    print_options(out, NULL);
    jr_buf_str(out, "\nexit status:\n");
#define ROW(name, code, word, help) print_word_row(out, #code, help);
    JR_STATUSES(ROW)
#undef ROW
    print_word_row(out, "128+N", "jobrun was stopped by signal N");
    print_paragraphs(out, "`jobrun help VERB` describes one verb, `jobrun help --all` lists all "
                          "of them, and `jobrun explain` describes the fields of a spec.");
}

int jr_cmd_version(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "jobrun " JR_VERSION "\n");
    return jr_cli_out(cli, &out);
}

int jr_cmd_help(struct jr_cli *cli)
{
    struct jr_buf out = {.width = jr_cli_columns()};
    const struct jr_verb *verb = NULL;
    if (cli->help) {
        verb = cli->verb_stated ? cli->verb : NULL;
    } else if (cli->words_count > 0) {
        verb = jr_verb_find(cli->words[0]);
        if (verb == NULL || cli->words_count > 1)
            return jr_mistake_help(cli);
    }
    if (verb != NULL)
        print_verb(&out, verb);
    else
        print_program(&out, cli->all);
    return jr_cli_out(cli, &out);
}
