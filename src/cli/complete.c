#include "cli/complete.h"

#include <string.h>

#include "cli/options.h"
#include "cli/placeholders.h"
#include "cli/verbs.h"
#include "diag/codes.h"
#include "record/run_list.h"
#include "spec/manual.h"

#include "base/banned.h"

/* The line up to its last word, and that word. */
struct line {
    struct jr_buf *out;
    const struct jr_verb *verb;
    bool verb_stated;
    unsigned positions;              /* words before it, without the verb */
    const struct jr_option *pending; /* whose value the word is */
    bool rest;                       /* it is after "--" */
    const char *log_dir;
    const char *word; /* or the value in it */
    const char *lead; /* "--format=", before each candidate */
    size_t lead_len;
};

/* One candidate, if it begins as the word does. */
static void offer_candidate(const struct line *line, const char *word,
                            const char *help)
{
    if (strncmp(word, line->word, strlen(line->word)) != 0)
        return;
    jr_buf_add(line->out, line->lead, line->lead_len);
    jr_buf_str(line->out, word);
    if (help != NULL && help[0] != '\0')
        jr_buf_printf(line->out, "\t%s", help);
    jr_buf_char(line->out, '\n');
}

static void offer_words(const struct line *line,
                        const struct jr_value_word *words)
{
    for (; words != NULL && words->word != NULL; words++)
        offer_candidate(line, words->word, words->help);
}

/* A name that no shell has to quote, and that moves no cursor. */
static bool is_plain_name(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789._-")] ==
           '\0';
}

static void offer_runs(const struct line *line)
{
    struct jr_records records = JR_RECORDS_INIT;
    if (jr_records_list(&records, line->log_dir, NULL) != 0)
        return;
    if (records.count > 0)
        offer_candidate(line, "latest", "the last run");
    for (size_t i = 0; i < records.count; i++)
        if (is_plain_name(records.items[i].id))
            offer_candidate(line, records.items[i].id, records.items[i].status);
    jr_records_release(&records);
}

static void offer_codes(const struct line *line)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    for (size_t i = 0; i < count && line->word[0] == 'J'; i++) {
        JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
        jr_buf_printf(&name, "JR%04u", codes[i].number);
        if (!name.failed)
            offer_candidate(line, name.data, codes[i].title);
    }
}

/* Words of a field's value; "custom" is followed by a name. */
static void offer_equals(const struct line *line, const char *path,
                         const struct jr_spec_word *words)
{
    for (; words != NULL && words->word != NULL; words++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_buf_printf(&text, "%s=%s", path, words->word);
        bool whole = strcmp(words->word, "custom") != 0;
        if (!text.failed && whole)
            offer_candidate(line, text.data, words->help);
    }
}

/* What `field=` may continue with. */
static void offer_setting_values(const struct line *line, const char *path,
                                 const struct jr_spec_field *field)
{
    static const struct jr_spec_word booleans[] = {
        {"true", NULL}, {"false", NULL}, {0}};
    static const struct jr_spec_word missing[] = {{"auto", "filled by jobrun"},
                                                  {0}};
    offer_equals(line, path, jr_field_words(field->type));
    if (field->type->kind == JR_KIND_BOOLEAN)
        offer_equals(line, path, booleans);
    if (field->need == JR_NEED_RESOLVED)
        offer_equals(line, path, missing);
}

/* Fields as they are set: "nodes=", and once that is typed, what may follow. */
static void offer_setting(const struct line *line, const char *path,
                          const struct jr_spec_field *field)
{
    if (field->since == NULL || strchr(path, '*') != NULL)
        return;
    size_t len = strlen(path);
    if (strncmp(line->word, path, len) == 0 && line->word[len] == '=') {
        offer_setting_values(line, path, field);
        return;
    }
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s=", path);
    if (!text.failed)
        offer_candidate(line, text.data, field->help);
}

static void offer_fields(const struct line *line, bool as_settings)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    for (; paths != NULL && *paths != NULL; paths++) {
        const struct jr_spec_field *field = jr_field_find(*paths);
        if (as_settings)
            offer_setting(line, *paths, field);
        else
            offer_candidate(line, *paths, field->help);
    }
    jr_arena_release(&arena);
}

