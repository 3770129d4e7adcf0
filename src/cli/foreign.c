/* The words of other launchers and tools, and the line to type instead: mistakes.h declares them.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "spec/foreign.h"
#include "spec/manual.h"

#include "base/banned.h"

#define JOB "run plan resolve render submit"

#define NUMBER    "#"
#define DURATION  "@"
#define HOSTS     ","
#define FILE_NAME "/"
#define ANY       ""

/* A field of the spec by its dotted path, as an option. */
static const struct jr_foreign_option path_row = {"", JOB, JR_FOREIGN_PATH, ANY, ""};

/* Whether the first `len` bytes of a text are a field at the top of a spec. */
static bool is_field(const char *text, size_t len)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char *name = jr_arena_strndup(&arena, text, len);
    const char **paths = name == NULL ? NULL : jr_field_paths(&arena);
    while (paths != NULL && *paths != NULL && strcmp(*paths, name) != 0)
        paths++;
    bool found = paths != NULL && *paths != NULL;
    jr_arena_release(&arena);
    return found;
}

/* Whether a word is "--vars.lr", with a value or without. */
static bool is_path_option(const char *word)
{
    static const char path[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.[]";
    size_t len = strspn(word, path);
    if (strncmp(word, "--", 2) != 0 || (word[len] != '\0' && word[len] != '='))
        return false;
    size_t key = strcspn(word + 2, ".[=");
    return word[2 + key] == '.' && is_field(word + 2, key);
}

const struct jr_foreign_option *jr_foreign_option_find(const char *word, const char *verb)
{
    size_t len = strcspn(word, "=");
    const struct jr_foreign_option *row = jr_foreign_option_row(word, len, verb);
    bool glued = row == NULL && word[0] == '-' && isalpha((unsigned char)word[1]) && len > 2 &&
                 strspn(word + 2, "0123456789") == len - 2;
    if (glued) /* -N2 */
        row = jr_foreign_option_row(word, 2, verb);
    if (row != NULL)
        return row;
    return jr_foreign_lists(JOB, verb, strlen(verb)) && is_path_option(word) ? &path_row : NULL;
}

/* Whether YAML reads the text as it stands, as a value and in a list. */
static bool is_plain(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 ||
        (!isalnum((unsigned char)text[0]) && text[0] != '/' && text[0] != '.' && text[0] != '_'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("/._-+=,:@", text[i]) == NULL)
            return false;
    return text[len - 1] != ':';
}

/* Whether `value` can be told here as the row says. */
static bool foreign_option_takes(const struct jr_foreign_option *row, const char *value)
{
    uint32_t number;
    uint64_t ms;
    if (row->value == NULL || row->kind == JR_FOREIGN_NONE)
        return true;
    if (strcmp(row->value, NUMBER) == 0)
        return jr_num_u32(value, &number) && number > 0;
    if (strcmp(row->value, DURATION) == 0)
        return jr_num_duration(value, &ms);
    if (row->kind == JR_FOREIGN_ENTRY) { /* NAME or NAME=VALUE, with the name of a variable */
        size_t len = strcspn(value, "=");
        bool name = len > 0 && isdigit((unsigned char)value[0]) == 0;
        for (size_t i = 0; i < len; i++)
            name = name && (isalnum((unsigned char)value[i]) || value[i] == '_');
        return name && (value[len] == '\0' || is_plain(value + len + 1));
    }
    if (row->kind == JR_FOREIGN_BARE && row->here != NULL)
        return jr_near_file_is_yaml(value);
    if (strcmp(row->value, HOSTS) == 0)
        return is_plain(value) && strchr(value, ':') == NULL;
    if (row->kind == JR_FOREIGN_FILLED)
        return true;
    if (row->value[0] != '\0')
        return jr_foreign_lists(row->value, value, strlen(value));
    return row->kind != JR_FOREIGN_FIELD || is_plain(value);
}

void jr_foreign_option_describe(struct jr_buf *out, const struct jr_foreign_option *row)
{
    static const char *const forms[] = {
        [JR_FOREIGN_RANKS] = "type -s world_size=N, or before a command -n N",
        [JR_FOREIGN_LOCAL] = "type -s local_world_size=N, or leave it out before a spec, which "
                             "then has a rank for each device",
        [JR_FOREIGN_NODES] = "type -s nodes=N: a job has one number of nodes",
        [JR_FOREIGN_FIELD] = "type -s %s=",
        [JR_FOREIGN_LIST] = "type -s %s=[A,B]",
        [JR_FOREIGN_ENTRY] = "type -s %s.NAME=VALUE",
        [JR_FOREIGN_WORDS] = "type %s",
        [JR_FOREIGN_FILLED] = "type ",
        [JR_FOREIGN_PATH] = "type -s PATH=VALUE",
        [JR_FOREIGN_BARE] = "leave the option out, and type the name alone",
        [JR_FOREIGN_VERB] = "type jobrun %s SPEC",
        [JR_FOREIGN_NONE] = "leave it out: %s",
    };
    const char *form = row->kind < sizeof forms / sizeof *forms ? forms[row->kind] : NULL;
    const char *slot = form == NULL ? NULL : strstr(form, "%s");
    if (form == NULL || (slot == NULL && row->kind == JR_FOREIGN_BARE && row->here != NULL)) {
        jr_buf_str(out, row->here);
    } else if (slot == NULL) {
        jr_buf_str(out, form);
        if (row->kind == JR_FOREIGN_FILLED)
            jr_buf_replaced(out, row->here, "%s",
                            strcmp(row->value, HOSTS) == 0       ? "A,B"
                            : strcmp(row->value, FILE_NAME) == 0 ? "FILE"
                                                                 : "VALUE");
    } else {
        jr_buf_add(out, form, (size_t)(slot - form));
        jr_buf_str(out, row->here);
        jr_buf_str(out, slot + 2);
        if (row->kind == JR_FOREIGN_FIELD)
            jr_buf_replaced(out,
                            strcmp(row->value, DURATION) == 0 ? "30m"
                            : strcmp(row->value, NUMBER) == 0 ? "N"
                            : strcmp(row->value, ANY) == 0    ? "VALUE"
                                                              : row->value,
                            " ", "|");
    }
}

/* Verbs of docker, kubectl, Slurm, git and build tools. */
static const struct {
    const char *names, *here;
} foreign_verbs[] = {
    {"up start launch exec execute train begin apply", "run"},
    {"sbatch queue enqueue", "submit --engine slurm"},
    {"ps ls list history squeue sacct jobs", "runs"},
    {"status info inspect describe result results get", "show"},
    {"kill cancel abort down scancel terminate", "stop"},
    {"log tail", "logs"},
    {"attach follow", "logs --follow"},
    {"watch monitor dashboard htop", "top"},
    {"check lint verify test fmt", "validate"},
    {"dry-run dryrun simulate preview", "plan"},
    {"config print expand", "resolve"},
    {"restart resume retry repeat", "rerun"},
    {"rm remove delete clean cleanup gc purge", "prune"},
    {"init create generate template scaffold", "new"},
    {"compare", "diff"},
    {"export manifest script", "render"},
    {"env hardware devices sysinfo nvidia-smi", "doctor"},
    {"man docs usage", "help"},
};

static bool has_name(const char *names, const char *word)
{
    size_t len = strlen(word);
    while (*names != '\0') {
        size_t size = strcspn(names, " ");
        if (size == len && memcmp(names, word, len) == 0)
            return true;
        names += size + strspn(names + size, " ");
    }
    return false;
}

const char *jr_foreign_verb(const char *word)
{
    for (size_t i = 0; i < sizeof foreign_verbs / sizeof *foreign_verbs; i++)
        if (has_name(foreign_verbs[i].names, word))
            return foreign_verbs[i].here;
    return NULL;
}

bool jr_foreign_launcher(const char *word)
{
    return has_name("torchrun accelerate deepspeed horovodrun mpirun mpiexec "
                    "mpiexec.hydra mpirun.openmpi srun",
                    word);
}

bool jr_foreign_container(const char *word)
{
    return has_name("docker podman apptainer singularity enroot", word);
}

/*
 * The words of the line are walked once. Options of others become ours by their rows; the numbers
 * of ranks and nodes are kept back until it is known whether there is a spec (fields of it) or a
 * command (-n).
 */

struct line {
    const struct jr_cli *cli;
    char *const *at; /* the word that is read */
    const char *verb;
    const char *numbers[3]; /* RANKS, LOCAL, NODES; NULL: not stated */
    struct jr_buf words;    /* spec, or runs */
    struct jr_buf options;
    char *const *command; /* NULL: there is none */
    char *const *rest;    /* with its `--`; NULL: there is none */
    bool verb_read;
};

/* The fields of the numbers. */
static const char *const fields[] = {
    [JR_FOREIGN_RANKS] = "world_size",
    [JR_FOREIGN_LOCAL] = "local_world_size",
    [JR_FOREIGN_NODES] = "nodes",
};

bool jr_line_is_python(const char *word)
{
    size_t len = strlen(word);
    return len > 3 && strcmp(word + len - 3, ".py") == 0;
}

bool jr_line_is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

const char *jr_line_interpreter(const char *word)
{
    return jr_line_is_python(word) && !jr_line_is_program(word) ? " python3" : "";
}

bool jr_line_is_setting(const char *word)
{
    static const char path[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]";
    word += *word == '+';
    return isalpha((unsigned char)*word) && word[strspn(word, path)] == '=';
}

void jr_line_add_setting(struct jr_buf *line, const char *word)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *path = word + (*word == '+');
    size_t len = strcspn(path, ".[=");
    jr_buf_printf(&text, "%s%s%s", path > word ? "+" : "",
                  path[len] == '=' && !is_field(path, len) ? "vars." : "", path);
    line->failed |= text.failed;
    jr_buf_str(line, " -s ");
    if (!text.failed)
        jr_shell_quote(line, text.data);
}

