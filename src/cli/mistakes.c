/* What is told of a mistaken command line: see mistakes.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "record/run_list.h"
#include "session/support.h"
#include "session/sweep/row_table.h"
#include "session/sweep/show_sweep.h"
#include "spec/foreign.h"

#include "base/banned.h"

/* Whether what is typed for a verb of others ends in one that takes no word. */
static bool takes_no_word(const char *here)
{
    const struct jr_verb *verb = jr_verb_find(here);
    return verb != NULL && verb->words[0] == '\0';
}

/* Append the one spec that is here, or SPEC. */
static void add_only_spec(struct jr_buf *line)
{
    JR_BUF_CLEANUP struct jr_buf only = JR_BUF_INIT;
    bool found = jr_near_file_only(&only, ".");
    jr_buf_char(line, ' ');
    if (found && !only.failed)
        jr_shell_quote(line, only.data);
    else
        jr_buf_str(line, "SPEC");
}

/* Append the words of the line, quoted; `here` instead of `word`, as it is. */
static void add_words(struct jr_buf *out, const struct jr_cli *cli, const char *word,
                      const char *here)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        if (strcmp(here, "run") == 0 && (strcmp(*at, "-f") == 0 || strcmp(*at, "-d") == 0))
            continue; /* apply -f FILE, up -d */
        if (line.len > 0)
            jr_buf_char(&line, ' ');
        if (*at != word) {
            jr_shell_quote(&line, *at);
            continue;
        }
        jr_buf_str(&line, here);
        if (takes_no_word(here))
            break;
    }
    if (strcmp(here, "run") == 0 && cli->words_count == 1)
        add_only_spec(&line);
    out->failed |= line.failed;
    if (!line.failed)
        jr_buf_escaped(out, line.data, line.len);
}

/* Append the whole path of a run's folder, or of a sweep's, by its id or its own path. Returns
 * whether there is such a run: no other folder is told to anybody who means to remove one. */
static bool add_run_folder(struct jr_buf *path, const struct jr_cli *cli, const char *run)
{
    char id[256];
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    const char *log_dir = jr_cli_log_dir(cli);
    if (strchr(run, '/') == NULL) {
        if (run[0] == '\0' ||
            (!jr_sweep_find(id, log_dir, run) && jr_record_find(id, log_dir, run, NULL) != 0))
            return false;
        jr_buf_printf(&typed, "%s/%s", log_dir, id);
    } else {
        jr_buf_printf(&typed, "%s/run.json", run);
        if (typed.failed || access(typed.data, F_OK) != 0)
            return false;
        typed.len = 0;
        jr_buf_str(&typed, run);
    }
    JR_FREE char *folder = typed.failed ? NULL : realpath(typed.data, NULL);
    jr_buf_str(path, folder == NULL ? "" : folder);
    return folder != NULL && !path->failed;
}

/* Say what is typed for the line whose first word is a verb of others; `here` is typed instead of
 * that. */