/* All candidates for a word in capitals. */
static void offer_value(const struct line *line, const char *name)
{
    const struct jr_value *value = jr_value_find(name, line->verb->name);
    unsigned kinds = value != NULL ? value->kinds : 0;
    if (kinds & JR_VALUE_WORD)
        offer_words(line, value->words);
    if (kinds & JR_VALUE_RUN)
        offer_runs(line);
    if (kinds & JR_VALUE_FIELD)
        offer_fields(line, false);
    if (kinds & JR_VALUE_SETTING)
        offer_fields(line, true);
    if (kinds & JR_VALUE_CODE)
        offer_codes(line);
    if (kinds & JR_VALUE_SPEC)
        jr_buf_str(line->out, "@spec\n");
    if (kinds & JR_VALUE_FILE)
        jr_buf_str(line->out, "@file\n");
    if (kinds & JR_VALUE_FOLDER)
        jr_buf_str(line->out, "@folder\n");
}

/* A word that is no option: a verb, or what the synopsis has there. */
static void offer_position(const struct line *line)
{
    const struct jr_verb *verb = jr_verbs;
    if (!line->verb_stated && line->positions == 0)
        for (; verb->name != NULL; verb++)
            offer_candidate(line, verb->name, verb->help);
    struct jr_synopsis walk = {.at = line->verb->words};
    char name[JR_VALUE_NAME];
    while (jr_synopsis_next(&walk, name))
        if (walk.position == line->positions ||
            (walk.many && walk.position < line->positions))
            offer_value(line, name);
}

static void offer_options(const struct line *line)
{
    for (const struct jr_option *row = jr_options; row->name != NULL; row++) {
        JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
        jr_buf_printf(&name, "--%s", row->name);
        if (!name.failed && jr_option_allowed(row, line->verb->name))
            offer_candidate(line, name.data, row->help);
    }
}

static const struct jr_option *find_long(const char *name, size_t len)
{
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (strlen(row->name) == len && memcmp(row->name, name, len) == 0)
            return row;
    return NULL;
}

static const struct jr_option *find_letter(char letter)
{
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (row->letter == letter)
            return row;
    return NULL;
}

/* The option with a value in a word: --name, --name=value, or the last of a
 * cluster of letters. *ret_value is that value; NULL when it is the next word.
 */
static const struct jr_option *find_option(const char *word,
                                           const char **ret_value)
{
    const struct jr_option *row = NULL;
    const char *end = word + 1;
    if (word[1] == '-') {
        size_t len = strcspn(word + 2, "=");
        row = find_long(word + 2, len);
        end = word + 2 + len + (word[2 + len] == '=');
    } else {
        while (*end != '\0' && (row == NULL || row->arg == NULL))
            row = find_letter(*end++);
    }
    bool takes = row != NULL && row->arg != NULL;
    *ret_value = takes && (*end != '\0' || end[-1] == '=') ? end : NULL;
    return takes ? row : NULL;
}

static void take_value(struct line *line, const struct jr_option *option,
                       const char *value)
{
    if (strcmp(option->name, "log-dir") == 0)
        line->log_dir = value;
}

/* A word before the last. */
static void take_word(struct line *line, const char *word)
{
    const char *value = NULL;
    if (line->pending != NULL) {
        take_value(line, line->pending, word);
        line->pending = NULL;
    } else if (strcmp(word, "--") == 0) {
        line->rest = true;
    } else if (word[0] == '-' && word[1] != '\0') {
        const struct jr_option *option = find_option(word, &value);
        if (option != NULL && value != NULL)
            take_value(line, option, value);
        else
            line->pending = option;
    } else if (!line->verb_stated && line->positions == 0 &&
               jr_verb_find(word) != NULL) {
        line->verb = jr_verb_find(word);
        line->verb_stated = true;
    } else {
        line->positions++;
    }
}

/* The option whose value the last word is, or holds; NULL: it is not one. */
static const struct jr_option *valued_option(struct line *line)
{
    const char *value = NULL;
    const struct jr_option *option = NULL;
    if (line->pending != NULL || line->word[0] != '-')
        return line->pending;
    option = find_option(line->word, &value);
    if (value == NULL)
        return NULL;
    line->lead = line->word;
    line->lead_len = (size_t)(value - line->word);
    line->word = value;
    return option;
}

void jr_complete(struct jr_buf *out, char *const *words, const char *log_dir)
{
    struct line line = {.out = out,
                        .verb = jr_verbs,
                        .log_dir = log_dir,
                        .word = "",
                        .lead = ""};
    for (; words[0] != NULL && words[1] != NULL && !line.rest; words++)
        take_word(&line, words[0]);
    if (words[0] != NULL)
        line.word = words[0];
    const struct jr_option *option = valued_option(&line);
    if (line.rest)
        jr_buf_str(out, "@file\n");
    else if (option != NULL)
        offer_value(&line, option->arg);
    else if (line.word[0] == '-')
        offer_options(&line);
    else
        offer_position(&line);
}
