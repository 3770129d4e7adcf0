/* cli.h declares it. */
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"

#include "base/banned.h"

/* FIRST_VALUE: what getopt_long returns for the first option by its name. */
enum { MAX_OPTIONS = 64, FIRST_VALUE = 256 };

struct reading {
    struct jr_cli *cli;
    char **argv;
    int end, at;                /* of the options; the word that is read */
    int option_at[MAX_OPTIONS]; /* the word that each was in; 0: none */
    bool command;               /* the last word begins a command */
    const char *unknown;        /* an option that is none, "--word" or "-w" */
    char letter[3];
};

static int store_option(struct reading *reading, const struct jr_option *row, const char *value)
{
    struct jr_cli *cli = reading->cli;
    char *place = (char *)cli + row->offset;
    uint32_t number;
    reading->option_at[row - jr_options] = reading->at;
    switch (row->kind) {
    case JR_OPTION_FLAG:
        *(bool *)place = true;
        return 0;
    case JR_OPTION_TEXT:
    case JR_OPTION_MAYBE:
        memcpy(place, &value, sizeof value);
        return 0;
    case JR_OPTION_LIST:
        if (row->letter == 's' && strchr(value, '=') == NULL)
            return jr_mistake_set(cli, value, reading->argv[optind]);
        jr_strv_push((void *)place, &cli->arena, jr_arena_strdup(&cli->arena, value));
        return cli->arena.failed ? jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory") : 0;
    case JR_OPTION_NUMBER:
        if (!jr_num_u32(value, &number))
            return jr_mistake_number(cli, row, value);
        memcpy(place, &number, sizeof number);
        memcpy((char *)cli + row->pointer, &place, sizeof place);
        return 0;
    }
    return 0;
}

/* The tables that getopt_long(3) wants, from ours. Words are told in their place (-), and a missing
 * value apart (:). */
static void fill_getopt_tables(struct option longs[static MAX_OPTIONS],
                               char letters[static 4 * MAX_OPTIONS])
{
    size_t used = 0, i = 0;
    letters[used++] = '-';
    letters[used++] = ':';
    for (; jr_options[i].name != NULL && i + 1 < MAX_OPTIONS; i++) {
        const struct jr_option *row = &jr_options[i];
        const char own[] = {row->letter, row->alias};
        longs[i] = (struct option){
            .name = row->name,
            .has_arg = row->kind == JR_OPTION_MAYBE ? optional_argument
                       : row->arg != NULL           ? required_argument
                                                    : no_argument,
            .val = FIRST_VALUE + (int)i,
        };
        for (size_t k = 0; k < sizeof own; k++) {
            if (own[k] != '\0')
                letters[used++] = own[k];
            if (own[k] != '\0' && row->arg != NULL)
                letters[used++] = ':';
        }
    }
    longs[i] = (struct option){0};
    letters[used] = '\0';
}

/* The option that getopt_long(3) means; NULL: it is none. */
static const struct jr_option *option_of(int value)
{
    return value >= FIRST_VALUE ? &jr_options[value - FIRST_VALUE]
                                : jr_option_by_letter((char)value);
}

/* Note a word such as -np of mpirun, which getopt_long(3) would take for -n p,
 * or -set, which it would take for -s et, or --n, which it would take for
 * --node-rank. Returns whether it is one. */
static bool note_foreign_word(struct reading *reading)
{
    const struct jr_cli *cli = reading->cli;
    const char *word = reading->argv[reading->at];
    if (reading->at >= reading->end || word[0] != '-' || word[1] == '\0' || word[2] == '\0')
        return false;
    bool two = word[1] == '-';
    const char *name = word + 1 + two;
    size_t len = strcspn(name, "=");
    const struct jr_option *row = jr_option_by_name(name, len);
    bool own = row != NULL && strlen(row->name) == len; /* the name of an option */
    const struct jr_verb *verb = cli->words_count == 0 ? NULL : jr_verb_find(cli->words[0]);
    bool foreign = jr_foreign_option_find(word, verb == NULL ? "run" : verb->name) != NULL;
    if (two ? own || !foreign : !own && !foreign)
        return false;
    reading->unknown = word;
    return true;
}

