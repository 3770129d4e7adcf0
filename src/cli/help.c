#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/placeholders.h"
#include "cli/translate/translate.h"
#include "cli/verbs.h"

#include "base/banned.h"

enum { OPTION_COLUMN = 26, VERB_COLUMN = 14 };

static void pad_help_column(struct jr_buf *out, size_t start, size_t column)
{
    size_t width = out->len - start;
    jr_buf_fill(out, ' ', width < column ? column - width : 1);
}

static void print_option(struct jr_buf *out, const struct jr_option *option,
                         const char *verb)
{
    size_t start = out->len;
    if (option->letter != 0)
        jr_buf_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        jr_buf_printf(out, "      --%s", option->name);
    if (option->arg != NULL)
        jr_buf_printf(out, " %s", option->arg);
    pad_help_column(out, start, OPTION_COLUMN);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, option->help);
    if (option->arg != NULL)
        jr_value_words(&text, option->arg, verb);
    jr_buf_wrapped(out, text.failed ? option->help : text.data, OPTION_COLUMN);
    jr_buf_char(out, '\n');
}

static void print_options(struct jr_buf *out, const char *verb)
{
    jr_buf_str(out, "\noptions:\n");
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (verb == NULL ? row->verbs == NULL : jr_option_allowed(row, verb))
            print_option(out, row, verb != NULL ? verb : "");
}

static void print_verbs(struct jr_buf *out)
{
    jr_buf_str(out,
               "usage: jobrun [run] SPEC [-- ARG...]\n"
               "       jobrun [run] -n N -- CMD...\n"
               "       jobrun VERB ...\n\n"
               "jobrun reads a job spec, fills in missing values from the "
               "hardware, launches the\n"
               "ranks, and succeeds only if every rank delivers its result."
               "\n\n"
               "verbs:\n");
    for (const struct jr_verb *verb = jr_verbs; verb->name != NULL; verb++) {
        size_t start = out->len;
        jr_buf_printf(out, "  %s", verb->name);
        pad_help_column(out, start, VERB_COLUMN);
        jr_buf_wrapped(out, verb->help, VERB_COLUMN);
        jr_buf_char(out, '\n');
    }
}

static void print_statuses(struct jr_buf *out)
{
    jr_buf_str(out, "\nexit status:\n");
#define ROW(name, code, word, help)                                            \
    jr_buf_printf(out, "  %d  %s\n", code, help);
    JR_STATUSES(ROW)
#undef ROW
    jr_buf_str(out, "  128+N  jobrun was stopped by signal N\n");
}

/* Print the meaning of the words that may replace the capitals of a synopsis or
 * of an option: "formats:", one per line. */
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
        jr_buf_printf(out, "  %-*s%s\n", VERB_COLUMN - 2, row->word, row->help);
}

static void print_legends(struct jr_buf *out, const struct jr_verb *verb)
{
    struct jr_synopsis walk = {.at = verb->words};
    char name[JR_VALUE_NAME];
    while (jr_synopsis_next(&walk, name))
        print_words(out, name, verb->name);
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (row->arg != NULL && jr_option_allowed(row, verb->name))
            print_words(out, row->arg, verb->name);
}

static void print_launchers(struct jr_buf *out)
{
    JR_BUF_CLEANUP struct jr_buf names = JR_BUF_INIT;
    jr_launcher_names(&names);
    jr_buf_str(out, "\nlaunchers:\n  ");
    jr_buf_wrapped(out, names.failed ? "" : names.data, 2);
    jr_buf_char(out, '\n');
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

/* Print lines, each after two blanks. */
static void print_lines(struct jr_buf *out, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        jr_buf_printf(out, "  %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void print_verb(struct jr_buf *out, const struct jr_verb *verb)
{
    const struct jr_usage *usage = jr_usage_find(verb->name);
    jr_buf_printf(out, "usage: jobrun %s [OPTION...]%s%s\n", verb->name,
                  verb->words[0] != '\0' ? " " : "", verb->words);
    print_paragraphs(out, usage->text);
    print_options(out, verb->name);
    print_legends(out, verb);
    if (verb->run == jr_cmd_new)
        print_launchers(out);
    jr_buf_str(out, strchr(usage->example, '\n') != NULL ? "\nexamples:\n"
                                                         : "\nexample:\n");
    print_lines(out, usage->example);
    jr_buf_str(out, "\nexit status: see jobrun --help\n");
}

void jr_cli_help(struct jr_buf *out, const struct jr_verb *verb)
{
    if (verb != NULL) {
        print_verb(out, verb);
        return;
    }
    print_verbs(out);
    print_options(out, NULL);
    print_statuses(out);
    jr_buf_str(out, "\njobrun VERB --help describes one verb, and\n"
                    "jobrun explain describes the fields of a spec.\n");
}