static int foreign_verb_line(const struct jr_cli *cli, const char *word, const char *here)
{
    struct jr_buf out = JR_BUF_INIT;
    if (strcmp(here, "prune") == 0 && cli->words_count == 2) { /* one run, and prune keeps 50 */
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, typed = JR_BUF_INIT;
        if (add_run_folder(&path, cli, cli->words[1])) {
            jr_shell_quote(&typed, path.data);
            return jr_cli_say(cli, JR_STATUS_USAGE,
                              "'%s' is not a verb of jobrun; a run that has ended is removed with "
                              "its folder: rm -r %s",
                              word, typed.failed ? "" : typed.data);
        }
    }
    jr_buf_printf(&out,
                  "jobrun: '%s' is not a verb of jobrun; type:\n"
                  "        jobrun ",
                  word);
    add_words(&out, cli, word, here);
    if (jr_support_has_program(word, cli->environ)) {
        jr_buf_str(&out, "\n        or, for 2 ranks of the program: jobrun -n 2 -- ");
        add_words(&out, cli, NULL, "");
    }
    jr_buf_char(&out, '\n');
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

int jr_foreign_launcher_line(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    struct jr_buf out = JR_BUF_INIT;
    const char *word = cli->words[0];
    if (word == NULL || word != cli->argv[1] || !jr_foreign_launcher(word) ||
        access(word, F_OK) == 0)
        return 0;
    jr_buf_printf(&out,
                  "jobrun: '%s' is another launcher; for a spec that "
                  "says the same, type:\n        jobrun new --from ",
                  word);
    add_words(&line, cli, NULL, "");
    if (!line.failed)
        jr_shell_quote(&out, line.data);
    jr_buf_char(&out, '\n');
    int status = out.failed || line.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

enum { MAX_NAMES = 64 };

#define ARGUMENTS "arguments of the job stand behind `--`"

bool jr_mistake_is_spec_name(const char *word)
{
    return strcmp(word, "-") == 0 || jr_near_file_is_yaml(word);
}

/* The same line with `--` before `word`, and `lead` on either side of it. */
static void add_corrected_line(struct jr_buf *out, const struct jr_cli *cli, const char *word,
                               const char *const lead[2])
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    bool behind = false;
    bool whole = cli->count != NULL || (cli->rest != NULL && cli->rest[0] == word);
    jr_buf_str(&line, "jobrun");
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        if (*at == word) {
            jr_buf_printf(&line, "%s --%s", lead[0], lead[1]);
            behind = true;
        }
        bool marks = strcmp(*at, "--") == 0;
        bool kept = at[1] != word && (!behind || whole);
        if (!marks || kept) {
            jr_buf_char(&line, ' ');
            jr_shell_quote(&line, *at);
        }
    }
    out->failed |= line.failed;
    if (!line.failed)
        jr_buf_escaped(out, line.data, line.len);
}

/* "jobrun: TEXT", and below it "PROMPT" with the corrected line. */
static int print_corrected_line(const struct jr_cli *cli, const char *text, const char *prompt,
                                const char *word, const char *const lead[2])
{
    struct jr_buf out = JR_BUF_INIT;
    jr_cli_add_message(&out, text);
    jr_buf_printf(&out, "\n        %s", prompt);
    add_corrected_line(&out, cli, word, lead);
    jr_buf_char(&out, '\n');
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

/* "NAME: arguments ...", with the line that has `--` before `word`. */
static int print_arguments_line(const struct jr_cli *cli, const char *text, const char *word)
{
    static const char *const lead[] = {"", ""};
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT;
    jr_buf_printf(&whole, "%s" ARGUMENTS ":", text);
    return print_corrected_line(cli, whole.failed ? ARGUMENTS : whole.data, "", word, lead);
}

int jr_mistake_command(const struct jr_cli *cli)
{
    const char *word = cli->words[cli->words_count - 1];
    const char *const lead[] = {"", jr_line_interpreter(word)};
    return print_corrected_line(cli, "a command stands behind `--`:", "", word, lead);
}

/* -n came behind the command, where it would be the command's. */
static int print_late_count(const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT, line = JR_BUF_INIT;
    jr_buf_printf(&line, "jobrun%s%s -n %u --%s", cli->verb_stated ? " " : "",
                  cli->verb_stated ? cli->verb->name : "", cli->count_value,
                  jr_line_interpreter(cli->words[0]));
    for (char *const *word = cli->words; *word != NULL; word++) {
        jr_buf_char(&line, ' ');
        jr_shell_quote(&line, *word);
    }
    jr_buf_str(&out, "jobrun: a command stands behind `--`, and -n before it:\n        ");
    jr_buf_escaped(&out, line.data, line.failed ? 0 : line.len);
    jr_buf_char(&out, '\n');
    jr_buf_release(&line);
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

/* Append the line that was typed, but for the option, with its value where that is a word of its
 * own and `value`; `instead` stands in its place. */
static void add_line_without(struct jr_buf *out, const struct jr_cli *cli,
                             const struct jr_option *option, bool value, const char *instead)
{
    bool options = true;
    size_t len = strlen(option->name);
    jr_buf_str(out, "jobrun");
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        const char *word = *at;
        options = options && strcmp(word, "--") != 0;
        bool letter = word[0] == '-' && word[1] != '\0' &&
                      (word[1] == option->letter || word[1] == option->alias);
        bool name = strncmp(word, "--", 2) == 0 && strncmp(word + 2, option->name, len) == 0 &&
                    strchr("=", word[2 + len]) != NULL;
        if (!options || (!letter && !name)) {
            jr_buf_char(out, ' ');
            jr_shell_quote(out, word);
            continue;
        }
        jr_buf_str(out, instead);
        at += value && word[letter ? 2 : 2 + len] == '\0' && at[1] != NULL;
    }
}

int jr_mistake_count(const struct jr_cli *cli)
{
    const char *word = cli->words[0];
    if (!jr_mistake_is_spec_name(word))
        return print_late_count(cli);
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT, instead = JR_BUF_INIT;
    jr_buf_printf(&instead, " -s world_size=%u", cli->count_value);
    add_line_without(&line, cli, jr_option_by_letter('n'), true,
                     instead.failed ? "" : instead.data);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "-n goes with a command after --, not with a spec; type: %s",
                      line.failed ? "" : line.data);
}

