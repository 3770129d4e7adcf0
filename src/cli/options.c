#include <string.h>

#include "base/did_you_mean.h"
#include "base/strv.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "diag/diag.h"
#include "session/specs/spec_help.h"

#include "base/banned.h"

#define FLAG(letter, name, member, verbs, help) ALIASED_FLAG(letter, 0, name, member, verbs, help)
#define ALIASED_FLAG(letter, alias, name, member, verbs, help)                                     \
    {                                                                                              \
        letter, alias, name, NULL, JR_OPTION_FLAG, offsetof(struct jr_cli, member), 0, verbs, help \
    }
#define TEXT(letter, name, arg, member, verbs, help)                                               \
    {                                                                                              \
        letter, 0, name, arg, JR_OPTION_TEXT, offsetof(struct jr_cli, member), 0, verbs, help      \
    }
#define MAYBE(name, member, verbs, help)                                                           \
    {                                                                                              \
        0, 0, name, NULL, JR_OPTION_MAYBE, offsetof(struct jr_cli, member), 0, verbs, help         \
    }
#define LIST(letter, name, arg, member, verbs, help)                                               \
    {                                                                                              \
        letter, 0, name, arg, JR_OPTION_LIST, offsetof(struct jr_cli, member), 0, verbs, help      \
    }