static bool is_job(const struct line *line)
{
    return (line->cli->verb->flags & JR_VERB_JOB) != 0;
}

static void add_word(struct jr_buf *out, const char *word)
{
    jr_buf_char(out, ' ');
    jr_shell_quote(out, word);
}

/* The value of the option that is read: behind '=', or the next word. */
static const char *take_value(struct line *line)
{
    const char *equals = strchr(*line->at, '=');
    if (equals != NULL)
        return equals + 1;
    if (line->at[1] == NULL)
        return NULL;
    return *++line->at;
}

/* Append `-s HERE=VALUE`. */
static void add_setting(struct line *line, const char *format, const char *here, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf setting = JR_BUF_INIT;
    jr_buf_printf(&setting, "%s%s", here, strchr(format, '=') ? "=" : ".");
    jr_buf_printf(&setting, strchr(format, '[') ? "[%s]" : "%s", value);
    line->options.failed |= setting.failed;
    jr_buf_str(&line->options, " -s");
    if (!setting.failed)
        add_word(&line->options, setting.data);
}

/* Append `here` with the value in it. */
static void add_filled(struct line *line, const char *here, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
    jr_shell_quote(&word, value);
    jr_buf_char(&line->options, ' ');
    if (!word.failed)
        jr_buf_replaced(&line->options, here, "%s", word.data);
    line->options.failed |= word.failed;
}

