/* A translation as YAML, and a launcher's tables as text. */
#include "session/translate/print_spec.h"

#include <string.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "session/translate/flag.h"
#include "spec/field.h"
#include "spec/jsonschema.h"
#include "spec/load.h"

#include "base/banned.h"

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

/* Text as comment lines, broken at blanks; those after the first are indented
 * by `indent`. */
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
static void add_origins(struct jr_buf *out, const struct jr_translation *from,
                        const char *key)
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
static void print_field(struct jr_buf *out, const struct jr_translation *from,
                        struct jr_pair *pair)
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
        jr_buf_printf(out, "%.*s  # %s\n", (int)text.len - 1, text.data,
                      origin.data);
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

int jr_translation_print(struct jr_buf *out, struct jr_translation *from,
                         struct jr_diags *diags)
{
    print_spec(out, from);
    return out->failed ? 0
                       : jr_spec_load_text(&from->read, "--from", "/",
                                           out->data, out->len, diags);
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
        jr_buf_str(
            &text,
            headings[flag->set == NULL ? flag->verdict : JR_VERDICT_LOST]);
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
        for (const struct jr_flag *row = launcher->tables[i];
             row != NULL && row->names != NULL; row++)
            print_flag(out, row);
}
