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
    /* A name that no shell has to quote, and that moves no cursor. */
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const struct jr_value *value = jr_value_find(name, line->verb->name);
    unsigned kinds = value != NULL ? value->kinds : 0;
    struct jr_records records = JR_RECORDS_INIT;
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    const struct jr_value_word *row = kinds & JR_VALUE_WORD ? value->words : NULL;
    for (; row != NULL && row->word != NULL; row++)
        offer_candidate(line, row->word, row->help);
    if ((kinds & JR_VALUE_RUN) && jr_records_list(&records, line->log_dir, NULL) == 0) {
        if (records.count > 0)
            offer_candidate(line, "latest", "the last run");
        for (size_t i = 0; i < records.count; i++)
            if (records.items[i].id[strspn(records.items[i].id, plain)] == '\0')
                offer_candidate(line, records.items[i].id, records.items[i].status);
        jr_records_release(&records);
    }
    if (kinds & JR_VALUE_FIELD)
        jr_spec_help_paths(offer_spec_word, (void *)line);
    if (kinds & JR_VALUE_SETTING)
        jr_spec_help_settings(line->word, offer_spec_word, (void *)line);
    for (size_t i = 0; (kinds & JR_VALUE_CODE) && i < count && line->word[0] == 'J'; i++) {
        JR_BUF_CLEANUP struct jr_buf code = JR_BUF_INIT;
        jr_buf_printf(&code, "JR%04u", codes[i].number);
        if (!code.failed)
            offer_candidate(line, code.data, codes[i].title);
    }
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

/* A word before the last. */
static void take_word(struct line *line, const char *word)
{
    const char *value = NULL;
    const struct jr_option *option = line->pending;
    if (option != NULL) {
        value = word;
        line->pending = NULL;
    } else if (strcmp(word, "--") == 0) {
        line->rest = true;
    } else if (word[0] == '-' && word[1] != '\0') {
        option = find_option(word, &value);
        line->pending = value == NULL ? option : NULL;
    } else if (!line->verb_stated && line->positions == 0 && jr_verb_find(word) != NULL) {
        line->verb = jr_verb_find(word);
        line->verb_stated = true;
    } else {
        line->positions++;
    }
    if (option != NULL && value != NULL && strcmp(option->name, "log-dir") == 0)
        line->log_dir = value;
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
    bool job = (line.verb->flags & JR_VERB_JOB) != 0;
    if (line.rest && !job && !(line.verb->flags & JR_VERB_REST)) {
        offer_position(&line);
        return;
    }
    /* Behind "--" and without a spec, words are a command, which the shell knows better; with one
     * they are what the job's program gets. */
    if (line.rest) {
        jr_buf_str(out, !job || line.positions > 0 ? "@file\n"
                        : first                    ? "@command\n"
                                                   : "@arguments\n");
        return;
    }
    /* The option whose value the last word is, or holds. */
    const char *value = NULL;
    const struct jr_option *option = line.pending;
    if (option == NULL && line.word[0] == '-' &&
        (option = find_option(line.word, &value)) != NULL && value != NULL) {
        line.lead = line.word;
        line.lead_len = (size_t)(value - line.word);
        line.word = value;
    } else if (line.pending == NULL) {
        option = NULL;
    }
    if (option != NULL) {
        offer_value(&line, option->arg);
        return;
    }
    if (line.word[0] != '-') {
        offer_position(&line);
        return;
    }
    for (const struct jr_option *row = jr_options; row->name != NULL; row++) {
        JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, help = JR_BUF_INIT;
        if (!jr_option_allowed(row, line.verb->name))
            continue;
        jr_buf_printf(&name, "--%s", row->name);
        jr_option_describe(&help, row, line.verb->name);
        if (!name.failed && !help.failed)
            offer_candidate(&line, name.data, help.data);
    }
}

/* jobrun completion: a shell's script, or what the script asks for. */

int jr_cmd_completion(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    static const struct {
        const char *shell, *text;
    } rows[] = {{"bash", JR_SCRIPT_BASH}, {"zsh", JR_SCRIPT_ZSH}, {"fish", JR_SCRIPT_FISH}};
    const char *text = NULL;
    for (size_t i = 0; cli->words_count == 1 && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].shell, cli->words[0]) == 0)
            text = rows[i].text;
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
