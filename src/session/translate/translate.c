/*
 * The walk over the words: variables, launcher, its flags, perhaps a launcher inside, the program;
 * and what comes of it, as YAML.
 */
#include "session/translate/translate.h"

#include <string.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "session/translate/internal.h"
#include "spec/template_text.h"
#include "spec/field.h"
#include "spec/jsonschema.h"
#include "spec/load.h"

#include "base/banned.h"

/* The word at `at`; an empty one behind the last. */
static const struct jr_shell_word *word_at(const struct jr_translator *t, size_t at)
{
    static const struct jr_shell_word none = {.text = ""};
    return at < t->words.count ? &t->words.items[at] : &none;
}

/* The text of a word, "" behind the last one. */
static const char *text_at(const struct jr_translator *t, size_t at)
{
    return word_at(t, at)->text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* How much of `name` (of `len` bytes in the row) the given one is: 2 all, 1 the beginning, 0
 * nothing. */
static int match_flag(const char *name, size_t len, const char *given)
{
    size_t i = 0;
    while (i < len && given[i] != '\0' &&
           (name[i] == given[i] || (strchr("-_", name[i]) && strchr("-_", given[i]))))
        i++;
    if (i == len || (i == len - 1 && name[i] == '*'))
        return given[i] == '\0' || name[len - 1] == '*' ? 2 : 0;
    return given[i] == '\0' ? 1 : 0;
}

/* The row of a name, which has its dashes unless they do not matter. */
static const struct jr_flag *find_flag(const struct jr_translator *t, const char *given)
{
    const struct jr_flag *begun = NULL;
    size_t begun_count = 0;
    for (size_t i = 0; i < JR_FLAG_TABLES; i++) {
        const struct jr_flag *row = t->launcher->tables[i];
        for (; row != NULL && row->names != NULL; row++) {
            int match = 0; /* the best among the names of the row */
            for (const char *at = row->names; *at != '\0';) {
                size_t len = strcspn(at, " "), dashes = t->launcher->words ? strspn(at, "-") : 0;
                int own = match_flag(at + dashes, len - dashes, given);
                match = own > match ? own : match;
                at += len + (at[len] == ' ');
            }
            if (match == 2)
                return row;
            begun = match == 1 ? row : begun;
            begun_count += match == 1;
        }
    }
    bool is_long = strncmp(given, "--", 2) == 0 && given[2] != '\0';
    return t->launcher->abbrev && is_long && begun_count == 1 ? begun : NULL;
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
    /* Variables are told apart one by one. */
    bool turns = flag->turn != JR_TURN_NONE;
    bool env = flag->field != NULL && strcmp(flag->field, "env") == 0;
    if (turns && given->expands && !env) {
        /* Only the shell knows the value: where to state it by hand. A field that can be resolved
         * is left to that. */
        static const char why[] = "only the shell knows the value";
        const char *path = jr_turn_path(t, flag->field, given->name);
        const struct jr_spec_field *field = path == NULL ? NULL : jr_field_find(path);
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    path == NULL ? why : jr_arena_printf(t->arena, "%s: state '%s'", why, path));
        return field != NULL && field->need == JR_NEED_RESOLVED ? jr_put(t, given, path, "auto")
                                                                : 0;
    }
    if (turns && jr_turn(t, given) != 0)
        return -1;
    if (flag->why != NULL)
        jr_note_add(t, flag->verdict, given->what, flag->why);
    return 0;
}