int jr_mistake_script(const struct jr_cli *cli)
{
    static const char *const lead[] = {"", " python3"};
    const char *word = cli->rest == NULL ? NULL : cli->rest[0];
    if (word == NULL || !jr_line_is_python(word) || access(word, R_OK) != 0 ||
        (strchr(word, '/') != NULL ? jr_line_is_program(word)
                                   : jr_support_has_program(word, cli->environ)))
        return 0;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "'%s' is a Python script, not a program; type:", word);
    (void)print_corrected_line(cli, text.failed ? word : text.data, "", word, lead);
    return JR_STATUS_LAUNCH;
}

/* A program is no spec, whatever else is on the line. */
static int print_program_line(const struct jr_cli *cli, const char *what, const char *interpreter)
{
    const char *const lead[] = {cli->count == NULL ? " -n 2" : "", interpreter};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "'%s' is %s, not a spec; to start 2 ranks of it, type:", cli->words[0],
                  what);
    return print_corrected_line(cli, text.failed ? what : text.data, "", cli->words[0], lead);
}

static const char *nearest_verb(const char *word)
{
    const char *names[MAX_NAMES];
    size_t count = 0;
    for (; jr_verbs[count].name != NULL && count + 1 < MAX_NAMES; count++)
        names[count] = jr_verbs[count].name;
    names[count] = NULL;
    return jr_did_you_mean(word, names);
}

/* Whether a name is `word` and more. */
static bool is_longer(const char *name, const char *word)
{
    return strncmp(name, word, strlen(word)) == 0;
}

/* -1, inf: no limit, which an option has that is left out or has no value. */
static bool is_endless(const char *value)
{
    static const char *const words[] = {"-1",        "inf",     "infinite", "infinity",
                                        "unlimited", "forever", "never",    "none"};
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], value) != 0)
        i++;
    return i < count;
}

/* The option before a word, where it takes a value only as --NAME=VALUE; or NULL. */
static const struct jr_option *joined_option_before(const struct jr_cli *cli, const char *word)
{
    char *const *at = cli->argv + 1;
    while (*at != NULL && at[1] != word)
        at++;
    if (*at == NULL || strncmp(*at, "--", 2) != 0 || strchr(*at, '=') != NULL)
        return NULL;
    const struct jr_option *option = jr_option_by_name(*at + 2, strlen(*at + 2));
    return option != NULL && option->kind == JR_OPTION_MAYBE ? option : NULL;
}

/* --wait 5m: the line with the two as one word; without the value where that says no limit. */
static int print_joined_value(const struct jr_cli *cli, const struct jr_option *option,
                              const char *word)
{
    static const char *const lead[] = {"", ""};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    bool jobs = cli->words_count > 0 && cli->words[0] != word;
    bool endless = strcmp(option->name, "wait") == 0 && is_endless(word);
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        if (at[1] == word && !endless) {
            jr_buf_printf(&line, " %s=", *at);
            jr_shell_quote(&line, *++at);
        } else if (*at != word) {
            jr_buf_char(&line, ' ');
            jr_shell_quote(&line, *at);
        }
    }
    jr_buf_printf(&out, "jobrun: --%s %s; type:\n        jobrun", option->name,
                  endless ? "alone has no limit" : "takes a value behind '='");
    out.failed |= line.failed;
    if (!line.failed)
        jr_buf_escaped(&out, line.data, line.len);
    if (jobs)
        jr_buf_str(&out, "\n        or, if it is the job's: ");
    if (jobs)
        add_corrected_line(&out, cli, word, lead);
    jr_buf_char(&out, '\n');
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

