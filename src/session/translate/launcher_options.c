/* A launcher's options, from the words to the setters of its tables; and the program of the
 * line. */
#include "session/translate/launcher_options.h"

#include <string.h>

#include "session/translate/flag.h"
#include "session/translate/put_value.h"
#include "spec/field.h"

#include "base/banned.h"

static bool same_letter(char a, char b)
{
    return a == b || (a == '_' && b == '-') || (a == '-' && b == '_');
}

/* How much of `name` (of `len` bytes in the row) the given one is: 2 all, 1 the beginning, 0
 * nothing. */
static int match_flag(const char *name, size_t len, const char *given)
{
    size_t i = 0;
    while (i < len && given[i] != '\0' && same_letter(name[i], given[i]))
        i++;
    if (i == len || (i == len - 1 && name[i] == '*'))
        return given[i] == '\0' || name[len - 1] == '*' ? 2 : 0;
    return given[i] == '\0' ? 1 : 0;
}

/* The best match among the names of a row. */
static int match_row(const struct jr_translator *t, const struct jr_flag *row, const char *given)
{
    int best = 0;
    for (const char *at = row->names; *at != '\0';) {
        size_t len = strcspn(at, " ");
        const char *name = at;
        size_t dashes = t->launcher->words ? strspn(at, "-") : 0;
        int match = match_flag(name + dashes, len - dashes, given);
        if (match > best)
            best = match;
        at += len + (at[len] == ' ');
    }
    return best;
}

/* The row of a name, which has its dashes unless they do not matter. */
static const struct jr_flag *find_flag(const struct jr_translator *t, const char *given)
{
    const struct jr_flag *begun = NULL;
    size_t begun_count = 0;
    for (size_t i = 0; i < JR_FLAG_TABLES; i++) {
        const struct jr_flag *row = t->launcher->tables[i];
        for (; row != NULL && row->names != NULL; row++) {
            int match = match_row(t, row, given);
            if (match == 2)
                return row;
            begun = match == 1 ? row : begun;
            begun_count += match == 1;
        }
    }
    bool is_long = strncmp(given, "--", 2) == 0 && given[2] != '\0';
    return t->launcher->abbrev && is_long && begun_count == 1 ? begun : NULL;
}

/* A value that only the shell knows: where to state it by hand. A field that can be resolved is
 * left to that. */
static int apply_unknown(struct jr_translator *t, const struct jr_given *given)
{
    static const char why[] = "only the shell knows the value";
    const char *path = given->flag->field;
    const struct jr_spec_field *field = path == NULL ? NULL : jr_field_find(path);
    jr_note_add(t, JR_VERDICT_LOST, given->what,
                path == NULL ? why : jr_arena_printf(t->arena, "%s: state '%s'", why, path));
    return field != NULL && field->need == JR_NEED_RESOLVED ? jr_put(t, given, path, "auto") : 0;
}

/* Variables are told apart one by one. */
static bool is_option_unknown(const struct jr_given *given)
{
    const char *field = given->flag->field;
    return given->expands && (field == NULL || strcmp(field, "env") != 0);
}

static int apply_flag(struct jr_translator *t, const struct jr_given *given)
{
    const struct jr_flag *flag = given->flag;
    if (flag == NULL) {
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    given->value != NULL ? "jobrun does not know this option"
                                         : "jobrun does not know this option; it was taken for "
                                           "one without a value");
        return 0;
    }
    if (flag->set != NULL && is_option_unknown(given))
        return apply_unknown(t, given);
    if (flag->set != NULL && flag->set(t, given) != 0)
        return -1;
    if (flag->why != NULL)
        jr_note_add(t, flag->verdict, given->what, flag->why);
    return 0;
}

/* The words [from, t->at) as they are written. */
static const char *written_words(struct jr_translator *t, size_t from)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = from; i < t->at; i++) {
        const struct jr_shell_word *word = jr_translator_word(t, i);
        jr_buf_str(&out, i == from ? "" : " ");
        jr_buf_add(&out, t->words.line + word->start, word->end - word->start);
    }
    return jr_buf_keep(&out, t->arena);
}

