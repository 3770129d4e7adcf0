/* The program of the line, and its name. */
#include "session/translate/launcher_program.h"

#include <string.h>

#include "session/translate/flag.h"
#include "session/translate/put_value.h"
#include "spec/field.h"

#include "base/banned.h"

/* The words of the entrypoint: the interpreter's, then the program's. */
struct program {
    size_t from, end;
    bool python; /* the program is a script or a module */
};

static const struct jr_shell_word *line_word(const struct jr_translator *t,
                                             size_t i)
{
    return &t->words.items[i];
}

/* A lone ':' begins another program, which no spec can have. */
static size_t program_end(struct jr_translator *t)
{
    for (size_t i = t->at; t->launcher->several && i < t->words.count; i++)
        if (strcmp(line_word(t, i)->text, ":") == 0) {
            jr_note_add(t, JR_VERDICT_LOST,
                        t->words.line + line_word(t, i)->start,
                        "all ranks run the same program");
            return i;
        }
    return t->words.count;
}

/* What only a shell can do: expand a word, or keep "${" from a reader. */
static bool wants_shell(const struct jr_translator *t,
                        const struct program *program)
{
    for (size_t i = program->from; i < program->end; i++)
        if (line_word(t, i)->expands || line_word(t, i)->globs ||
            strstr(line_word(t, i)->text, "${") != NULL)
            return true;
    return false;
}

static void add_raw(struct jr_translator *t, struct jr_buf *out, size_t from,
                    size_t end)
{
    if (from == end)
        return;
    size_t start = line_word(t, from)->start;
    const char *raw = jr_arena_strndup(t->arena, t->words.line + start,
                                       line_word(t, end - 1)->end - start);
    const char *text = raw == NULL ? NULL : jr_put_literal(t, raw);
    jr_buf_printf(out, " %s", text == NULL ? "" : text);
}

/* The text as the line has it, so that each rank's shell does what the user's
 * own would have done. */
static struct jr_node *shell_text(struct jr_translator *t,
                                  const struct program *program)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&out, "exec");
    if (program->python && t->python_from == t->python_end)
        jr_buf_str(&out, " python3");
    if (program->python)
        add_raw(t, &out, t->python_from, t->python_end);
    if (program->python && t->module)
        jr_buf_str(&out, " -m");
    size_t script = t->local_rank_argument ? program->from + 1 : program->end;
    add_raw(t, &out, program->from, script);
    if (t->local_rank_argument)
        jr_buf_printf(&out, " %s=%%{local_rank}", t->launcher->local_rank);
    add_raw(t, &out, script, program->end);
    t->arena->failed |= out.failed;
    return out.data == NULL ? NULL : jr_node_scalar(t->arena, out.data, false);
}

static void add_program_word(struct jr_translator *t, struct jr_node *list,
                             const char *text)
{
    const char *literal = jr_put_literal(t, text);
    if (literal != NULL)
        jr_node_append(t->arena, list, jr_put_scalar(t, literal));
}

/* python3, or the interpreter that the line names, and -m. */
static void add_interpreter(struct jr_translator *t, struct jr_node *list)
{
    if (t->python_from == t->python_end)
        add_program_word(t, list, "python3");
    for (size_t i = t->python_from; i < t->python_end; i++)
        add_program_word(t, list, line_word(t, i)->text);
    if (t->module)
        add_program_word(t, list, "-m");
}

static void add_local_rank(struct jr_translator *t, struct jr_node *list)
{
    const char *word =
        jr_arena_printf(t->arena, "%s=%%{local_rank}", t->launcher->local_rank);
    if (word != NULL)
        jr_node_append(t->arena, list, jr_node_scalar(t->arena, word, true));
}

static struct jr_node *program_command(struct jr_translator *t,
                                       const struct program *program)
{
    struct jr_node *list = jr_node_sequence(t->arena);
    if (list == NULL)
        return NULL;
    if (program->python)
        add_interpreter(t, list);
    for (size_t i = program->from; i < program->end; i++) {
        add_program_word(t, list, line_word(t, i)->text);
        if (i == program->from && t->local_rank_argument)
            add_local_rank(t, list);
    }
    return list;
}

/* The word that names the job: the script of an interpreter, else the
 * program. */
static const char *find_naming_word(const struct jr_translator *t,
                                    const struct program *program)
{
    const char *word = line_word(t, program->from)->text;
    const char *slash = strrchr(word, '/');
    word = slash == NULL ? word : slash + 1;
    if (strncmp(word, "python", 6) != 0)
        return line_word(t, program->from)->text;
    for (size_t i = program->from + 1; i < program->end; i++)
        if (line_word(t, i)->text[0] != '-')
            return line_word(t, i)->text;
    return word;
}

/* A name from "path/train.py" or "package.train"; none if it would be none. */
static void put_name(struct jr_translator *t, const struct program *program)
{
    const struct jr_given unasked = {.what = NULL};
    const char *word = find_naming_word(t, program);
    const char *slash = strrchr(word, '/');
    const char *base = slash == NULL ? word : slash + 1;
    const char *dot = strrchr(base, '.');
    size_t len = strlen(base);
    if (t->module && dot != NULL)
        base = dot + 1, len = strlen(base);
    else if (dot != NULL)
        len = (size_t)(dot - base);
    const char *name = jr_arena_strndup(t->arena, base, len);
    struct jr_error *err = t->err, ignored;
    if (name == NULL || jr_doc_get(t->to->spec, "name") != NULL)
        return;
    t->err = &ignored; /* a name that is none is left out */
    (void)jr_put(t, &unasked, "name", name);
    t->err = err;
}

int jr_put_program(struct jr_translator *t)
{
    struct program program = {
        .from = t->at,
        .end = program_end(t),
        .python = t->launcher->python && !t->no_python,
    };
    if (program.from == program.end)
        return jr_error_set(t->err, JR_STATUS_USAGE,
                            "the line names no program to run");
    bool shell = wants_shell(t, &program);
    put_name(t, &program);
    struct jr_node *node =
        shell ? shell_text(t, &program) : program_command(t, &program);
    if (node == NULL ||
        !jr_node_set_path(t->arena, t->to->spec,
                          shell ? "entrypoint.shell" : "entrypoint", node))
        return -1;
    if (t->words.tail != NULL)
        jr_note_add(t, JR_VERDICT_LOST, t->words.tail,
                    "what the shell does around the command");
    return 0;
}
