#include "session/specs/spec_help.h"

#include <string.h>

#include "base/setting_words.h"
#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "spec/field.h"
#include "spec/foreign.h"
#include "spec/jsonschema.h"
#include "spec/manual.h"

#include "base/banned.h"

/* clang-format off */
#define TEXT_minimal                                                           \
    "version: 1  #?\n"                                                         \
    "name: hello  #?\n"                                                        \
    "entrypoint:  #?\n"                                                        \
    "  shell: echo \"rank $RANK of $WORLD_SIZE\"  #?\n"                        \
    "# entrypoint: [./program, --option, value]  # or a command, no shell\n"   \
    "\n"                                                                       \
    "world_size: auto  #?\n"                                                   \
    "# env: {NAME: value}  #?\n"                                               \
    "# timeouts:\n"                                                            \
    "#   run: 1h  #?\n"

#define TEXT_torch                                                             \
    "version: 1  #?\n"                                                         \
    "name: train  #?\n"                                                        \
    "entrypoint: [python3, train.py, --epochs, 5]  #?\n"                       \
    "\n"                                                                       \
    "world_size: auto  #?\n"                                                   \
    "device: auto  #?\n"                                                       \
    "backends: auto  #?\n"                                                     \
    "threads: auto  #?\n"                                                      \
    "env_profiles: [torch]  #?\n"                                              \
    "\n"                                                                       \
    "tee: all  #?\n"                                                           \
    "console:\n"                                                               \
    "  ranks: all  #?\n"                                                       \
    "timeouts:\n"                                                              \
    "  run: 1d  #?\n"                                                          \
    "  stop_grace: 30s  #?\n"                                                  \
    "\n"                                                                       \
    "# A rank that exits with 0 has delivered. With this, it must also write\n"\
    "# such JSON to $JOBRUN_RESULT_FILE:\n"                                    \
    "# results:\n"                                                             \
    "#   fields:  #?\n"                                                        \
    "#     loss: {type: number, max: 2.5}\n"                                   \
    "#     weights_sha: {type: string}\n"                                      \
    "#   equal: [weights_sha]  #?\n"

#define TEXT_python                                                            \
    "# train.py, beside this file:\n"                                          \
    "#   def main(lr, epochs=1):\n"                                            \
    "#       return {\"loss\": 0.5}\n"                                         \
    "version: 1  #?\n"                                                         \
    "name: train  #?\n"                                                        \
    "entrypoint:\n"                                                            \
    "  python:\n"                                                              \
    "    function: train:main  #?\n"                                           \
    "    # interpreter: .venv/bin/python\n"                                    \
    "    # init: torch\n"                                                      \
    "  kwargs: {lr: 0.1, epochs: 5}  #?\n"                                     \
    "# per_rank: {0: {kwargs: {epochs: 6}}}  #?\n"                             \
    "\n"                                                                       \
    "world_size: 2  #?\n"                                                      \
    "device: cpu  #?\n"                                                        \
    "# start_method: forkserver  #?\n"                                         \
    "# preload: [numpy]  #?\n"                                                 \
    "timeouts: {run: 1h}  #?\n"                                                \
    "\n"                                                                       \
    "# Every rank must return. With this, what it returns must hold:\n"        \
    "results:\n"                                                               \
    "  fields:  #?\n"                                                          \
    "    loss: {type: number, max: 2.5}\n"                                     \
    "  equal: [loss]  #?\n"