static int read_words(struct reading *reading)
{
    struct jr_cli *cli = reading->cli;
    struct option longs[MAX_OPTIONS];
    char letters[4 * MAX_OPTIONS];
    int status = 0;
    fill_getopt_tables(longs, letters);
    opterr = 0;
    optind = 0; /* begin anew (glibc) */
    while (status == 0 && reading->unknown == NULL && !reading->command) {
        reading->at = optind > 0 ? optind : 1;
        if (note_foreign_word(reading))
            break;
        int value = getopt_long(reading->end, reading->argv, letters, longs, NULL);
        if (value == -1)
            break;
        if (value == 1) {
            bool verb = cli->words_count == 0 && jr_verb_find(optarg) != NULL;
            cli->words[cli->words_count++] = optarg;
            reading->command = cli->count != NULL && !verb && !jr_mistake_is_spec_name(optarg);
        } else if (value == ':') {
            status = jr_mistake_no_value(cli, option_of(optopt), reading->argv[reading->at]);
        } else if (value != '?') {
            status = store_option(reading, option_of(value), optarg != NULL ? optarg : "");
        } else if (option_of(optopt) != NULL) { /* it got a value that it does not take */
            const char *word = reading->argv[reading->at];
            status = jr_mistake_flag_value(cli, option_of(optopt), word + strcspn(word, "=") + 1);
        } else { /* optopt is the letter that is not known; for other words it is 0 */
            reading->letter[0] = '-';
            reading->letter[1] = (char)optopt;
            reading->unknown = optopt == 0 ? reading->argv[reading->at] : reading->letter;
        }
    }
    return status;
}

/* Every option must be one of the verb's. */
static int check_allowed(const struct reading *reading)
{
    const struct jr_cli *cli = reading->cli;
    for (size_t i = 0; jr_options[i].name != NULL; i++)
        if (reading->option_at[i] != 0 && !jr_option_allowed(&jr_options[i], cli->verb->name))
            return jr_mistake_foreign_option(cli, &jr_options[i],
                                             reading->argv[reading->option_at[i]]);
    return 0;
}

/* Whether the first `len` bytes of `path` are a folder with that file. */
static bool has_file(struct jr_arena *arena, const char *path, size_t len, const char *name)
{
    const char *file = jr_arena_printf(arena, "%.*s/%s", (int)len, path, name);
    return file != NULL && access(file, F_OK) == 0;
}

/* A run by the path of its folder, a sweep by that of its own, or a cell of it, PATH/7: where the
 * id begins in `path`. NULL: it is none of them. */
static char *find_id_in_path(struct jr_arena *arena, char *path)
{
    size_t len = strlen(path), slash = 0;
    if (has_file(arena, path, len, "run.json"))
        return strrchr(path, '/') + 1;
    for (size_t at = 1; at <= len; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        if (memchr(path, '/', at) != NULL && has_file(arena, path, at, "sweep.json"))
            return path + slash + 1;
        slash = at;
    }
    return NULL;
}

/* A run may be told by the path of its folder, which is LOG_DIR and the id. A shell's completion
 * leaves slashes behind it. NULL where the word is none. */
static char *split_run_path(struct jr_arena *arena, const char *word, char **ret_log_dir)
{
    char *path = jr_arena_strdup(arena, word);
    size_t len = path == NULL ? 0 : strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    if (len == 0 || strchr(path, '/') == NULL)
        return NULL;
    char *id = find_id_in_path(arena, path);
    if (id == NULL)
        return NULL;
    len = (size_t)(id - path);
    *ret_log_dir = jr_arena_strndup(arena, path, len > 1 ? len - 1 : 1);
    return id;
}

