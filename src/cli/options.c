#include "cli/options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include "base/banned.h"

#define FLAG(letter, name, member, verbs, help)                                \
    {                                                                          \
        letter, name, NULL, JR_OPTION_FLAG, offsetof(struct jr_cli, member),   \
            0, verbs, help                                                     \
    }
#define TEXT(letter, name, arg, member, verbs, help)                           \
    {                                                                          \
        letter, name, arg, JR_OPTION_TEXT, offsetof(struct jr_cli, member), 0, \
            verbs, help                                                        \
    }
#define LIST(letter, name, arg, member, verbs, help)                           \
    {                                                                          \
        letter, name, arg, JR_OPTION_LIST, offsetof(struct jr_cli, member), 0, \
            verbs, help                                                        \
    }
#define NUMBER(letter, name, arg, member, verbs, help)                         \
    {                                                                          \
        letter, name, arg, JR_OPTION_NUMBER,                                   \
            offsetof(struct jr_cli, member##_value),                           \
            offsetof(struct jr_cli, member), verbs, help                       \
    }

const struct jr_option jr_options[] = {
    NUMBER('n', "ranks", "N", count, "run plan resolve",
           "start N ranks of the command after `--`, without a spec"),
    LIST('s', "set", "PATH=VALUE", sets,
         "run plan resolve validate render submit",
         "set a field to another value: -s parallelism.data=4"),
    FLAG(0, "local", local, "run plan resolve rerun",
         "start the ranks of all nodes on this machine"),
    NUMBER(0, "node-rank", "N", node_rank, "run plan resolve rerun",
           "the index of this node among several, from 0"),
    NUMBER(0, "debug", "RANK", debug_rank, "run rerun",
           "give RANK this terminal, for pdb or gdb; disables timeouts"),
    NUMBER(0, "stdin", "RANK", stdin_rank, "run rerun",
           "let RANK read jobrun's standard input"),
    TEXT(0, "run-id", "ID", run_id, "run plan rerun",
         "name the run, the same on all nodes; it must not exist yet"),
    TEXT(0, "inject", "FAILURES", inject, "run plan rerun",
         "inject failures: 'kill:3@5s, exit:1=7, hang:2, oom:*'"),
    TEXT(0, "on", "PROFILE", on, "validate resolve plan diff render submit",
         "use this machine: a facts file, or "
         "NODESxDEVICES[:MODEL][,CPUSc][,MEMg]"),
    FLAG(0, "explain", explain, "resolve",
         "show where each value came from, and why"),
    FLAG(0, "env", env, "plan", "show the variables that each rank gets"),
    TEXT(0, "format", "FORMAT", format,
         "validate resolve plan runs show report doctor diff", "output format"),
    FLAG(0, "json", json, "validate resolve plan runs show diff",
         "same as --format json"),
    FLAG(0, "strict", strict, "validate",
         "treat warnings as errors (status 3)"),
    LIST(0, "allow-env", "GLOB", allow_env, "validate",
         "let ${env:NAME} read the variables that match GLOB (default: none)"),
    TEXT(0, "root", "DIR", root, "run plan resolve validate render submit",
         "let `extends` read files below DIR only (default: the checkout)"),
    FLAG(0, "fix", fix, "validate",
         "write unambiguous fixes to the files; for -, to standard output"),
    FLAG('q', "quiet", quiet, "validate migrate",
         "print nothing if all specs are valid"),
    FLAG(0, "detach", detach, "run rerun",
         "print the run's id and leave it running in the background"),
    NUMBER(0, "keep", "N", keep, "prune",
           "keep the newest N runs (default: 50, or 0 with --older)"),
    TEXT(0, "older", "AGE", older, "prune",
         "keep runs that began less than AGE ago: 30d, 12h"),
    TEXT(0, "timeout", "TIME", timeout, "wait",
         "wait no longer than TIME: 30s, 5m; then exit with 124"),
    FLAG(0, "dry-run", dry_run, "prune",
         "print what would be removed, and remove nothing"),
    TEXT(0, "log-dir", "DIR", log_dir,
         "runs show top report logs wait stop prune rerun diff",
         "where the runs are (default: runs)"),
    NUMBER(0, "attempt", "N", attempt, "show logs",
           "select this attempt (default: the last)"),
    TEXT(0, "rank", "RANKS", ranks, "logs show",
         "show only these ranks: 0-3,8"),
    NUMBER(0, "tail", "N", tail, "logs",
           "start with the last N lines of each log"),
    FLAG('f', "follow", follow, "logs",
         "print new output until the run has ended"),
    FLAG(0, "stacks", stacks, "show",
         "show the ranks' processes and threads, and what they wait for"),
    FLAG(0, "once", once, "top", "print one table and exit"),
    FLAG(0, "exact", exact, "rerun",
         "use the same nodes, devices and ports as the earlier run"),
    FLAG(0, "trust", trust, "rerun",
         "accept a run of another user, or one that everybody may write to"),
    TEXT(0, "rev", "REV", rev, "diff",
         "compare every spec below the folders with this git revision"),
    FLAG(0, "exit-code", exit_code, "diff",
         "exit with status 1 if they differ"),
    TEXT(0, "from", "LINE", from, "new",
         "translate a launcher's command line (in quotes)"),
    TEXT('o', "output", "FILE", output, "new report",
         "write to FILE, which must not exist yet"),
    TEXT(0, "engine", "ENGINE", engine, "render submit",
         "the engine that starts the job"),
    FLAG(0, "wait", wait, "submit",
         "wait for the end of the job, and exit with its exit status"),
    TEXT(0, "color", "WHEN", color, NULL, "when to use colour"),
    FLAG('h', "help", help, NULL, "print this help"),
    FLAG('V', "version", version, NULL, "print the version"),
    {0},
};

/* getopt_long values of options without a letter start here. */
enum { FIRST_VALUE = 256, MAX_OPTIONS = 64, MAX_VERBS = 32 };

bool jr_option_allowed(const struct jr_option *option, const char *verb)
{
    if (option->verbs == NULL)
        return true;
    size_t len = strlen(verb);
    for (const char *at = option->verbs; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == len && memcmp(at, verb, len) == 0)
            return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}

/* The tables that getopt wants, from ours. */
static void getopt_tables(struct option longs[static MAX_OPTIONS],
                          char shorts[static MAX_OPTIONS])
{
    size_t used = 0;
    shorts[used++] = ':'; /* tell a missing argument apart */
    size_t i = 0;
    for (; jr_options[i].name != NULL; i++) {
        const struct jr_option *row = &jr_options[i];
        bool takes = row->kind != JR_OPTION_FLAG;
        longs[i] = (struct option){
            .name = row->name,
            .has_arg = takes ? required_argument : no_argument,
            .val = row->letter != 0 ? row->letter : FIRST_VALUE + (int)i,
        };
        if (row->letter == 0)
            continue;
        shorts[used++] = row->letter;
        if (takes)
            shorts[used++] = ':';
    }
    longs[i] = (struct option){0};
    shorts[used] = '\0';
}

static const struct jr_option *option_by_value(int value)
{
    for (size_t i = 0; jr_options[i].name != NULL; i++)
        if (value == FIRST_VALUE + (int)i ||
            (value < FIRST_VALUE && jr_options[i].letter == value))
            return &jr_options[i];
    return NULL;
}

static int add_option_value(struct jr_cli *cli, const struct jr_option *row,
                            const char *value)
{
    void *place = (char *)cli + row->offset;
    struct jr_strv *list = place;
    if (row->letter == 's' && strchr(value, '=') == NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--set wants PATH=VALUE, not '%s'", value);
    jr_strv_push(list, &cli->arena, jr_arena_strdup(&cli->arena, value));
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    return 0;
}

static int store_option(struct jr_cli *cli, const struct jr_option *row,
                        const char *value)
{
    char *place = (char *)cli + row->offset;
    switch (row->kind) {
    case JR_OPTION_FLAG:
        *(bool *)place = true;
        return 0;
    case JR_OPTION_TEXT:
        memcpy(place, &value, sizeof value);
        return 0;
    case JR_OPTION_LIST:
        return add_option_value(cli, row, value);
    case JR_OPTION_NUMBER:
        break;
    }
    uint32_t number;
    if (!jr_num_u32(value, &number))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--%s wants a whole number, not '%s'", row->name,
                          value);
    memcpy(place, &number, sizeof number);
    memcpy((char *)cli + row->pointer, &place, sizeof place);
    return 0;
}

/* A word or a letter that is no option, with the nearest one. */
static int unknown_option(const struct jr_cli *cli, const char *word)
{
    const char *names[MAX_OPTIONS];
    size_t count = 0;
    for (; jr_options[count].name != NULL; count++)
        names[count] = jr_options[count].name;
    names[count] = NULL;
    const char *bare = word + strspn(word, "-");
    const char *near = jr_did_you_mean(bare, names);
    if (near != NULL && word[1] == '-')
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "unknown option '%s'; did you mean '--%s'?", word,
                          near);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "unknown option '%s'; see jobrun --help", word);
}