#define TEXT_mpi                                                               \
    "# No mpirun and no MPI_Init: the program learns who it is from RANK\n"    \
    "# and WORLD_SIZE, or from its arguments, and meets the others at\n"       \
    "# MASTER_ADDR and MASTER_PORT.\n"                                         \
    "version: 1  #?\n"                                                         \
    "name: simulate  #?\n"                                                     \
    "entrypoint: [./simulate, --rank, '%{rank}', --ranks, '%{world_size}']"    \
    "  #?\n"                                                                   \
    "\n"                                                                       \
    "world_size: 4  #?\n"                                                      \
    "device: cpu  #?\n"                                                        \
    "oversubscribe: true  #?\n"                                                \
    "threads: 1  #?\n"                                                         \
    "master_port: auto  #?\n"                                                  \
    "\n"                                                                       \
    "on_failure: stop  #?\n"                                                   \
    "timeouts: {run: 1h, stop_grace: 5s}  #?\n"                                \
    "\n"                                                                       \
    "# What each rank must deliver besides exit code 0: here a line such as\n" \
    "# \"energy=-1.25\" on its standard output.\n"                             \
    "# results:\n"                                                             \
    "#   from: stdout  #?\n"                                                   \
    "#   pattern: energy=(?<energy>\\S+)  #?\n"                                \
    "#   fields:  #?\n"                                                        \
    "#     energy: {type: number}\n"                                           \
    "#   equal: [energy]  #?\n"

#define TEXT_slurm                                                             \
    "# jobrun submit train.jobrun.yaml --engine slurm, or in the script of\n"  \
    "# an allocation (sbatch, salloc): jobrun train.jobrun.yaml. It starts\n"  \
    "# its ranks on all nodes; log_dir is where all nodes see it.\n"           \
    "version: 1  #?\n"                                                         \
    "name: train  #?\n"                                                        \
    "entrypoint: [python3, train.py, --epochs, 5]  #?\n"                       \
    "\n"                                                                       \
    "nodes: 2  #?\n"                                                           \
    "local_world_size: auto  #?\n"                                             \
    "master_addr: auto  #?\n"                                                  \
    "master_port: auto  #?\n"                                                  \
    "backends: auto  #?\n"                                                     \
    "threads: auto  #?\n"                                                      \
    "\n"                                                                       \
    "# Less than KillWait, so that jobrun is done before Slurm kills.\n"       \
    "timeouts:\n"                                                              \
    "  run: 1d  #?\n"                                                          \
    "  stop_grace: 20s  #?\n"                                                  \
    "log_dir: runs  #?\n"

#define TEXT_mesh                                                              \
    "# Eight ranks: 2 x 2 x 2, laid out [data][pipeline][model].\n"            \
    "# `jobrun plan` shows the groups; each rank finds its own in\n"           \
    "# MODEL_PARALLEL_RANK, _GROUP, _MEMBERS and so on for each axis.\n"       \
    "version: 1  #?\n"                                                         \
    "name: mesh  #?\n"                                                         \
    "entrypoint: [python3, train.py]  #?\n"                                    \
    "\n"                                                                       \
    "world_size: 8  #?\n"                                                      \
    "parallelism:  #?\n"                                                       \
    "  model: 2  #?\n"                                                         \
    "  pipeline: 2  #?\n"                                                      \
    "  data: auto  #?\n"                                                       \
    "backends:  #?\n"                                                          \
    "  default: auto  #?\n"                                                    \
    "  pipeline: gloo  #?\n"                                                   \
    "console:\n"                                                               \
    "  prefix: '[d%{data_rank} p%{pipeline_rank} m%{model_rank}] '  #?\n"
/* clang-format on */

#define STARTER(word, help) {#word, help, TEXT_##word},

const struct jr_starter_spec jr_starter_specs[] = {JR_STARTERS(STARTER){0}};

const struct jr_starter_spec *jr_starter_spec_find(const char *word)
{
    for (const struct jr_starter_spec *row = jr_starter_specs; row->word != NULL; row++)
        if (word == NULL || strcmp(row->word, word) == 0)
            return row;
    return NULL;
}

enum { STEP = 2, LEVELS = 4, MOST_KEY = 64, HELP_COLUMN = 24, WIDTH = 79 };

/* The keys that the current line is below, by depth. */
struct place {
    char keys[LEVELS][MOST_KEY];
};

/* Enter the key of a line, commented out or not. The row of its field, or NULL where it has
 * none. */