#define NUMBER(letter, name, arg, member, verbs, help)                                             \
    {                                                                                              \
        letter, 0, name, arg, JR_OPTION_NUMBER, offsetof(struct jr_cli, member##_value),           \
            offsetof(struct jr_cli, member), verbs, help                                           \
    }

const struct jr_option jr_options[] = {
    NUMBER('n', "ranks", "N", count, "run plan resolve",
           "start N ranks of the command after `--`, without a spec"),
    LIST('s', "set", "PATH=VALUE", sets, "run plan resolve validate render submit doctor",
         "set a field to another value: -s parallelism.data=4; -s +vars.x=1 adds one"),
    LIST(0, "sweep", "PATH=VALUES", sweeps, "run plan resolve validate render submit",
         "vary a field: --sweep vars.lr=0.1,0.01; 0..4 is a range"),
    TEXT(0, "cell", "CELL", cell, "run plan resolve validate render submit",
         "take one cell of a sweep: its number, or values such as vars.lr=0.1"),
    MAYBE("resume", resume, "run submit",
          "go on with the latest sweep of this spec, or begin one; --resume=ID "
          "goes on with that one"),
    FLAG(0, "skip-failed", skip_failed, "run submit",
         "with --resume: leave cells that ended without delivering"),
    FLAG(0, "rerun-changed", rerun_changed, "run",
         "with --resume: run cells again that delivered with other code"),
    NUMBER(0, "parallel", "N", parallel, "run plan render submit",
           "run at most N cells of a sweep at once"),
    FLAG(0, "local", local, "run plan resolve rerun",
         "start the ranks of all nodes on this machine"),
    NUMBER(0, "node-rank", "N", node_rank, "run plan resolve rerun",
           "the index of this node among several, from 0"),
    NUMBER(0, "debug", "RANK", debug_rank, "run rerun",
           "give RANK this terminal, for pdb or gdb; disables timeouts"),
    NUMBER(0, "stdin", "RANK", stdin_rank, "run rerun", "let RANK read jobrun's standard input"),
    TEXT(0, "run-id", "ID", run_id, "run plan rerun submit",
         "name the run, the same on all nodes; it must not exist yet"),
    TEXT(0, "inject", "FAILURES", inject, "run plan rerun",
         "inject failures: 'kill:3@5s, exit:1=7, hang:2, oom:*'"),
    TEXT(0, "frozen", "DIR", frozen, "run", "run the spec and code that submit froze in DIR"),
    TEXT(0, "on", "PROFILE", on, "validate resolve plan diff render submit",
         "use this machine: a facts file, or NODESxDEVICES[:MODEL][,CPUSc][,MEMg]"),
    FLAG(0, "explain", explain, "resolve", "show where each value came from, and why"),
    FLAG(0, "lock", lock, "resolve",
         "print the experiment alone, for --locked: no placement, relative paths"),
    MAYBE("locked", locked, "run plan resolve",
          "refuse a spec that does not resolve to its lock, which is "
          "NAME.lock.yaml beside it; --locked=FILE is another one"),
    FLAG(0, "env", env, "plan", "show the variables that each rank gets"),
    TEXT(0, "format", "FORMAT", format, "validate resolve plan runs show report doctor diff",
         "output format"),
    FLAG(0, "json", json, "validate resolve plan runs show diff doctor", "same as --format json"),
    FLAG(0, "strict", strict, "validate", "treat warnings as errors (status 3)"),
    LIST(0, "allow-env", "GLOB", allow_env, "validate",
         "let ${env:NAME} read the variables that match GLOB (default: none)"),
    TEXT(0, "root", "DIR", root, "run plan resolve validate render submit",
         "let `extends` read files below DIR only (default: the checkout)"),
    FLAG(0, "fix", fix, "validate",
         "write unambiguous fixes to the files; for -, to standard output"),
    FLAG('q', "quiet", quiet, "validate", "print nothing if all specs are valid"),
    FLAG(0, "detach", detach, "run rerun", "print the run's id, and run in the background"),
    NUMBER(0, "keep", "N", keep, "prune",
           "keep the newest N runs (default: 50; 0 with --older or --code)"),
    TEXT(0, "older", "AGE", older, "prune", "keep runs that began less than AGE ago: 30d, 12h"),
    TEXT(0, "timeout", "TIME", timeout, "wait",
         "wait no longer than TIME: 30s, 5m; then exit with 124"),
    FLAG(0, "dry-run", dry_run, "prune", "print what would be removed, and remove nothing"),
    TEXT(0, "log-dir", "DIR", log_dir, "runs show top report logs wait stop prune rerun diff",
         "where the runs are (default: runs)"),
    NUMBER(0, "attempt", "N", attempt, "show logs", "select this attempt (default: the last)"),
    TEXT(0, "rank", "RANKS", ranks, "logs show", "show only these ranks: 0-3,8"),
    NUMBER(0, "tail", "N", tail, "logs", "start with the last N lines of each log"),
    FLAG('f', "follow", follow, "logs", "print new output until the run has ended"),
    TEXT(0, "sort", "COLUMN", sort, "runs show",
         "order runs, or the cells of a sweep, by results.loss, vars.lr, "
         "seconds; -results.loss: the largest first"),
    TEXT(0, "columns", "LIST", columns, "runs show",
         "columns of the table: vars.lr,labels.team,results.loss"),
    LIST(0, "where", "CONDITION", where, "runs",
         "list only runs with status=failed, labels.team=vision, 'results.loss<0.5'; != <= >= too"),
    NUMBER(0, "top", "N", top, "runs show", "show the first N runs, or cells of a sweep"),
    FLAG(0, "cells", cells, "runs", "list the cells of sweeps, not each sweep as one row"),
    FLAG(0, "stacks", stacks, "show",
         "show the ranks' processes and threads, and what they wait for"),
    FLAG(0, "once", once, "top", "print one table and exit"),
    FLAG(0, "exact", exact, "rerun", "use the same nodes, devices and ports as the earlier run"),
    FLAG(0, "trust", trust, "rerun",
         "accept a run of another user, or one that everybody may write to"),
    TEXT(0, "rev", "REV", rev, "diff", "compare the specs below the folders with this revision"),
    FLAG(0, "code", code, "diff show prune rerun",
         "diff: show the code changes of both runs; show: print where the frozen copy of the "
         "code is; prune: remove these copies alone; rerun: run the code of then"),
    FLAG(0, "exit-code", exit_code, "diff", "exit with status 1 if they differ"),
    TEXT(0, "from", "LINE", from, "new", "translate a launcher's command line (in quotes)"),
    TEXT('o', "output", "FILE", output, "new report schema",
         "new, report: write to FILE, which must not exist yet; schema: write "
         "to FILE, where an earlier schema is replaced"),
    TEXT(0, "engine", "ENGINE", engine, "run plan resolve rerun render submit",
         "render, submit: the engine that starts the job; run, plan, resolve, "
         "rerun: start on `hosts`"),
    TEXT(0, "hosts", "HOSTS", hosts, "run plan resolve rerun doctor",
         "run, plan, resolve, rerun: start on these hosts, by ssh: gpu01,gpu02 or gpu[01-16]; "
         "doctor: ask these hosts, by ssh: gpu01,gpu02 or gpu[01-16]"),
    MAYBE("wait", wait, "run rerun submit",
          "run, rerun: wait in a queue until the devices are free (--wait=30m: at most so long); "
          "submit: wait for the job's end, and exit with its exit status"),
    FLAG(0, "all", all, "help", "list the verbs that are rarely typed, too"),
    TEXT(0, "color", "WHEN", color, NULL, "when to use colour"),
    FLAG('h', "help", help, NULL, "print this help"),
    ALIASED_FLAG('V', 'v', "version", version, NULL, "print the version (also -v)"),
    {0},
};

bool jr_option_allowed(const struct jr_option *option, const char *verb)
{
    return option->verbs == NULL || jr_words_have(option->verbs, ' ', verb, strlen(verb));
}

/* The length of "run, rerun: " at the beginning of a text, if these are verbs that have the option,
 * and whether `verb` is one of them; 0: it does not begin so. */
static size_t read_verbs(const struct jr_option *option, const char *text, const char *verb,
                         bool *ret_meant)
{
    bool meant = false;
    for (size_t at = 0, len;; at += len + 2) {
        len = strcspn(text + at, ",: ");
        if (option->verbs == NULL || !jr_words_have(option->verbs, ' ', text + at, len))
            return 0;
        meant |= strlen(verb) == len && memcmp(text + at, verb, len) == 0;
        if (strncmp(text + at + len, ", ", 2) == 0)
            continue;
        if (strncmp(text + at + len, ": ", 2) != 0)
            return 0;
        *ret_meant = meant;
        return at + len + 2;
    }
}

void jr_option_describe(struct jr_buf *out, const struct jr_option *option, const char *verb)
{
    static const char between[] = "; ";
    bool meant = true;
    size_t start = out->len;
    for (const char *at = option->help; *at != '\0';) {
        const char *end = strstr(at, between);
        const char *next = end == NULL ? at + strlen(at) : end + 2;
        if (verb != NULL)
            at += read_verbs(option, at, verb, &meant);
        if (meant && out->len > start)
            jr_buf_str(out, between);
        if (meant)
            jr_buf_add(out, at, (size_t)((end == NULL ? next : end) - at));
        at = next;
    }
}

const struct jr_option *jr_option_by_letter(char letter)
{
    for (const struct jr_option *row = jr_options; row->name != NULL; row++)
        if (letter != '\0' && (row->letter == letter || row->alias == letter))
            return row;
    return NULL;
}

const struct jr_option *jr_option_by_name(const char *name, size_t len)
{
    const struct jr_option *found = NULL;
    size_t count = 0;
    for (const struct jr_option *row = jr_options; row->name != NULL; row++) {
        if (len == 0 || strncmp(row->name, name, len) != 0)
            continue;
        if (row->name[len] == '\0')
            return row;
        found = row;
        count++;
    }
    return count == 1 ? found : NULL;
}

#define WORDS(name, ...)             static const struct jr_value_word name[] = {__VA_ARGS__{0}};
#define PLAIN(word)                  {word, NULL},
#define KIND_ROW(word, help)         {#word, help},
#define FORMAT_ROW(name, word, help) {#word, help},

WORDS(diag_formats, JR_DIAG_FORMATS(FORMAT_ROW))
WORDS(doctor_formats, PLAIN("text") PLAIN("yaml") PLAIN("json"))
WORDS(formats, PLAIN("text") PLAIN("json"))
WORDS(diff_formats, PLAIN("text") PLAIN("json") PLAIN("markdown"))
WORDS(table_formats, PLAIN("text") PLAIN("json") PLAIN("csv") PLAIN("markdown"))
WORDS(report_formats, PLAIN("text") PLAIN("html"))
WORDS(when, PLAIN("auto") PLAIN("always") PLAIN("never"))
WORDS(engines, PLAIN("slurm") PLAIN("kubernetes") PLAIN("mpi"))
WORDS(launchers, PLAIN("ssh"))
WORDS(shells, PLAIN("bash") PLAIN("zsh") PLAIN("fish"))
WORDS(kinds, JR_STARTERS(KIND_ROW))

static const struct jr_value values[] = {
    {"FORMAT", "validate", JR_VALUE_WORD, diag_formats},
    {"FORMAT", "doctor", JR_VALUE_WORD, doctor_formats},
    {"FORMAT", "diff", JR_VALUE_WORD, diff_formats},
    {"FORMAT", "report", JR_VALUE_WORD, report_formats},
    {"FORMAT", "runs", JR_VALUE_WORD, table_formats},
    {"FORMAT", "show", JR_VALUE_WORD, table_formats},
    {"FORMAT", NULL, JR_VALUE_WORD, formats},
    {"KIND", NULL, JR_VALUE_WORD, kinds},
    {"WHEN", NULL, JR_VALUE_WORD, when},
    {"ENGINE", "run", JR_VALUE_WORD, launchers},
    {"ENGINE", "plan", JR_VALUE_WORD, launchers},
    {"ENGINE", "resolve", JR_VALUE_WORD, launchers},
    {"ENGINE", "rerun", JR_VALUE_WORD, launchers},
    {"ENGINE", NULL, JR_VALUE_WORD, engines},
    {"SHELL", NULL, JR_VALUE_WORD, shells},
    {"SPEC", NULL, JR_VALUE_SPEC, NULL},
    {"PATH", NULL, JR_VALUE_SPEC | JR_VALUE_FOLDER, NULL},
    {"PROFILE", NULL, JR_VALUE_FILE, NULL},
    {"FILE", NULL, JR_VALUE_FILE, NULL},
    {"DIR", NULL, JR_VALUE_FOLDER, NULL},
    {"RUN", NULL, JR_VALUE_RUN, NULL},
    {"A", "diff", JR_VALUE_SPEC | JR_VALUE_RUN, NULL},
    {"B", "diff", JR_VALUE_SPEC | JR_VALUE_RUN, NULL},
    {"VERB", NULL, JR_VALUE_VERB, NULL},
    {"CODE", NULL, JR_VALUE_CODE, NULL},
    {"FIELD", NULL, JR_VALUE_FIELD, NULL},
    {"PATH=VALUE", NULL, JR_VALUE_SETTING, NULL},
};

const struct jr_value *jr_value_find(const char *name, const char *verb)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].name, name) == 0 &&
            (values[i].verb == NULL || strcmp(values[i].verb, verb) == 0))
            return &values[i];
    return NULL;
}