static int refuse_bare_word(const struct jr_cli *cli, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf spec = JR_BUF_INIT;
    const char *near = nearest_verb(word), *here = jr_foreign_verb(word);
    bool found = jr_near_file_find(&spec, word);
    if (found && is_longer(spec.data, word))
        near = spec.data;
    else if (here != NULL)
        return foreign_verb_line(cli, word, here);
    else if (found && near == NULL)
        near = spec.data;
    if (jr_foreign_container(word) || (near == NULL && jr_support_has_program(word, cli->environ)))
        return print_program_line(cli, "a program", "");
    if (near != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "'%s' is neither a verb nor a file; did you mean 'jobrun %s'?", word,
                          near);
    return jr_cli_say(cli, JR_STATUS_USAGE, "'%s' is neither a verb nor a file; see jobrun --help",
                      word);
}

/* "TEXT; type: LINE", where the line is what was typed, with -s SETTING in the place of a word. */
static int print_setting_line(const struct jr_cli *cli, const char *text, const char *word,
                              const char *setting)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        jr_buf_str(&line, *at == word ? " -s " : " ");
        jr_shell_quote(&line, *at == word ? setting : *at);
    }
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s; type: jobrun%s", text,
                      line.failed ? "" : line.data);
}

/* PATH=VALUE without a spec. */
static int refuse_first_setting(const struct jr_cli *cli, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf setting = JR_BUF_INIT;
    const char *spec = cli->words_count > 1 ? cli->words[1] : NULL;
    if (spec != NULL && jr_mistake_is_spec_name(spec) &&
        strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strcspn(word, "=")) {
        jr_buf_printf(&setting, "env.%s", word);
        return print_setting_line(cli, "-s sets a variable of the ranks", word,
                                  setting.failed ? word : setting.data);
    }
    jr_line_add_setting(&setting, word);
    return jr_cli_say(cli, JR_STATUS_USAGE, "no spec is given before '%s'; type: jobrun SPEC%s",
                      word, setting.failed ? "" : setting.data);
}

int jr_mistake_verb_script(const struct jr_cli *cli)
{
    const char *word = cli->words[0];
    if (word == NULL || cli->count != NULL || cli->rest != NULL || !jr_line_is_python(word) ||
        !jr_option_allowed(jr_option_by_letter('n'), cli->verb->name))
        return 0;
    return print_program_line(cli, "a Python script", jr_line_interpreter(word));
}

int jr_mistake_first_word(const struct jr_cli *cli)
{
    const char *word = cli->words[0];
    if (word == NULL || cli->count != NULL)
        return 0;
    if (jr_line_is_python(word))
        return print_program_line(cli, "a Python script", jr_line_interpreter(word));
    if (access(word, F_OK) == 0) {
        JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT, record = JR_BUF_INIT;
        jr_buf_printf(&record, "%s/run.json", word);
        if (record.failed || access(record.data, F_OK) != 0)
            return 0;
        jr_shell_quote(&quoted, word); /* the folder of a run where a spec is wanted */
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "'%s' is a run, not a spec; to run it again, type: jobrun rerun %s", word,
                          quoted.failed ? word : quoted.data);
    }
    if (joined_option_before(cli, word) != NULL)
        return print_joined_value(cli, joined_option_before(cli, word), word);
    if (jr_line_is_setting(word))
        return cli->env ? 0 : refuse_first_setting(cli, word);
    if (strpbrk(word, "./:-") != NULL)
        return 0;
    return refuse_bare_word(cli, word);
}