/* The values that the flag still wants, from the words that follow. */
static int take_values(struct jr_translator *t, struct jr_given *given)
{
    static const size_t wanted[] = {[JR_TAKES_ONE] = 1, [JR_TAKES_TWO] = 2, [JR_TAKES_MAYBE] = 0};
    const char **const slots[] = {&given->value, &given->second};
    for (size_t i = given->value != NULL; i < wanted[given->flag->takes]; i++) {
        if (t->at == t->words.count)
            return jr_given_wrong(t, given, "a value");
        const struct jr_shell_word *word = word_at(t, t->at++);
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
        .expands = rest != NULL && word_at(t, from)->expands,
    };
    if (flag != NULL && flag->takes == JR_TAKES_NONE && rest != NULL)
        return jr_given_wrong(t, &given, "no value");
    if (flag != NULL && take_values(t, &given) != 0)
        return -1;
    struct jr_buf what JR_BUF_CLEANUP = JR_BUF_INIT; /* as it is written */
    for (size_t i = from; i < t->at; i++) {
        const struct jr_shell_word *word = word_at(t, i);
        jr_buf_str(&what, i == from ? "" : " ");
        jr_buf_add(&what, t->words.line + word->start, word->end - word->start);
    }
    given.what = jr_buf_keep(&what, t->arena);
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
            return take_flag(t, NULL, word_at(t, t->at - 1)->text, NULL);
        if (take_flag(t, flag, name, valued && more ? letters : NULL) != 0)
            return -1;
        if (valued)
            return 0;
    }
    return 0;
}

