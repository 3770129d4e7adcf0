/*
 * jobrun explain: a diagnostic by its code, or a field by its path. Without a
 * word all fields are listed; a code's beginning (JR, JR03) lists codes. cli.h
 * declares it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "spec/manual.h"

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

/* Append the paths whose last word this is: "min" is results.fields.*.min. */
static void same_end(struct jr_buf *out, const char **paths, const char *word)
{
    for (; *paths != NULL; paths++) {
        const char *dot = strrchr(*paths, '.');
        if (dot != NULL && strcmp(dot + 1, word) == 0)
            jr_buf_printf(out, "%s'%s'", out->len > 0 ? " or " : "", *paths);
    }
}

static int unknown_field(const struct jr_cli *cli, const char *word)
{
    const char *foreign = jr_field_foreign(word);
    if (foreign != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "'%s' is called '%s' here: jobrun explain %s", word,
                          foreign, foreign);
    const char *needless = jr_field_needless(word);
    if (needless != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE, "there is no field '%s': %s",
                          word, needless);
    struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf help = JR_BUF_INIT;
    const char **paths = jr_field_paths(&arena);
    if (paths != NULL)
        same_end(&help, paths, word);
    const char *near = paths != NULL ? jr_did_you_mean(word, paths) : NULL;
    if (help.len == 0 && near != NULL)
        jr_buf_printf(&help, "'%s'", near);
    jr_arena_release(&arena);
    if (help.len > 0 && !help.failed)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "there is no field '%s'; did you mean %s?", word,
                          help.data);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "there is no field or code '%.*s'; jobrun explain lists "
                      "the fields",
                      MAX_WORD, word);
}

/* The field of a path as a finding shows it: [2] is an item of a list. */
static const struct jr_spec_field *find_field(const char *word)
{
    struct jr_arena arena = JR_ARENA_INIT;
    char *path = jr_arena_strndup(&arena, word, strcspn(word, "["));
    const struct jr_spec_field *field = NULL;
    if (path != NULL)
        field = jr_field_find(path);
    jr_arena_release(&arena);
    return field;
}

int jr_cmd_explain(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "explain takes one argument: what is '%.*s'?",
                          MAX_WORD, cli->words[1]);
    if (cli->words_count == 0) {
        jr_field_list(&out);
        jr_buf_str(&out, "\n"
                         "jobrun explain FIELD describes one field, by its "
                         "path: parallelism.model\n"
                         "jobrun explain CODE describes a diagnostic; jobrun "
                         "explain JR lists them\n");
        return jr_cli_out(cli, &out);
    }
    const char *word = cli->words[0];
    if (looks_like_code(word))
        return explain_code(cli, word);
    const struct jr_spec_field *field = find_field(word);
    if (field == NULL)
        return unknown_field(cli, word);
    jr_field_explain(&out, field);
    return jr_cli_out(cli, &out);
}
