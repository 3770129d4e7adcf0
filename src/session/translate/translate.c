/*
 * The walk over the words: variables, launcher, its flags, perhaps a launcher inside, the program;
 * and what comes of it, as YAML.
 */
#include "session/translate/translate.h"

#include <string.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "session/translate/flag.h"
#include "session/translate/host_options.h"
#include "session/translate/launcher_options.h"
#include "session/translate/put_value.h"
#include "session/translate/setters.h"
#include "spec/field.h"
#include "spec/jsonschema.h"
#include "spec/load.h"

#include "base/banned.h"

static const struct jr_launcher *const launchers[] = {
    &jr_launcher_torchrun,
    &jr_launcher_torch_launch,
    &jr_launcher_accelerate,
    &jr_launcher_srun,
    &jr_launcher_mpirun,
    &jr_launcher_openmpi,
    &jr_launcher_hydra,
    &jr_launcher_paddle,
    &jr_launcher_deepspeed,
    &jr_launcher_horovod,
    NULL,
};

const struct jr_shell_word *jr_translator_word(const struct jr_translator *t, size_t at)
{
    static const struct jr_shell_word none = {.text = ""};
    return at < t->words.count ? &t->words.items[at] : &none;
}

/* The text of a word, "" behind the last one. */
static const char *text_at(const struct jr_translator *t, size_t at)
{
    return jr_translator_word(t, at)->text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
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
    for (size_t i = 0; launchers[i] != NULL; i++) {
        size_t count = match_name(launchers[i]->names, word, next);
        if (count == 0)
            continue;
        const char *before = t->to->from;
        t->launcher = launchers[i];
        t->to->from = jr_arena_printf(t->arena, "%s%s%s%s%s", before == NULL ? "" : before,
                                      before == NULL ? "" : " and ", word, count == 2 ? " " : "",
                                      count == 2 ? next : "");
        return count;
    }
    return 0;
}

/* python -m MODULE, where the interpreter's own flags stand before -m. */
static bool take_module(struct jr_translator *t)
{
    size_t at = t->at + 1;
    while (text_at(t, at)[0] == '-' && strcmp(text_at(t, at), "-m") != 0)
        at++;
    if (strcmp(text_at(t, at), "-m") != 0 || match_launcher(t, text_at(t, at + 1), "") == 0)
        return false;
    t->python_from = t->at;
    t->python_end = at;
    t->at = at + 2;
    return true;
}

static bool take_launcher(struct jr_translator *t)
{
    const char *base = base_name(text_at(t, t->at));
    if (strncmp(base, "python", 6) == 0)
        return take_module(t);
    size_t count = match_launcher(t, base, text_at(t, t->at + 1));
    t->at += count;
    return count > 0;
}

/* NAME=VALUE before the launcher, behind `env` or not. */
static int take_variables(struct jr_translator *t)
{
    if (strcmp(text_at(t, t->at), "env") == 0)
        t->at++;
    for (; t->at < t->words.count; t->at++) {
        const struct jr_shell_word *word = jr_translator_word(t, t->at);
        struct jr_given given = {.what = word->text, .value = word->text, .expands = word->expands};
        if (!jr_put_is_name(word->text, '='))
            break;
        if (jr_set_pair(t, &given) != 0)
            return -1;
    }
    return 0;
}

/* A launcher inside another one starts the ranks; the outer one started one of it on each node,
 * which jobrun does itself. */
static void drop_sizes(struct jr_translator *t)
{
    static const char *const sizes[] = {"world_size", "local_world_size", "threads"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *from = jr_put_drop(t, sizes[i]);
        if (from != NULL)
            jr_note_add(t, JR_VERDICT_NEEDLESS, from, "the inner launcher sets it for the ranks");
    }
}

static int refuse_no_launcher(struct jr_translator *t)
{
    struct jr_buf names JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_launcher_names(&names);
    return jr_error_set(t->err, JR_STATUS_USAGE,
                        "the line does not begin with a known launcher: %s; "
                        "without one, jobrun -n 2 -- COMMAND starts 2 ranks",
                        names.data == NULL ? "" : names.data);
}

static int take_launchers(struct jr_translator *t)
{
    if (!take_launcher(t))
        return refuse_no_launcher(t);
    for (bool inside = true; inside;) {
        t->local_rank_argument = t->launcher->local_rank != NULL;
        if (jr_translate_options(t) != 0)
            return -1;
        if (t->to->help != NULL)
            return 0;
        if (t->at == t->words.count)
            return jr_error_set(t->err, JR_STATUS_USAGE, "the line names no program to run");
        inside = take_launcher(t);
        if (inside)
            drop_sizes(t);
    }
    return t->launcher->finish == NULL ? 0 : t->launcher->finish(t);
}

static int begin_translation(struct jr_translator *t, const char *line)
{
    const struct jr_given unasked = {.what = NULL};
    if (!jr_utf8_is_text(line))
        return jr_error_set(t->err, JR_STATUS_USAGE, "the line is not UTF-8");
    t->to->spec = jr_node_mapping(t->arena);
    line = jr_arena_strdup(t->arena, line);
    if (t->to->spec == NULL || line == NULL)
        return -1;
    if (jr_shell_split(&t->words, t->arena, line, t->err) != 0)
        return -1;
    return jr_put(t, &unasked, "version", "1");
}

static int translate_words(struct jr_translator *t, const char *line)
{
    if (begin_translation(t, line) != 0 || take_variables(t) != 0 || take_launchers(t) != 0)
        return -1;
    if (t->to->help != NULL)
        return 0;
    if (jr_put_program(t) != 0 || jr_put_sizes(t) != 0)
        return -1;
    if (jr_hosts_count(t) == 0) /* then nothing is started by ssh */
        (void)jr_put_drop(t, "engine");
    return 0;
}

int jr_translate(struct jr_translation *ret, const char *line, struct jr_error *err)
{
    *ret = (struct jr_translation){0};
    struct jr_translator t = {.to = ret, .arena = &ret->arena, .err = err};
    int status = translate_words(&t, line);
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
    for (size_t i = 0; launchers[i] != NULL; i++) {
        const char *names = launchers[i]->names;
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

static void print_note(struct jr_buf *out, const struct jr_note *note)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, "   ");
    add_cut(&text, note->what);
    jr_buf_str(&text, ": ");
    jr_buf_escaped(&text, note->why, strlen(note->why));
    out->failed |= text.failed;
    if (text.data != NULL)
        print_comment(out, text.data, 7);
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
            print_note(out, &from->notes[i]);
        }
    }
}

/* Whether the origin is one of the field's. */
static bool is_field_origin(const struct jr_origin *origin, const char *key)
{
    size_t len = strlen(key);
    return strncmp(origin->path, key, len) == 0 &&
           (origin->path[len] == '\0' || origin->path[len] == '.');
}

/* The options that said it, each once. */
static void add_origins(struct jr_buf *out, const struct jr_translation *from, const char *key)
{
    const char *last = "";
    for (size_t i = 0; i < from->origins_count; i++) {
        const struct jr_origin *origin = &from->origins[i];
        if (!is_field_origin(origin, key) || strcmp(origin->text, last) == 0)
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

static void print_spec(struct jr_buf *out, const struct jr_translation *from)
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
}

int jr_translation_print(struct jr_buf *out, struct jr_translation *from, struct jr_diags *diags)
{
    print_spec(out, from);
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
        jr_buf_str(&text, headings[flag->set == NULL ? flag->verdict : JR_VERDICT_LOST]);
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
