/*
 * jobrun explain: a diagnostic by its code, or a field by its path. Without a
 * word all fields are listed; a code's beginning (JR, JR03) lists codes. cli.h
 * declares it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "diag/codes.h"
#include "session/specs/spec_help.h"

#include "base/banned.h"

/* How much of a word that is nothing is repeated. */
enum { MAX_WORD = 64 };

static bool looks_like_code(const char *word)
{
    bool named = strncasecmp(word, "JR", 2) == 0;
    const char *digits = named ? word + 2 : word;
    return (named || digits[0] != '\0') &&
           strspn(digits, "0123456789") == strlen(digits);
}

/* The codes whose four digits begin with `digits`; whether there are any. */
static bool list_codes(struct jr_buf *out, const char *digits)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    for (size_t i = 0; i < count; i++) {
        JR_BUF_CLEANUP struct jr_buf number = JR_BUF_INIT;
        jr_buf_printf(&number, "%04u", codes[i].number);
        if (!number.failed && strncmp(number.data, digits, strlen(digits)) == 0)
            jr_buf_printf(out, "JR%s  %s\n", number.data, codes[i].title);
    }
    return out->len > 0;
}

static int explain_code(const struct jr_cli *cli, const char *word)
{
    struct jr_buf out = JR_BUF_INIT;
    uint32_t number;
    char name[16] = "";
    bool named = strncasecmp(word, "JR", 2) == 0;
    if (!named && jr_num_u32(word, &number))
        (void)snprintf(name, sizeof name, "%04u", number);
    const struct jr_code *code = jr_code_find(name[0] != '\0' ? name : word);
    if (code != NULL)
        jr_buf_printf(&out, "JR%04u: %s\n\n%s", code->number, code->title,
                      code->text);
    else if (!named || !list_codes(&out, word + 2))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "there is no diagnostic '%.*s'; jobrun explain JR "
                          "lists them",
                          MAX_WORD, word);
    return jr_cli_out(cli, &out);
}

static int explain_field(const struct jr_cli *cli, const char *word)
{
    struct jr_buf out = {.width = jr_cli_columns()};
    struct jr_error err = {0};
    if (jr_spec_help_field(&out, word, &err) != 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    return jr_cli_out(cli, &out);
}

int jr_cmd_explain(struct jr_cli *cli)
{
    struct jr_buf out = {.width = jr_cli_columns()};
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "explain takes one argument: what is '%.*s'?",
                          MAX_WORD, cli->words[1]);
    if (cli->words_count == 0) {
        jr_spec_help_list(&out);
        jr_buf_str(&out, "\n"
                         "jobrun explain FIELD describes one field, by its "
                         "path: parallelism.model\n"
                         "jobrun explain CODE describes a diagnostic; jobrun "
                         "explain JR lists them\n");
        return jr_cli_out(cli, &out);
    }
    const char *word = cli->words[0];
    return looks_like_code(word) ? explain_code(cli, word)
                                 : explain_field(cli, word);
}