const char *jr_value_near(const char *name, const char *word)
{
    enum { MOST = 16 };
    const struct jr_value *value = jr_value_find(name, "");
    const char *words[MOST + 1] = {NULL};
    for (size_t i = 0; i < MOST && value->words[i].word != NULL; i++)
        words[i] = value->words[i].word;
    return jr_did_you_mean(word, words);
}

void jr_value_words(struct jr_buf *out, const char *name, const char *verb)
{
    const struct jr_value *value = jr_value_find(name, verb);
    const struct jr_value_word *row = value != NULL ? value->words : NULL;
    if (row != NULL && row->help != NULL)
        jr_buf_str(out, ": see below");
    else if (row != NULL)
        jr_buf_printf(out, ": %s", row->word);
    while (row != NULL && row->help == NULL && (++row)->word != NULL)
        jr_buf_printf(out, ", %s", row->word);
}

bool jr_synopsis_next(struct jr_synopsis *walk, char ret_name[static JR_VALUE_NAME])
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_=";
    const char *at = walk->at;
    while (*at != '\0' && strchr(capitals, *at) == NULL) {
        if (*at == '-')
            at += strcspn(at, "]");
        if (*at == ' ')
            walk->position++;
        at += *at != '\0';
    }
    size_t len = strspn(at, capitals);
    size_t kept = len < JR_VALUE_NAME ? len : JR_VALUE_NAME - 1;
    memcpy(ret_name, at, kept);
    ret_name[kept] = '\0';
    at += len;
    walk->many = strncmp(at + (*at == ']'), "...", 3) == 0;
    walk->at = at;
    return len > 0;
}