static int take_option(struct jr_translator *t)
{
    const char *word = word_at(t, t->at++)->text;
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

/* Take the launcher's options, up to the program or --help. */
static int take_options(struct jr_translator *t)
{
    while (text_at(t, t->at)[0] == '-' && text_at(t, t->at)[1] != '\0') {
        const char *word = text_at(t, t->at);
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-help") == 0) {
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

static void add_raw(struct jr_translator *t, struct jr_buf *out, size_t from, size_t end)
{
    if (from == end)
        return;
    size_t start = word_at(t, from)->start;
    const char *raw =
        jr_arena_strndup(t->arena, t->words.line + start, word_at(t, end - 1)->end - start);
    const char *text = raw == NULL ? NULL : jr_template_literal(t->arena, raw);
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
    const char *literal = jr_template_literal(t->arena, text);
    if (literal != NULL)
        jr_node_append(t->arena, list, jr_put_scalar(t, literal));
}

/* python3, or the interpreter that the line names, and -m; and the program. */
static struct jr_node *program_command(struct jr_translator *t, const struct program *program)
{
    struct jr_node *list = jr_node_sequence(t->arena);
    if (list == NULL)
        return NULL;
    if (program->python && t->python_from == t->python_end)
        add_program_word(t, list, "python3");
    for (size_t i = t->python_from; program->python && i < t->python_end; i++)
        add_program_word(t, list, text_at(t, i));
    if (program->python && t->module)
        add_program_word(t, list, "-m");
    for (size_t i = program->from; i < program->end; i++) {
        add_program_word(t, list, text_at(t, i));
        if (i != program->from || !t->local_rank_argument)
            continue;
        const char *word = jr_arena_printf(t->arena, "%s=%%{local_rank}", t->launcher->local_rank);
        if (word != NULL)
            jr_node_append(t->arena, list, jr_node_scalar(t->arena, word, true));
    }
    return list;
}

/* A name from "path/train.py" or "package.train"; none if it would be none. */
static void put_name(struct jr_translator *t, const struct program *program)
{
    const struct jr_given unasked = {.what = NULL};
    /* The word that names the job: the script of an interpreter, else the program. */
    const char *base = base_name(text_at(t, program->from));
    for (size_t i = program->from + 1; strncmp(base, "python", 6) == 0 && i < program->end; i++)
        if (text_at(t, i)[0] != '-') {
            base = base_name(text_at(t, i));
            break;
        }
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
    const char *word = base_name(text_at(t, program->from));
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

static int put_program(struct jr_translator *t)
{
    struct program program = {
        .from = t->at,
        .end = t->words.count,
        .python = t->launcher->python && !t->no_python,
    };
    for (size_t i = t->at; t->launcher->several && i < program.end; i++)
        if (strcmp(word_at(t, i)->text, ":") == 0) {
            /* A lone ':' begins another program, which no spec can have. */
            jr_note_add(t, JR_VERDICT_LOST, t->words.line + word_at(t, i)->start,
                        "all ranks run the same program");
            program.end = i;
        }
    if (program.from == program.end)
        return jr_error_set(t->err, JR_STATUS_USAGE, "the line names no program to run");
    bool shell = false; /* what only one can do: expand a word, or keep "${" from a reader */
    for (size_t i = program.from; i < program.end; i++)
        shell |= word_at(t, i)->expands || word_at(t, i)->globs ||
                 strstr(word_at(t, i)->text, "${") != NULL;
    put_name(t, &program);
    struct jr_node *node = shell ? shell_text(t, &program) : program_command(t, &program);
    if (node == NULL ||
        !jr_node_set_path(t->arena, t->to->spec, shell ? "entrypoint.shell" : "entrypoint", node))
        return -1;
    if (t->words.tail != NULL)
        jr_note_add(t, JR_VERDICT_LOST, t->words.tail, "what the shell does around the command");
    return put_world(t, &program, shell);
}

/* A word and the one behind it may be one name: "accelerate launch". Returns how many words are. */
static size_t match_name(const char *names, const char *word, const char *next)
{
    while (*names != '\0') {
        size_t len = strcspn(names, "|"), first = strcspn(names, " |");
        bool two = first < len;
        if (strlen(word) == first && memcmp(word, names, first) == 0 &&
            (!two || (strlen(next) == len - first - 1 &&
                      memcmp(next, names + first + 1, len - first - 1) == 0)))
            return two ? 2 : 1;
        names += len + (names[len] == '|');
    }
    return 0;
}

static size_t match_launcher(struct jr_translator *t, const char *word, const char *next)
{
    for (size_t i = 0; jr_launchers[i].names != NULL; i++) {
        size_t count = match_name(jr_launchers[i].names, word, next);
        if (count == 0)
            continue;
        const char *before = t->to->from;
        t->launcher = &jr_launchers[i];
        t->to->from = jr_arena_printf(t->arena, "%s%s%s%s%s", before == NULL ? "" : before,
                                      before == NULL ? "" : " and ", word, count == 2 ? " " : "",
                                      count == 2 ? next : "");
        return count;
    }
    return 0;
}

static bool take_launcher(struct jr_translator *t)
{
    const char *base = base_name(text_at(t, t->at));
    size_t at = t->at + 1;
    if (strncmp(base, "python", 6) != 0) {
        size_t count = match_launcher(t, base, text_at(t, at));
        t->at += count;
        return count > 0;
    }
    /* python -m MODULE, where the interpreter's own flags stand before -m */
    while (text_at(t, at)[0] == '-' && strcmp(text_at(t, at), "-m") != 0)
        at++;
    if (strcmp(text_at(t, at), "-m") != 0 || match_launcher(t, text_at(t, at + 1), "") == 0)
        return false;
    t->python_from = t->at;
    t->python_end = at;
    t->at = at + 2;
    return true;
}

/* NAME=VALUE before the launcher, behind `env` or not. */
static int take_variables(struct jr_translator *t)
{
    static const struct jr_flag pair = {.turn = JR_TURN_PAIR};
    if (strcmp(text_at(t, t->at), "env") == 0)
        t->at++;
    for (; t->at < t->words.count; t->at++) {
        const struct jr_shell_word *word = word_at(t, t->at);
        struct jr_given given = {
            .flag = &pair, .what = word->text, .value = word->text, .expands = word->expands};
        if (!jr_put_is_name(word->text, '='))
            break;
        if (jr_turn(t, &given) != 0)
            return -1;
    }
    return 0;
}

static int take_launchers(struct jr_translator *t)
{
    static const char *const sizes[] = {"world_size", "local_world_size", "threads"};
    struct jr_buf names JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!take_launcher(t)) {
        jr_launcher_names(&names);
        return jr_error_set(t->err, JR_STATUS_USAGE,
                            "the line does not begin with a known launcher: %s; "
                            "without one, jobrun -n 2 -- COMMAND starts 2 ranks",
                            names.data == NULL ? "" : names.data);
    }
    for (bool inside = true; inside;) {
        t->local_rank_argument = t->launcher->local_rank != NULL;
        if (take_options(t) != 0)
            return -1;
        if (t->to->help != NULL)
            return 0;
        if (t->at == t->words.count)
            return jr_error_set(t->err, JR_STATUS_USAGE, "the line names no program to run");
        inside = take_launcher(t);
        /* A launcher inside another one starts the ranks; the outer one started one of it on each
         * node, which jobrun does itself. */
        for (size_t i = 0; inside && i < sizeof sizes / sizeof *sizes; i++) {
            const char *from = jr_put_drop(t, sizes[i]);
            if (from != NULL)
                jr_note_add(t, JR_VERDICT_NEEDLESS, from,
                            "the inner launcher sets it for the ranks");
        }
    }
    return jr_turn_finish(t);
}

static int translate_line(struct jr_translator *t, const char *line)
{
    const struct jr_given unasked = {.what = NULL};
    if (!jr_utf8_is_text(line))
        return jr_error_set(t->err, JR_STATUS_USAGE, "the line is not UTF-8");
    t->to->spec = jr_node_mapping(t->arena);
    line = jr_arena_strdup(t->arena, line);
    if (t->to->spec == NULL || line == NULL ||
        jr_shell_split(&t->words, t->arena, line, t->err) != 0 ||
        jr_put(t, &unasked, "version", "1") != 0 || take_variables(t) != 0 ||
        take_launchers(t) != 0)
        return -1;
    if (t->to->help != NULL)
        return 0;
    if (put_program(t) != 0 || jr_put_sizes(t) != 0)
        return -1;
    if (jr_hosts_count(t) == 0) /* then nothing is started by ssh */
        (void)jr_put_drop(t, "engine");
    return 0;
}

int jr_translate(struct jr_translation *ret, const char *line, struct jr_error *err)
{
    *ret = (struct jr_translation){0};
    struct jr_translator t = {.to = ret, .arena = &ret->arena, .err = err};
    int status = translate_line(&t, line);
    if (ret->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return status;
}

void jr_translation_release(struct jr_translation *translation)
{
    jr_spec_free(translation->read);
    jr_arena_release(&translation->arena);
}

void jr_launcher_names(struct jr_buf *out)
{
    for (size_t i = 0; jr_launchers[i].names != NULL; i++) {
        const char *names = jr_launchers[i].names;
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_buf_add(out, names, strcspn(names, "|"));
    }
}

/* A translation as YAML, and a launcher's tables as text. */

enum { WIDTH = 79 };

#define HEADING(name, heading) heading,

static const char *const headings[] = {JR_VERDICTS(HEADING)};

/* The rest of a line that may be long, or come from a secret place. */
static void add_cut(struct jr_buf *out, const char *text)
{
    enum { MOST = 200 };
    size_t len = strlen(text), kept = jr_utf8_cut(text, len, MOST);
    jr_buf_escaped(out, text, kept);
    if (kept < len)
        jr_buf_str(out, "...");
}

/* Text as comment lines, broken at blanks; those after the first are indented by `indent`. */
static void print_comment(struct jr_buf *out, const char *text, size_t indent)
{
    size_t column = 1;
    jr_buf_char(out, '#');
    while (*text != '\0') {
        size_t blanks = strspn(text, " ");
        size_t word = strcspn(text + blanks, " ");
        blanks = column == 1 && blanks == 0 ? 1 : blanks;
        if (column > indent + 1 && column + blanks + word > WIDTH) {
            jr_buf_str(out, "\n#");
            blanks = indent;
            column = 1;
        }
        jr_buf_fill(out, ' ', blanks);
        text += strspn(text, " ");
        jr_buf_add(out, text, word);
        text += word;
        column += blanks + word;
    }
    jr_buf_char(out, '\n');
}

static void print_notes(struct jr_buf *out, const struct jr_translation *from)
{
    for (size_t verdict = 0; verdict < JR_VERDICT_COUNT; verdict++) {
        bool any = false;
        for (size_t i = 0; i < from->notes_count; i++) {
            if (from->notes[i].verdict != verdict)
                continue;
            if (!any)
                jr_buf_printf(out, "#\n# %s:\n", headings[verdict]);
            any = true;
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_buf_str(&text, "   ");
            add_cut(&text, from->notes[i].what);
            jr_buf_str(&text, ": ");
            jr_buf_escaped(&text, from->notes[i].why, strlen(from->notes[i].why));
            out->failed |= text.failed;
            if (text.data != NULL)
                print_comment(out, text.data, 7);
        }
    }
}

/* The options that said it, each once. */
static void add_origins(struct jr_buf *out, const struct jr_translation *from, const char *key)
{
    const char *last = "";
    size_t len = strlen(key);
    for (size_t i = 0; i < from->origins_count; i++) {
        const struct jr_origin *origin = &from->origins[i];
        bool own = strncmp(origin->path, key, len) == 0 &&
                   (origin->path[len] == '\0' || origin->path[len] == '.');
        if (!own || strcmp(origin->text, last) == 0)
            continue;
        jr_buf_str(out, out->len == 0 ? "" : ", ");
        add_cut(out, origin->text);
        last = origin->text;
    }
}

/* A field; where it came from stands behind it if there is room, else above. */
static void print_field(struct jr_buf *out, const struct jr_translation *from, struct jr_pair *pair)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf origin JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_node one = {.kind = JR_NODE_MAPPING, .pairs = pair, .count = 1};
    jr_doc_emit(&text, &one);
    add_origins(&origin, from, pair->key->text);
    out->failed |= text.failed || origin.failed;
    if (text.data == NULL)
        return;
    bool lines = strchr(text.data, '\n') != text.data + text.len - 1;
    bool behind = !lines && text.len + origin.len + 4 <= WIDTH;
    if (origin.len > 0 && !behind)
        print_comment(out, origin.data, 1);
    if (origin.len > 0 && behind)
        jr_buf_printf(out, "%.*s  # %s\n", (int)text.len - 1, text.data, origin.data);
    else
        jr_buf_add(out, text.data, text.len);
}

int jr_translation_print(struct jr_buf *out, struct jr_translation *from, struct jr_diags *diags)
{
    size_t count;
    const struct jr_spec_field *row = jr_field_groups(&count)[0].fields;
    jr_buf_str(out, JR_MODELINE);
    jr_buf_printf(out, "#\n# Translated from %s.\n", from->from);
    print_notes(out, from);
    for (; row->key != NULL; row++) {
        struct jr_pair *pair = jr_doc_pair(from->spec, row->key);
        if (pair != NULL)
            print_field(out, from, pair);
    }
    return out->failed ? 0
                       : jr_spec_load_text(&from->read, "--from", "/", out->data, out->len, diags);
}

static void print_flag(struct jr_buf *out, const struct jr_flag *flag)
{
    static const char *const values[] = {
        [JR_TAKES_NONE] = "",
        [JR_TAKES_ONE] = " VALUE",
        [JR_TAKES_TWO] = " NAME VALUE",
        [JR_TAKES_MAYBE] = "[=VALUE]",
    };
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (flag->field != NULL)
        jr_buf_str(&text, flag->field);
    else
        jr_buf_str(&text, headings[flag->turn == JR_TURN_NONE ? flag->verdict : JR_VERDICT_LOST]);
    if (flag->why != NULL)
        jr_buf_printf(&text, "%s%s", text.len == 0 ? "" : ": ", flag->why);
    jr_buf_str(out, "  ");
    jr_buf_wrapped(out, flag->names, 2);
    jr_buf_printf(out, "%s\n      ", values[flag->takes]);
    jr_buf_wrapped(out, text.data == NULL ? "" : text.data, 6);
    out->failed |= text.failed;
    jr_buf_char(out, '\n');
}

void jr_launcher_print(struct jr_buf *out, const struct jr_launcher *launcher)
{
    jr_buf_printf(out,
                  "%.*s: how its options are translated\n"
                  "\n",
                  (int)strcspn(launcher->names, "|"), launcher->names);
    for (size_t i = 0; i < JR_FLAG_TABLES; i++)
        for (const struct jr_flag *row = launcher->tables[i]; row != NULL && row->names != NULL;
             row++)
            print_flag(out, row);
}