/* getopt_long(3) tells by optopt which letter it does not know, and which
 * option got a value that it does not take; for other words it is 0. */
static int refuse_option(const struct jr_cli *cli, const char *word)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    if (optopt == 0)
        return unknown_option(cli, word);
    const struct jr_option *row = option_by_value(optopt);
    if (row == NULL)
        return unknown_option(cli, letter);
    return jr_cli_say(cli, JR_STATUS_USAGE, "'%s': --%s takes no value", word,
                      row->name);
}

/* Every option in `seen` must be one of the verb's. */
static int check_allowed(const struct jr_cli *cli, uint64_t seen)
{
    for (size_t i = 0; jr_options[i].name != NULL; i++)
        if ((seen >> i & 1) != 0 &&
            !jr_option_allowed(&jr_options[i], cli->verb->name))
            return jr_cli_say(cli, JR_STATUS_USAGE,
                              "'%s' has no option --%s; see jobrun %s --help",
                              cli->verb->name, jr_options[i].name,
                              cli->verb->name);
    return 0;
}

/* The verb is the first word if that is one; else `run`. */
static void take_verb(struct jr_cli *cli)
{
    cli->verb = &jr_verbs[0];
    if (cli->words_count == 0)
        return;
    const struct jr_verb *verb = jr_verb_find(cli->words[0]);
    if (verb == NULL)
        return;
    cli->verb = verb;
    cli->verb_stated = true;
    cli->words++;
    cli->words_count--;
}