/* PATH=VALUE without -s. */
static int print_settings_line(const struct jr_cli *cli)
{
    static const char *const lead[] = {"", ""};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        int i = 0; /* a word of its own, and no option's value */
        while (i < cli->words_count && cli->words[i] != *at)
            i++;
        if (i < cli->words_count && jr_line_is_setting(*at)) {
            jr_line_add_setting(&line, *at);
            continue;
        }
        jr_buf_char(&line, ' ');
        jr_shell_quote(&line, *at);
    }
    jr_buf_str(&out, "jobrun: -s sets a field; type:\n        jobrun");
    out.failed |= line.failed;
    if (!line.failed)
        jr_buf_escaped(&out, line.data, line.len);
    jr_buf_str(&out, "\n        or, if it is the job's: ");
    add_corrected_line(&out, cli, cli->words[1], lead);
    jr_buf_char(&out, '\n');
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

int jr_mistake_second_word(const struct jr_cli *cli)
{
    const char *first = cli->words[0], *second = cli->words[1];
    const struct jr_option *joined = cli->rest == NULL ? joined_option_before(cli, second) : NULL;
    if (joined != NULL)
        return print_joined_value(cli, joined, second);
    if (jr_line_is_setting(second) && cli->rest == NULL)
        return print_settings_line(cli);
    if (second[0] == '~' && second[1] != '/' && cli->rest == NULL) {
        JR_BUF_CLEANUP struct jr_buf setting = JR_BUF_INIT;
        jr_buf_printf(&setting, "%s=null", second + 1);
        return print_setting_line(cli, "-s sets a field, and null leaves it out", second,
                                  setting.failed ? second : setting.data);
    }
    if (jr_mistake_is_spec_name(second) && access(second, F_OK) == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "give one spec only: what is '%s'? (arguments for the job go after --)",
                          second);
    if (!jr_mistake_is_spec_name(first) && jr_line_is_program(first))
        return print_program_line(cli, "a program", "");
    return print_arguments_line(cli, "", second);
}

int jr_mistake_words(const struct jr_cli *cli)
{
    if (cli->verb->words[0] != '\0' || cli->words_count == 0)
        return 0;
    if (strcmp(cli->verb->name, "runs") == 0 && jr_row_status_is(cli->words[0]))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "runs takes no argument; type: jobrun runs --where status=%s",
                          cli->words[0]);
    if (strcmp(cli->verb->name, "runs") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "runs takes no argument: what is '%s'? (jobrun show %s)", cli->words[0],
                          cli->words[0]);
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s takes no argument: what is '%s'?", cli->verb->name,
                      cli->words[0]);
}

int jr_mistake_help(const struct jr_cli *cli)
{
    const char *word = cli->words[0], *near = nearest_verb(word);
    if (cli->words_count > 1)
        return jr_cli_say(cli, JR_STATUS_USAGE, "help takes one verb: what is '%s'?",
                          cli->words[1]);
    if (near != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "there is no verb '%s'; did you mean 'jobrun help %s'?", word, near);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "there is no verb '%s'; jobrun help lists the verbs, and "
                      "jobrun explain the fields of a spec",
                      word);
}

/* Whether `--` before this option would make it the job's. */
static bool may_be_jobs(const struct jr_cli *cli, const char *word)
{
    if (!(cli->verb->flags & JR_VERB_JOB) || cli->words_count == 0)
        return false;
    for (char *const *at = cli->argv + 1; *at != NULL && *at != word; at++)
        if (*at == cli->words[0])
            return true;
    return false;
}

static int print_jobs_line(const struct jr_cli *cli, const char *text, const char *word)
{
    static const char *const lead[] = {"", ""};
    if (!may_be_jobs(cli, word))
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s", text);
    return print_corrected_line(cli, text, "or, if it is the job's: ", word, lead);
}

/* The name that is meant by "--strcit", or by "-strict". */
static const char *nearest_option(const char *option)
{
    const char *names[MAX_NAMES];
    const char *word = option + 1 + (option[1] == '-');
    size_t count = 0, len = strcspn(word, "=");
    if (len < 2)
        return NULL;
    JR_FREE char *bare = strndup(word, len);
    for (; jr_options[count].name != NULL; count++)
        names[count] = jr_options[count].name;
    names[count] = NULL;
    return bare == NULL ? NULL : jr_did_you_mean(bare, names);
}