static const struct jr_spec_field *enter_starter_key(struct place *place, const char *line)
{
    line += strncmp(line, "# ", 2) == 0 ? 2 : 0;
    size_t depth = strspn(line, " ") / STEP;
    line += depth * STEP;
    size_t len = strcspn(line, ":\n");
    if (depth >= LEVELS || len >= MOST_KEY || line[len] != ':')
        return NULL;
    memcpy(place->keys[depth], line, len);
    place->keys[depth][len] = '\0';
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i <= depth; i++)
        jr_buf_printf(&path, "%s%s", i == 0 ? "" : ".", place->keys[i]);
    return path.data == NULL ? NULL : jr_field_find(path.data);
}

/* A line above another one, at its depth, commented out if that is. */
static void print_line_above(struct jr_buf *out, const char *line, const char *before,
                             const char *text)
{
    size_t mark = strncmp(line, "# ", 2) == 0 ? 2 : 0;
    jr_buf_add(out, line, mark + strspn(line + mark, " "));
    jr_buf_printf(out, "# %s%s\n", before, text);
}

/* The line, which is `len` bytes, with its field's help after it if there is room, else above
 * it. */
static void print_helped(struct jr_buf *out, const char *line, size_t len,
                         const struct jr_spec_field *field)
{
    bool missing = memmem(line, len, ": auto", 6) != NULL;
    size_t column = len + 2 < HELP_COLUMN ? HELP_COLUMN : len + 2;
    bool behind = !missing && column + strlen(field->help) + 2 <= WIDTH;
    if (!behind)
        print_line_above(out, line, "", field->help);
    if (missing)
        print_line_above(out, line, "auto: ", field->missing);
    jr_buf_add(out, line, len);
    if (behind) {
        jr_buf_fill(out, ' ', column - len);
        jr_buf_printf(out, "# %s", field->help);
    }
    jr_buf_char(out, '\n');
}

void jr_starter_spec_print(struct jr_buf *out, const struct jr_starter_spec *starter)
{
    static const char mark[] = "  #?";
    struct place place = {0};
    jr_buf_str(out, JR_MODELINE "#\n");
    for (const char *line = starter->text, *next; *line != '\0'; line = next) {
        size_t len = strcspn(line, "\n");
        next = line + len + (line[len] == '\n');
        const struct jr_spec_field *field = enter_starter_key(&place, line);
        size_t marked = len - (sizeof mark - 1);
        if (field != NULL && len >= sizeof mark &&
            memcmp(line + marked, mark, sizeof mark - 1) == 0)
            print_helped(out, line, marked, field);
        else
            jr_buf_add(out, line, (size_t)(next - line));
    }
}

/* How much of a word that is nothing is repeated. */
enum { MAX_WORD = 64 };

/* Append the paths that have the word in them, if these are few: "world" is in world_size and
 * local_world_size. */
static void fields_with(struct jr_buf *out, const char **paths, const char *word)
{
    enum { LEAST = 3, MOST = 4 };
    size_t count = 0;
    for (; strlen(word) >= LEAST && *paths != NULL && count <= MOST; paths++) {
        if (strstr(*paths, word) == NULL)
            continue;
        jr_buf_printf(out, "%s'%s'", count == 0 ? "" : " or ", *paths);
        count++;
    }
    if (count > MOST)
        jr_buf_clear(out);
}

/* Append what was probably meant by a word that is no field: "'nodes'". */
static void add_near_fields(struct jr_buf *out, const char *word)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena), *dot = strrchr(word, '.');
    bool sure;
    /* The paths whose last word this is: "min" is results.fields.*.min. */
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        const char *last = strrchr(paths[i], '.');
        if (last != NULL && strcmp(last + 1, word) == 0)
            jr_buf_printf(out, "%s'%s'", out->len > 0 ? " or " : "", paths[i]);
    }
    /* The member that others call so: "restart.retries" is restart.max. */
    const char *group = dot == NULL ? NULL : jr_arena_strndup(&arena, word, (size_t)(dot - word));
    const char *name = group == NULL ? NULL : jr_foreign_meant(group, dot + 1, &sure);
    if (out->len == 0 && name != NULL)
        jr_buf_printf(out, "'%s.%s'", group, name);
    const char *near = paths != NULL ? jr_did_you_mean(word, paths) : NULL;
    if (out->len == 0 && near != NULL)
        jr_buf_printf(out, "'%s'", near);
    if (out->len == 0 && paths != NULL)
        fields_with(out, paths, word);
}