/* The values that the flag still wants, from the words that follow. */
static int take_values(struct jr_translator *t, struct jr_given *given)
{
    static const size_t wanted[] = {[JR_TAKES_ONE] = 1, [JR_TAKES_TWO] = 2, [JR_TAKES_MAYBE] = 0};
    const char **const slots[] = {&given->value, &given->second};
    for (size_t i = given->value != NULL; i < wanted[given->flag->takes]; i++) {
        if (t->at == t->words.count)
            return jr_given_wrong(t, given, "a value");
        const struct jr_shell_word *word = jr_translator_word(t, t->at++);
        *slots[i] = word->text;
        given->expands |= word->expands;
    }
    return 0;
}

/* A flag whose word is already taken; `rest` is what stood behind the name in the same word, or
 * NULL. */
static int take_flag(struct jr_translator *t, const struct jr_flag *flag, const char *name,
                     const char *rest)
{
    size_t from = t->at - 1;
    struct jr_given given = {
        .flag = flag,
        .what = name,
        .name = name + strspn(name, "-"),
        .value = rest,
        .expands = rest != NULL && jr_translator_word(t, from)->expands,
    };
    if (flag != NULL && flag->takes == JR_TAKES_NONE && rest != NULL)
        return jr_given_wrong(t, &given, "no value");
    if (flag != NULL && take_values(t, &given) != 0)
        return -1;
    given.what = written_words(t, from);
    return given.what == NULL ? -1 : apply_flag(t, &given);
}

/* -n4, -lv: letters, of which the last may have a value. */
static int take_letters(struct jr_translator *t, const char *letters)
{
    while (*letters != '\0') {
        const char name[] = {'-', *letters++, '\0'};
        const struct jr_flag *flag = find_flag(t, name);
        bool more = *letters != '\0';
        bool valued = flag != NULL && flag->takes != JR_TAKES_NONE;
        if (flag == NULL && more) /* then the word is no row of letters */
            return take_flag(t, NULL, jr_translator_word(t, t->at - 1)->text, NULL);
        if (take_flag(t, flag, name, valued && more ? letters : NULL) != 0)
            return -1;
        if (valued)
            return 0;
    }
    return 0;
}

static int take_option(struct jr_translator *t)
{
    const char *word = jr_translator_word(t, t->at++)->text;
    bool letters = word[1] != '-' && !t->launcher->words;
    if (letters)
        return take_letters(t, word + 1);
    const char *equals = strchr(word, '=');
    const char *name =
        jr_arena_strndup(t->arena, word, equals == NULL ? strlen(word) : (size_t)(equals - word));
    if (name == NULL)
        return -1;
    const char *bare = t->launcher->words ? name + strspn(name, "-") : name;
    const struct jr_flag *flag = find_flag(t, bare);
    return take_flag(t, flag, name, equals == NULL ? NULL : equals + 1);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-help") == 0;
}

int jr_translate_options(struct jr_translator *t)
{
    while (jr_translator_word(t, t->at)->text[0] == '-' &&
           jr_translator_word(t, t->at)->text[1] != '\0') {
        const char *word = jr_translator_word(t, t->at)->text;
        if (asks_for_help(word)) {
            t->to->help = t->launcher;
            return 0;
        }
        if (strcmp(word, "--") == 0) {
            t->at++;
            return 0;
        }
        if (take_option(t) != 0)
            return -1;
    }
    return 0;
}

/* The program of the line, and its name. */

/* The words of the entrypoint: the interpreter's, then the program's. */
struct program {
    size_t from, end;
    bool python; /* the program is a script or a module */
};

static const struct jr_shell_word *line_word(const struct jr_translator *t, size_t i)
{
    return &t->words.items[i];
}

/* A lone ':' begins another program, which no spec can have. */
static size_t program_end(struct jr_translator *t)
{
    for (size_t i = t->at; t->launcher->several && i < t->words.count; i++)
        if (strcmp(line_word(t, i)->text, ":") == 0) {
            jr_note_add(t, JR_VERDICT_LOST, t->words.line + line_word(t, i)->start,
                        "all ranks run the same program");
            return i;
        }
    return t->words.count;
}