/* Add what `option`, as it was typed, is here. */
static void add_foreign(struct line *line, const struct jr_foreign_option *row, const char *option,
                        const char *value)
{
    JR_FREE char *path = NULL;
    switch (row->kind) {
    case JR_FOREIGN_RANKS:
    case JR_FOREIGN_LOCAL:
    case JR_FOREIGN_NODES:
        line->numbers[row->kind] = value;
        break;
    case JR_FOREIGN_FIELD:
        add_setting(line, "=", row->here, value);
        break;
    case JR_FOREIGN_LIST:
        add_setting(line, "=[]", row->here, value);
        break;
    case JR_FOREIGN_ENTRY:
        if (strchr(value, '=') != NULL)
            add_setting(line, ".", row->here, value);
        break;
    case JR_FOREIGN_WORDS:
        jr_buf_printf(&line->options, " %s", row->here);
        if (value != NULL)
            add_word(&line->options, value);
        break;
    case JR_FOREIGN_FILLED:
        add_filled(line, row->here, value);
        break;
    case JR_FOREIGN_BARE:
        add_word(&line->words, value);
        break;
    case JR_FOREIGN_PATH:
        path = strndup(option + 2, strcspn(option + 2, "="));
        if (path != NULL)
            add_setting(line, "=", path, value);
        line->options.failed |= path == NULL;
        break;
    case JR_FOREIGN_VERB:
        line->verb = row->here;
        break;
    case JR_FOREIGN_NONE:
    case JR_FOREIGN_ASK:
        break;
    }
}

/* Read an option that a row has. */
static bool read_foreign(struct line *line, const struct jr_foreign_option *row)
{
    const char *option = *line->at, *value = NULL;
    if (row->kind == JR_FOREIGN_ASK)
        return false;
    if (row->value == NULL && strchr(*line->at, '=') != NULL)
        return false;
    if (row->value != NULL)
        value = take_value(line);
    if (row->value != NULL && (value == NULL || !foreign_option_takes(row, value)))
        return false;
    add_foreign(line, row, option, value);
    return true;
}

/* Read an option of the verb's own as it was typed; -n as a number. */
static bool read_own(struct line *line, const struct jr_option *own)
{
    const char *word = *line->at;
    bool is_long = word[1] == '-';
    bool attached = is_long ? strchr(word, '=') != NULL : word[2] != '\0';
    if (!is_long && attached && own->arg == NULL)
        return false; /* several letters */
    bool behind = own->arg != NULL && !attached;
    if (behind && line->at[1] == NULL)
        return false;
    if (own->letter == 'n') {
        line->numbers[JR_FOREIGN_RANKS] = behind    ? *++line->at
                                          : is_long ? strchr(word, '=') + 1
                                                    : word + 2;
        return true;
    }
    add_word(&line->options, word);
    if (behind)
        add_word(&line->options, *++line->at);
    return true;
}