/* An option that is told in another way here. */
static int print_foreign_option(const struct jr_cli *cli, const struct jr_foreign_option *row,
                                const char *word)
{
    static const char *const lead[] = {"", ""};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT, text = JR_BUF_INIT;
    jr_buf_printf(&text, "'%s' has no option '%.*s'", cli->verb->name, (int)strcspn(word, "="),
                  word);
    bool certain = jr_line_correct(&line, cli);
    if (certain && row->kind == JR_FOREIGN_NONE)
        jr_buf_printf(&text, ": %s", row->here);
    jr_buf_str(&text, certain ? "; type:" : "; ");
    if (!certain)
        jr_foreign_option_describe(&text, row);
    jr_cli_add_message(&out, text.failed ? "out of memory" : text.data);
    if (certain)
        jr_buf_str(&out, "\n        ");
    if (certain)
        jr_buf_escaped(&out, line.data, line.len);
    if (may_be_jobs(cli, word)) {
        jr_buf_str(&out, "\n        or, if it is the job's: ");
        add_corrected_line(&out, cli, word, lead);
    }
    jr_buf_char(&out, '\n');
    int status = out.failed ? JR_STATUS_LAUNCH : JR_STATUS_USAGE;
    jr_cli_err(cli, &out);
    return status;
}

int jr_mistake_unknown_option(const struct jr_cli *cli, const char *option, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct jr_foreign_option *row = jr_foreign_option_find(word, cli->verb->name);
    if (row != NULL)
        return print_foreign_option(cli, row, word);
    const char *near = nearest_option(option);
    bool jobs = near == NULL && may_be_jobs(cli, word);
    jr_buf_printf(&text, "unknown option '%s'; ", option);
    if (near != NULL)
        jr_buf_printf(&text, "did you mean '--%s'?", near);
    else if (!jobs)
        jr_buf_printf(&text, "see jobrun %s%s--help", cli->verb_stated ? cli->verb->name : "",
                      cli->verb_stated ? " " : "");
    const char *line = text.failed ? "unknown option" : text.data;
    return jobs ? print_arguments_line(cli, line, word) : print_jobs_line(cli, line, word);
}

int jr_mistake_foreign_option(const struct jr_cli *cli, const struct jr_option *option,
                              const char *word)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, owners = JR_BUF_INIT;
    const struct jr_foreign_option *row = jr_foreign_option_find(word, cli->verb->name);
    if (row != NULL)
        return print_foreign_option(cli, row, word);
    jr_buf_replaced(&owners, option->verbs, " ", ", ");
    jr_buf_printf(&text, "'%s' has no option --%s (%s %s it); see jobrun %s --help",
                  cli->verb->name, option->name, owners.failed ? option->verbs : owners.data,
                  strchr(option->verbs, ' ') == NULL ? "has" : "have", cli->verb->name);
    return print_jobs_line(cli, text.failed ? option->name : text.data, word);
}

#define DIGITS "0123456789"

int jr_mistake_number(const struct jr_cli *cli, const struct jr_option *option, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    if (option->letter != '\0') /* as it is mostly typed: -n, --tail */
        jr_buf_printf(&name, "-%c", option->letter);
    else
        jr_buf_printf(&name, "--%s", option->name);
    const char *shown = name.failed ? option->name : name.data;
    if (value[0] == '=' && value[1] != '\0' && value[1 + strspn(value + 1, DIGITS)] == '\0')
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a number, not '%s'; type %s %s", shown,
                          value, shown, value + 1);
    if (value[0] != '\0' && value[strspn(value, DIGITS)] == '\0')
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a number of at most %" PRIu32 ", not %s",
                          shown, UINT32_MAX, value);
    if (option->letter == 'n' && jr_mistake_is_spec_name(value)) {
        JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
        add_line_without(&line, cli, option, false, "");
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-n wants the number of ranks, not '%s'; a spec states it itself: %s",
                          value, line.failed ? "" : line.data);
    }
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a whole number, not '%s'; for example: %s 4",
                      shown, value, shown);
}