/* What only a shell can do: expand a word, or keep "${" from a reader. */
static bool wants_shell(const struct jr_translator *t, const struct program *program)
{
    for (size_t i = program->from; i < program->end; i++)
        if (line_word(t, i)->expands || line_word(t, i)->globs ||
            strstr(line_word(t, i)->text, "${") != NULL)
            return true;
    return false;
}

static void add_raw(struct jr_translator *t, struct jr_buf *out, size_t from, size_t end)
{
    if (from == end)
        return;
    size_t start = line_word(t, from)->start;
    const char *raw =
        jr_arena_strndup(t->arena, t->words.line + start, line_word(t, end - 1)->end - start);
    const char *text = raw == NULL ? NULL : jr_put_literal(t, raw);
    jr_buf_printf(out, " %s", text == NULL ? "" : text);
}

/* The text as the line has it, so that each rank's shell does what the user's own would have
 * done. */
static struct jr_node *shell_text(struct jr_translator *t, const struct program *program)
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

static void add_program_word(struct jr_translator *t, struct jr_node *list, const char *text)
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
    const char *word = jr_arena_printf(t->arena, "%s=%%{local_rank}", t->launcher->local_rank);
    if (word != NULL)
        jr_node_append(t->arena, list, jr_node_scalar(t->arena, word, true));
}

static struct jr_node *program_command(struct jr_translator *t, const struct program *program)
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

/* The word that names the job: the script of an interpreter, else the program. */
static const char *find_naming_word(const struct jr_translator *t, const struct program *program)
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

/* Whether `mpi: auto` cannot see the libraries of the program: a shell, an interpreter, or a script
 * by its name. */
static bool hides_libraries(const struct jr_translator *t, const struct program *program)
{
    static const char *const begins[] = {"python", "bash", "julia", "sh"};
    static const char *const ends[] = {".py", ".sh", ".jl"};
    const char *word = line_word(t, program->from)->text;
    const char *slash = strrchr(word, '/');
    word = slash == NULL ? word : slash + 1;
    size_t len = strlen(word);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t size = strlen(begins[i]);
        if (strncmp(word, begins[i], size) == 0 &&
            word[size + strspn(word + size, "0123456789.")] == '\0')
            return true;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (len > 3 && strcmp(word + len - 3, ends[i]) == 0)
            return true;
    return program->python;
}

/* The ranks of MPI's launchers are one world here, too. */
static int put_world(struct jr_translator *t, const struct program *program, bool shell)
{
    const struct jr_given given = {.what = "a script's MPI"};
    char torch[] = "torch", mpi[] = "mpi", *profiles[] = {torch, mpi, NULL};
    if (!t->mpi)
        return 0;
    if (shell || hides_libraries(t, program))
        return jr_put_list(t, &given, "env_profiles", profiles);
    jr_note_add(t, JR_VERDICT_NEEDLESS, "MPI_Init",
                "the ranks of a program that is linked with an MPI library are one world (`mpi: "
                "auto`); a script, and a program that only reads OMPI_COMM_WORLD_RANK or "
                "PMI_RANK, wants env_profiles: [torch, mpi]");
    return 0;
}

int jr_put_program(struct jr_translator *t)
{
    struct program program = {
        .from = t->at,
        .end = program_end(t),
        .python = t->launcher->python && !t->no_python,
    };
    if (program.from == program.end)
        return jr_error_set(t->err, JR_STATUS_USAGE, "the line names no program to run");
    bool shell = wants_shell(t, &program);
    put_name(t, &program);
    struct jr_node *node = shell ? shell_text(t, &program) : program_command(t, &program);
    if (node == NULL ||
        !jr_node_set_path(t->arena, t->to->spec, shell ? "entrypoint.shell" : "entrypoint", node))
        return -1;
    if (t->words.tail != NULL)
        jr_note_add(t, JR_VERDICT_LOST, t->words.tail, "what the shell does around the command");
    return put_world(t, &program, shell);
}
