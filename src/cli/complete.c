/* cli.h declares it. */
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "diag/diag.h"
#include "generated/scripts.h"
#include "record/run_list.h"
#include "session/specs/spec_help.h"

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
static void offer_candidate(const struct line *line, const char *word, const char *help)
{
    if (strncmp(word, line->word, strlen(line->word)) != 0)
        return;
    jr_buf_add(line->out, line->lead, line->lead_len);
    jr_buf_str(line->out, word);
    if (help != NULL && help[0] != '\0')
        jr_buf_printf(line->out, "\t%s", help);
    jr_buf_char(line->out, '\n');
}

static void offer_words(const struct line *line, const struct jr_value_word *words)
{
    for (; words != NULL && words->word != NULL; words++)
        offer_candidate(line, words->word, words->help);
}

/* A name that no shell has to quote, and that moves no cursor. */
static bool is_plain_name(const char *name)
{
    return name[strspn(
               name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
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

/* The same for what a spec can say. */
static void offer_spec_word(void *data, const char *text, const char *help)
{
    offer_candidate(data, text, help);
}

/* The verbs; those that are rarely typed only once their beginning is. */
static void offer_verbs(const struct line *line)
{
    for (const struct jr_verb *verb = jr_verbs; verb->name != NULL; verb++)
        if (line->word[0] != '\0' || !(verb->flags & JR_VERB_RARE))
            offer_candidate(line, verb->name, verb->help);
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
        jr_spec_help_paths(offer_spec_word, (void *)line);
    if (kinds & JR_VALUE_SETTING)
        jr_spec_help_settings(line->word, offer_spec_word, (void *)line);
    if (kinds & JR_VALUE_CODE)
        offer_codes(line);
    if (kinds & JR_VALUE_VERB)
        offer_verbs(line);
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
    if (!line->verb_stated && line->positions == 0)
        offer_verbs(line);
    struct jr_synopsis walk = {.at = line->verb->words};
    char name[JR_VALUE_NAME];
    while (jr_synopsis_next(&walk, name))
        if (walk.position == line->positions || (walk.many && walk.position < line->positions))
            offer_value(line, name);
}

static void offer_options(const struct line *line)
{
    for (const struct jr_option *row = jr_options; row->name != NULL; row++) {
        JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, help = JR_BUF_INIT;
        if (!jr_option_allowed(row, line->verb->name))
            continue;
        jr_buf_printf(&name, "--%s", row->name);
        jr_option_describe(&help, row, line->verb->name);
        if (!name.failed && !help.failed)
            offer_candidate(line, name.data, help.data);
    }
}

/* The option with a value in a word: --name, --name=value, or the last of a
 * cluster of letters. *ret_value is that value; NULL when it is the next word.
 */
static const struct jr_option *find_option(const char *word, const char **ret_value)
{
    const struct jr_option *row = NULL;
    const char *end = word + 1;
    if (word[1] == '-') {
        size_t len = strcspn(word + 2, "=");
        row = jr_option_by_name(word + 2, len);
        end = word + 2 + len + (word[2 + len] == '=');
    } else {
        while (*end != '\0' && (row == NULL || row->arg == NULL))
            row = jr_option_by_letter(*end++);
    }
    bool takes = row != NULL && row->arg != NULL;
    *ret_value = takes && (*end != '\0' || end[-1] == '=') ? end : NULL;
    return takes ? row : NULL;
}

static void take_value(struct line *line, const struct jr_option *option, const char *value)
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
    } else if (!line->verb_stated && line->positions == 0 && jr_verb_find(word) != NULL) {
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

/* A word behind "--"; `first`: the one right behind it. Without a spec these words are a command,
 * which the shell knows better; with one they are what the job's program gets. */
static void offer_rest(const struct line *line, bool first)
{
    if (!(line->verb->flags & (JR_VERB_JOB | JR_VERB_REST)))
        offer_position(line);
    else if (!(line->verb->flags & JR_VERB_JOB) || line->positions > 0)
        jr_buf_str(line->out, "@file\n");
    else
        jr_buf_str(line->out, first ? "@command\n" : "@arguments\n");
}

/* Append the candidates for the last of `words`, one per line: the word, a tab,
 * and a description. `words` is a command line without its first word,
 * NULL-terminated. A line such as @spec (specs and folders), @file, @folder,
 * @command (programs) or @arguments (of the command behind `--`) asks the shell
 * for its own candidates. Runs are looked up in the log folder
 * that the line names, or else in `log_dir`; all others are from the tables. */
static void complete_line(struct jr_buf *out, char *const *words, const char *log_dir)
{
    struct line line = {.out = out, .verb = jr_verbs, .log_dir = log_dir, .word = "", .lead = ""};
    for (; words[0] != NULL && words[1] != NULL && !line.rest; words++)
        take_word(&line, words[0]);
    bool first = words[0] != NULL && words[1] == NULL;
    for (; line.rest && words[0] != NULL && words[1] != NULL; words++)
        line.positions += !(line.verb->flags & JR_VERB_JOB);
    if (words[0] != NULL)
        line.word = words[0];
    if (line.rest) {
        offer_rest(&line, first);
        return;
    }
    const struct jr_option *option = valued_option(&line);
    if (option != NULL)
        offer_value(&line, option->arg);
    else if (line.word[0] == '-')
        offer_options(&line);
    else
        offer_position(&line);
}

/* jobrun completion: a shell's script, or what the script asks for. */

static const char *completion_script(const char *shell)
{
    static const struct {
        const char *shell, *text;
    } rows[] = {{"bash", JR_SCRIPT_BASH}, {"zsh", JR_SCRIPT_ZSH}, {"fish", JR_SCRIPT_FISH}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].shell, shell) == 0)
            return rows[i].text;
    return NULL;
}

int jr_cmd_completion(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    const char *text = cli->words_count == 1 ? completion_script(cli->words[0]) : NULL;
    const char *near =
        text == NULL && cli->words_count == 1 ? jr_value_near("SHELL", cli->words[0]) : NULL;
    if (near != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "there is no completion for '%s'; did you mean 'jobrun completion %s'?",
                          cli->words[0], near);
    if (text == NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE, "completion for which shell? bash, zsh or fish");
    if (cli->rest != NULL)
        complete_line(&out, cli->rest, jr_cli_log_dir(cli));
    else
        jr_buf_str(&out, text);
    return jr_cli_out(cli, &out);
}