/* What is stated by --log-dir, or lies in two, is left as it was typed. */
static void split_run_paths(struct jr_cli *cli)
{
    char *ids[2] = {0}, *log_dir = NULL;
    bool runs = (cli->verb->flags & JR_VERB_RUNS) != 0;
    if (!runs || cli->log_dir != NULL || cli->words_count > 2)
        return;
    for (int i = 0; i < cli->words_count; i++) {
        char *own = NULL;
        ids[i] = split_run_path(&cli->arena, cli->words[i], &own);
        if (ids[i] == NULL)
            continue;
        if (own == NULL || (log_dir != NULL && strcmp(log_dir, own) != 0))
            return;
        log_dir = own;
    }
    for (int i = 0; i < cli->words_count && log_dir != NULL; i++)
        if (ids[i] != NULL)
            cli->words[i] = ids[i];
    if (log_dir != NULL && strcmp(log_dir, jr_cli_log_dir(cli)) != 0)
        cli->log_dir = log_dir;
}

static int check_line(const struct reading *reading)
{
    struct jr_cli *cli = reading->cli;
    int status = cli->verb_stated ? 0 : jr_foreign_launcher_line(cli);
    if (status != 0)
        return status;
    if (reading->command && (cli->verb->flags & JR_VERB_JOB))
        status = check_allowed(reading);
    if (reading->command && (cli->verb->flags & JR_VERB_JOB))
        return status != 0 ? status : jr_mistake_command(cli);
    if (!cli->help && !cli->version && cli->verb_stated)
        status = jr_mistake_verb_script(cli);
    if (status != 0)
        return status;
    if (!cli->help && !cli->version && !cli->verb_stated)
        status = jr_mistake_first_word(cli);
    if (status == 0 && reading->unknown != NULL)
        return jr_mistake_unknown_option(cli, reading->unknown, reading->argv[reading->at]);
    if (status == 0)
        status = check_allowed(reading);
    if (status != 0)
        return status;
    /* What starts ranks itself is ssh; to others a job is handed over. */
    const char *verb = cli->verb->name;
    if (cli->engine != NULL && strcmp(cli->engine, "ssh") != 0 && strcmp(verb, "render") != 0 &&
        strcmp(verb, "submit") != 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--engine of %s is ssh, which starts the ranks on "
                          "`hosts`; for slurm, kubernetes and mpi there are "
                          "render and submit: jobrun render SPEC --engine slurm",
                          verb);
    struct stat root; /* a folder, or nothing would be found below it */
    if (cli->root != NULL && (stat(cli->root, &root) != 0 || !S_ISDIR(root.st_mode)))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--root wants a folder, and %s is none; leave it out, and it is the top "
                          "of the git work tree, or else the folder of the spec",
                          cli->root);
    return 0;
}

int jr_cli_parse(struct jr_cli *ret, int argc, char **argv, char *const *envp)
{
    struct reading reading = {.cli = ret, .argv = argv, .end = 1};
    ret->environ = envp;
    ret->argv = argv;
    ret->words = jr_arena_array(&ret->arena, (size_t)argc + 1, sizeof *ret->words);
    if (ret->words == NULL)
        return jr_cli_say(ret, JR_STATUS_LAUNCH, "out of memory");
    while (reading.end < argc && strcmp(argv[reading.end], "--") != 0)
        reading.end++;
    if (reading.end < argc)
        ret->rest = argv + reading.end + 1;
    int status = read_words(&reading);
    if (status == 0)
        status = jr_cli_color(ret);
    if (status != 0)
        return status;
    /* The verb is the first word if that is one; else `run`, or `help` where that is asked for. */
    const struct jr_verb *verb = ret->words_count == 0 ? NULL : jr_verb_find(ret->words[0]);
    ret->verb = verb != NULL ? verb : ret->help ? jr_verb_find("help") : &jr_verbs[0];
    ret->verb_stated = verb != NULL;
    ret->words += verb != NULL;
    ret->words_count -= verb != NULL;
    status = check_line(&reading);
    if (status != 0)
        return status;
    if (!(ret->verb->flags & (JR_VERB_JOB | JR_VERB_REST))) {
        /* `--` only ends the options: the words after it are as those before. */
        for (char **word = ret->rest; word != NULL && *word != NULL; word++)
            ret->words[ret->words_count++] = *word;
        ret->rest = NULL;
    }
    split_run_paths(ret);
    return ret->help ? 0 : jr_mistake_words(ret);
}