int jr_mistake_no_value(const struct jr_cli *cli, const struct jr_option *option, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf words = JR_BUF_INIT;
    if (option != NULL && option->verbs == NULL)
        jr_value_words(&words, option->arg, "");
    if (option == NULL || words.failed)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value", word);
    if (words.len > 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value%s", word, words.data);
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value: %s %s", word, word, option->arg);
}

/* What --set was given without '=', in words that can be typed: "lr: 0.1" and "~lr" of Hydra. */
static bool set_path(struct jr_buf *out, const char *value, const char *next)
{
    size_t len = strcspn(value, ":= ");
    if (next != NULL && *next == '=')
        next++; /* world_size =4 */
    if (value[0] == '~') {
        jr_buf_printf(out, "%s=null", value + 1);
    } else if (len > 0 && (value[len] == ':' || value[len] == ' ') && value[len + 1] != '\0') {
        const char *rest = value + len + 1;
        jr_buf_add(out, value, len);
        jr_buf_printf(out, "=%s", rest + strspn(rest, ": "));
    } else if (next != NULL && next[0] != '-' && !jr_mistake_is_spec_name(next)) {
        jr_buf_printf(out, "%s=%s", value, next);
    }
    return out->len > 0 && !out->failed;
}

/* The word of the line that follows another one; NULL: none. */
static const char *word_behind(const struct jr_cli *cli, const char *word)
{
    char *const *at = cli->argv;
    while (*at != NULL && *at != word)
        at++;
    return *at == NULL ? NULL : at[1];
}

int jr_mistake_set(const struct jr_cli *cli, const char *value, const char *next)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    if (jr_mistake_is_spec_name(value))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-s wants PATH=VALUE before the spec '%s'; for example: -s vars.lr=0.1",
                          value);
    if (next != NULL && strcmp(next, "=") == 0)
        next = word_behind(cli, next); /* world_size = 4 */
    if (set_path(&path, value, next))
        jr_shell_quote(&quoted, path.data);
    if (quoted.len > 0 && !quoted.failed)
        return jr_cli_say(cli, JR_STATUS_USAGE, "--set wants PATH=VALUE, not '%s'; type -s %s",
                          value, quoted.data);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "--set wants PATH=VALUE, not '%s'; for example: -s %s=VALUE", value,
                      value[0] == '\0' ? "vars.lr" : value);
}

int jr_mistake_only_spec(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf only = JR_BUF_INIT, line = JR_BUF_INIT;
    if (cli->rest != NULL || cli->words_count > 0 || !jr_near_file_only(&only, "."))
        return 0;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        jr_shell_quote(&line, *at);
        jr_buf_char(&line, ' ');
    }
    jr_shell_quote(&line, only.data);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "no spec is given; for the one that is here, type: jobrun %s",
                      line.failed ? "" : line.data);
}

int jr_mistake_no_spec(const struct jr_cli *cli)
{
    const char *verb = cli->verb_stated ? cli->verb->name : "";
    const char *blank = cli->verb_stated ? " " : "";
    if (cli->count != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "-n wants a command behind `--`: jobrun %s%s-n %u -- ./program", verb,
                          blank, cli->count_value);
    int status = jr_mistake_only_spec(cli);
    if (status != 0)
        return status;
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "no spec is given: jobrun %s%sSPEC, or jobrun %s%s-n N "
                      "-- CMD (see jobrun --help)",
                      verb, blank, verb, blank);
}

/* A time in words, "30 days", as jobrun writes it. */
static bool near_time(struct jr_buf *out, const char *value)
{
    static const struct {
        const char *unit;
        unsigned times;
        char here;
    } units[] = {{"s", 1, 's'}, {"m", 1, 'm'}, {"h", 1, 'h'}, {"d", 1, 'd'}, {"w", 7, 'd'}};
    uint32_t number;
    char digits[12] = "";
    size_t len = strspn(value, DIGITS), i = 0;
    const char *unit = value + len + strspn(value + len, " ");
    while (i < sizeof units / sizeof *units &&
           (*unit == '\0' || tolower((unsigned char)*unit) != *units[i].unit))
        i++;
    if (len == 0 || len >= sizeof digits || i == sizeof units / sizeof *units ||
        strncasecmp(unit, "mo", 2) == 0 || strncasecmp(unit, "ms", 2) == 0)
        return false;
    memcpy(digits, value, len);
    if (!jr_num_u32(digits, &number))
        return false;
    jr_buf_printf(out, "%" PRIu64 "%c", (uint64_t)number * units[i].times, units[i].here);
    return !out->failed;
}