/* What is no verb is a spec; a bare word that is no file was meant as a verb.
 */
static int check_verb(const struct jr_cli *cli)
{
    const char *names[MAX_VERBS], *word = cli->words[0];
    size_t count = 0;
    if (cli->verb_stated || word == NULL || cli->count != NULL ||
        strpbrk(word, "./:-") != NULL || access(word, F_OK) == 0)
        return 0;
    for (; jr_verbs[count].name != NULL && count + 1 < MAX_VERBS; count++)
        names[count] = jr_verbs[count].name;
    names[count] = NULL;
    const char *near = jr_did_you_mean(word, names);
    if (near != NULL)
        return jr_cli_say(
            cli, JR_STATUS_USAGE,
            "'%s' is neither a verb nor a file; did you mean 'jobrun %s'?",
            word, near);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "'%s' is neither a verb nor a file; see jobrun --help",
                      word);
}

static int read_command_options(struct jr_cli *cli, int argc, char **argv,
                                uint64_t *seen)
{
    struct option longs[MAX_OPTIONS];
    char shorts[MAX_OPTIONS];
    getopt_tables(longs, shorts);
    opterr = 0;
    int value;
    while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct jr_option *row = option_by_value(value);
        if (value == ':')
            return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants a value",
                              argv[optind - 1]);
        if (row == NULL)
            return refuse_option(cli, argv[optind - 1]);
        int status = store_option(cli, row, optarg);
        if (status != 0)
            return status;
        *seen |= UINT64_C(1) << (row - jr_options);
    }
    cli->words = argv + optind;
    cli->words_count = argc - optind;
    return 0;
}

int jr_cli_parse(struct jr_cli *ret, int argc, char **argv, char *const *envp)
{
    ret->environ = envp;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            ret->rest = argv + i + 1;
            argc = i;
            argv[i] = NULL;
        }
    uint64_t seen = 0;
    int status = read_command_options(ret, argc, argv, &seen);
    if (status == 0)
        status = jr_cli_color(ret);
    if (status != 0)
        return status;
    take_verb(ret);
    status = ret->help || ret->version ? 0 : check_verb(ret);
    return status != 0 ? status : check_allowed(ret, seen);
}