static bool read_option(struct line *line)
{
    const char *word = *line->at, *verb = line->cli->verb->name;
    const struct jr_option *own = word[1] == '-'
                                      ? jr_option_by_name(word + 2, strcspn(word + 2, "="))
                                      : jr_option_by_letter(word[1]);
    const struct jr_foreign_option *row = jr_foreign_option_find(word, verb);
    bool whole = word[1] == '-' ? own != NULL && strlen(own->name) == strcspn(word + 2, "=")
                                : word[2] == '\0';
    bool exact = own != NULL && jr_option_allowed(own, verb) && (row == NULL || whole);
    if (exact)
        return read_own(line, own);
    return row != NULL && read_foreign(line, row);
}

/* Read a word: the verb, a spec or a run, or the first of a command. */
static bool read_word(struct line *line)
{
    const struct jr_cli *cli = line->cli;
    const char *word = *line->at;
    if (cli->verb_stated && !line->verb_read) {
        line->verb_read = true;
        return strcmp(word, cli->verb->name) == 0;
    }
    if (!is_job(line) || (jr_mistake_is_spec_name(word) && line->words.len == 0)) {
        add_word(&line->words, word);
        return true;
    }
    line->command = line->at;
    return line->words.len == 0;
}

static bool read_line(struct line *line)
{
    line->at = line->cli->argv + 1;
    for (; *line->at != NULL && line->command == NULL; line->at++) {
        if (strcmp(*line->at, "--") == 0) {
            line->rest = line->at;
            break;
        }
        bool option = (*line->at)[0] == '-' && (*line->at)[1] != '\0';
        if (option ? !read_option(line) : !read_word(line))
            return false;
    }
    if (line->rest != NULL && line->words.len == 0 && is_job(line)) {
        line->command = line->rest + 1;
        line->rest = NULL;
    }
    return is_job(line) ? line->words.len > 0 || (line->command != NULL && *line->command != NULL)
                        : line->rest == NULL;
}

/* Append -n, or what it must be replaced by: the number of ranks as far as it is stated, nodes
 * times those on each. */
static void add_count(struct jr_buf *out, struct line *line)
{
    const char *ranks = line->numbers[JR_FOREIGN_RANKS], *each = line->numbers[JR_FOREIGN_LOCAL];
    const char *stated = line->numbers[JR_FOREIGN_NODES];
    uint32_t local = 0, nodes = 1;
    bool known = ranks == NULL && each != NULL && jr_num_u32(each, &local) && local > 0 &&
                 (stated == NULL || (jr_num_u32(stated, &nodes) && nodes > 0));
    jr_buf_str(out, " -n");
    if (known)
        jr_buf_printf(out, " %lu", (unsigned long)local * nodes);
    else
        add_word(out, ranks != NULL ? ranks : "N");
    if (known)
        line->numbers[JR_FOREIGN_LOCAL] = NULL;
}

static void compose_line(struct jr_buf *out, struct line *line)
{
    bool command = line->command != NULL;
    jr_buf_str(out, "jobrun");
    if (line->verb != NULL)
        jr_buf_printf(out, " %s", line->verb);
    if (command)
        add_count(out, line);
    for (int kind = JR_FOREIGN_RANKS; kind <= JR_FOREIGN_NODES; kind++) /* what is left */
        if (line->numbers[kind] != NULL &&
            !(command && (kind == JR_FOREIGN_RANKS || strcmp(line->numbers[kind], "1") == 0)))
            add_setting(line, "=", fields[kind], line->numbers[kind]);
    out->failed |= line->words.failed || line->options.failed;
    if (line->words.len > 0)
        jr_buf_str(out, line->words.data);
    if (line->options.len > 0)
        jr_buf_str(out, line->options.data);
    if (command)
        jr_buf_printf(out, " --%s", jr_line_interpreter(*line->command));
    for (char *const *word = command ? line->command : line->rest; word != NULL && *word != NULL;
         word++)
        add_word(out, *word);
}

bool jr_line_correct(struct jr_buf *out, const struct jr_cli *cli)
{
    struct line line = {
        .cli = cli,
        .verb = cli->verb_stated ? cli->verb->name : NULL,
        .words = JR_BUF_INIT,
        .options = JR_BUF_INIT,
    };
    bool certain = read_line(&line);
    if (certain)
        compose_line(out, &line);
    jr_buf_release(&line.words);
    jr_buf_release(&line.options);
    return certain && !out->failed;
}