int jr_mistake_time(const struct jr_cli *cli, const char *name, const char *value,
                    const char *example)
{
    JR_BUF_CLEANUP struct jr_buf near = JR_BUF_INIT;
    if (is_endless(value) && strcmp(name, "wait") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--wait wants a time, not '%s'; type --wait alone for no limit", value);
    if (is_endless(value) && strcmp(name, "timeout") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--timeout wants a time, not '%s'; leave it out for no limit", value);
    if (near_time(&near, value))
        return jr_cli_say(cli, JR_STATUS_USAGE, "--%s wants a time, not '%s'; type --%s %s", name,
                          value, name, near.data);
    return jr_cli_say(cli, JR_STATUS_USAGE, "--%s wants a time with its unit, such as %s, not '%s'",
                      name, example, value);
}

int jr_mistake_flag_value(const struct jr_cli *cli, const struct jr_option *option,
                          const char *value)
{
    static const char *const no[] = {"no", "false", "off", "0", "never", "n"};
    bool off = false;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        off = off || strcmp(value, no[i]) == 0;
    return jr_cli_say(cli, JR_STATUS_USAGE, "--%s takes no value, such as '%s'; %s%s", option->name,
                      value, off ? "leave it out" : "type --", off ? "" : option->name);
}

/* The words of a command that were typed in quotes, as they are typed. */
static bool unquote_command(struct jr_buf *out, const char *word)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_shell_words words;
    bool plain =
        jr_shell_split(&words, &arena, word, NULL) == 0 && words.count > 1 && words.tail == NULL;
    for (size_t i = 0; plain && i < words.count; i++)
        plain = !words.items[i].expands && !words.items[i].globs;
    if (plain) {
        jr_buf_str(out, word);
    } else {
        jr_buf_str(out, "sh -c ");
        jr_shell_quote(out, word);
    }
    return !out->failed;
}

int jr_mistake_quotes(const struct jr_cli *cli)
{
    const char *word = cli->rest == NULL ? NULL : cli->rest[0];
    JR_BUF_CLEANUP struct jr_buf command = JR_BUF_INIT, line = JR_BUF_INIT;
    struct jr_buf out = JR_BUF_INIT;
    if (word == NULL || strchr(word, ' ') == NULL || access(word, F_OK) == 0 ||
        jr_support_has_program(word, cli->environ) || !unquote_command(&command, word))
        return 0;
    for (char *const *at = cli->argv + 1; *at != NULL; at++) {
        jr_buf_char(&line, ' ');
        if (*at == word)
            jr_buf_str(&line, command.data);
        else
            jr_shell_quote(&line, *at);
    }
    jr_buf_printf(&out, "jobrun: '%s' is one word, and no program; type:\n        jobrun", word);
    if (!line.failed)
        jr_buf_escaped(&out, line.data, line.len);
    jr_buf_char(&out, '\n');
    jr_cli_err(cli, &out);
    return JR_STATUS_LAUNCH;
}

int jr_mistake_version(const struct jr_cli *cli)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    const char *behind = NULL, *spec = NULL;
    for (char *const *at = cli->argv + 1; *at != NULL && behind == NULL; at++)
        behind = strcmp(*at, "-v") == 0 ? at[1] : NULL;
    for (int i = 0; i < cli->words_count; i++)
        spec = jr_mistake_is_spec_name(cli->words[i]) ? cli->words[i] : spec;
    bool value = spec != NULL && behind != NULL && behind[0] != '-' &&
                 !jr_mistake_is_spec_name(behind); /* -v a:b, as others have it */
    add_line_without(&line, cli, jr_option_by_letter('V'), value, "");
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "-v prints the version, and nothing else: the run folder has what there is "
                      "to know; leave it out: %s",
                      line.failed ? "" : line.data);
}