static int refuse_unknown_field(const char *word, struct jr_error *err)
{
    bool sure;
    const char *foreign = jr_foreign_meant("/", word, &sure);
    if (foreign != NULL)
        return jr_error_set(err, JR_STATUS_USAGE, "'%s' is called '%s' here: jobrun explain %s",
                            word, foreign, foreign);
    const char *needless = jr_foreign_instead("-", word);
    JR_BUF_CLEANUP struct jr_buf near = JR_BUF_INIT, why = JR_BUF_INIT;
    if (needless != NULL) {
        jr_setting_words(&why, needless, NULL);
        return jr_error_set(err, JR_STATUS_USAGE, "there is no field '%s': %s", word,
                            why.failed ? "" : why.data);
    }
    add_near_fields(&near, word);
    if (near.len > 0 && !near.failed)
        return jr_error_set(err, JR_STATUS_USAGE, "there is no field '%s'; did you mean %s?", word,
                            near.data);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "there is no field or code '%.*s'; jobrun explain lists the fields",
                        MAX_WORD, word);
}

int jr_spec_help_field(struct jr_buf *out, const char *path, struct jr_error *err)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *plain = jr_arena_strndup(&arena, path, strcspn(path, "["));
    const struct jr_spec_field *field = plain == NULL ? NULL : jr_field_find(plain);
    if (field == NULL)
        return refuse_unknown_field(path, err);
    jr_field_explain(out, field);
    return 0;
}

/* Who is offered something, and what was typed. */
struct offering {
    jr_spec_help_offer *offer;
    void *data;
    const char *word;
};

/* Words of a field's value; "custom" is followed by a name. */
static void offer_field_words(const struct offering *to, const char *path,
                              const struct jr_spec_word *words)
{
    for (; words != NULL && words->word != NULL; words++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_buf_printf(&text, "%s=%s", path, words->word);
        bool whole = strcmp(words->word, "custom") != 0;
        if (!text.failed && whole)
            to->offer(to->data, text.data, words->help);
    }
}

/* Fields as they are set: "nodes=", and once that is typed, what may follow. */
static void offer_setting(const struct offering *to, const char *path,
                          const struct jr_spec_field *field)
{
    static const struct jr_spec_word booleans[] = {{"true", NULL}, {"false", NULL}, {0}};
    static const struct jr_spec_word missing[] = {{"auto", "filled by jobrun"}, {0}};
    if (field->since == NULL || strchr(path, '*') != NULL)
        return;
    size_t len = strlen(path);
    if (strncmp(to->word, path, len) == 0 && to->word[len] == '=') {
        offer_field_words(to, path, jr_field_words(field->type));
        if (field->type->kind == JR_KIND_BOOLEAN)
            offer_field_words(to, path, booleans);
        if (field->need == JR_NEED_RESOLVED)
            offer_field_words(to, path, missing);
        return;
    }
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s=", path);
    if (!text.failed)
        to->offer(to->data, text.data, field->help);
}

void jr_spec_help_paths(jr_spec_help_offer *offer, void *data)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    for (; paths != NULL && *paths != NULL; paths++)
        offer(data, *paths, jr_field_find(*paths)->help);
}

void jr_spec_help_settings(const char *word, jr_spec_help_offer *offer, void *data)
{
    const struct offering to = {offer, data, word};
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    for (; paths != NULL && *paths != NULL; paths++)
        offer_setting(&to, *paths, jr_field_find(*paths));
}
