#include "spec/manual.h"

#include <string.h>

#include "spec/foreign_names.h"
#include "spec/notes.h"

#include "base/banned.h"

enum { FACT_COLUMN = 14, LIST_COLUMN = 23 };

const struct jr_field_section *jr_field_sections(size_t *ret_count)
{
#define SECTION(first, title, text) {first, title, text},
    static const struct jr_field_section sections[] = {JR_FIELD_SECTIONS(SECTION)};
    *ret_count = sizeof sections / sizeof *sections;
    return sections;
}

const struct jr_field_section *jr_field_section_at(const struct jr_spec_field *field)
{
    size_t count;
    const struct jr_field_section *sections = jr_field_sections(&count);
    for (size_t i = 0; i < count; i++)
        if (jr_field_get(jr_field_root()->fields, sections[i].first) == field)
            return &sections[i];
    return NULL;
}

void jr_field_path(struct jr_buf *out, const struct jr_spec_field *field)
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    for (size_t i = 0; i < count; i++) {
        if (jr_field_get(groups[i].fields, field->key) != field)
            continue;
        const char *dot = groups[i].path[0] == '\0' ? "" : ".";
        jr_buf_printf(out, "%s%s%s", groups[i].path, dot, field->key);
        return;
    }
}

const char **jr_field_paths(struct jr_arena *arena)
{
    const char **paths = NULL;
    size_t used = 0, count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    for (size_t i = 0; i < count; i++) {
        const struct jr_spec_field *row = groups[i].fields;
        for (; row->key != NULL && !arena->failed; row++) {
            char *path =
                jr_arena_printf(arena, "%s%s%s", groups[i].path, i == 0 ? "" : ".", row->key);
            const char **slot = jr_arena_push(arena, &paths, &used, sizeof *paths);
            if (slot != NULL)
                *slot = path;
        }
    }
    (void)jr_arena_push(arena, &paths, &used, sizeof *paths);
    return arena->failed ? NULL : paths;
}

const struct jr_field_note *jr_field_note(const struct jr_spec_field *field)
{
#define NOTE(path, text, example) {path, text, example},
    static const struct jr_field_note notes[] = {JR_FIELD_NOTES(NOTE)};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (jr_field_find(notes[i].path) == field)
            return &notes[i];
    return NULL;
}

const struct jr_spec_field *jr_field_below(const struct jr_spec_type *type)
{
    return type->kind == JR_KIND_NAMES ? type->item->fields : type->fields;
}

const struct jr_spec_word *jr_field_words(const struct jr_spec_type *type)
{
    return type->words == NULL && type->item != NULL ? type->item->words : type->words;
}

static void describe_accepted(const struct jr_spec_type *type, jr_field_tell *tell, void *context)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_field_wants(&text, type);
    if (type->is_template || (type->item != NULL && type->item->is_template))
        jr_buf_str(&text, "; per-rank templates such as %{rank} are replaced");
    if (!text.failed)
        tell(context, "accepts", text.data);
}

static void describe_missing(const struct jr_spec_field *field, jr_field_tell *tell, void *context)
{
    bool same = field->fallback != NULL && strcmp(field->fallback, field->missing) == 0;
    if (field->fallback != NULL && field->type->kind != JR_KIND_LIST)
        tell(context, "default", field->fallback);
    if (field->need == JR_NEED_RESOLVED) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_buf_printf(&text, "(absent, null, auto or %s) %s", "???", field->missing);
        if (!text.failed)
            tell(context, "MISSING", text.data);
    } else if (!same || field->type->kind == JR_KIND_LIST) {
        tell(context, "without it", field->missing);
    }
}

static void describe_since(const struct jr_spec_field *field, jr_field_tell *tell, void *context)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "jobrun %s", field->since);
    if (!text.failed)
        tell(context, "since", text.data);
}

void jr_field_facts(const struct jr_spec_field *field, jr_field_tell *tell, void *context)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf others = JR_BUF_INIT;
    jr_field_path(&path, field);
    describe_accepted(field->type, tell, context);
    if (field->unit != NULL && field->type->kind != JR_KIND_DURATION)
        tell(context, "unit", field->unit);
    describe_missing(field, tell, context);
    if (!path.failed)
        jr_field_others(&others, path.data);
    if (others.len > 0)
        tell(context, "elsewhere", others.data);
    describe_since(field, tell, context);
}

/* One row of a list: a word, and at the column what it is. */
static void print_row(struct jr_buf *out, size_t indent, size_t column, const char *word,
                      const char *text)
{
    size_t width = indent + strlen(word);
    jr_buf_fill(out, ' ', indent);
    jr_buf_str(out, word);
    jr_buf_fill(out, ' ', width < column ? column - width : 1);
    jr_buf_wrapped(out, text, column);
    jr_buf_char(out, '\n');
}

static void print_fact(void *context, const char *label, const char *text)
{
    print_row(context, 2, FACT_COLUMN, label, text);
}

/* Append the lines of a text, each after two blanks. */
static void print_example(struct jr_buf *out, const char *text)
{
    jr_buf_str(out, "\nexample:\n");
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        jr_buf_printf(out, "  %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

/* Rows of a mapping and, indented further, those of the mappings in it. */
static void print_rows_below(struct jr_buf *out, const struct jr_spec_field *rows, size_t indent)
{
    for (const struct jr_spec_field *row = rows; row->key != NULL; row++) {
        const struct jr_field_section *section = jr_field_section_at(row);
        const struct jr_spec_field *below = jr_field_below(row->type);
        if (section != NULL)
            jr_buf_printf(out, "\n%s\n", section->title);
        print_row(out, indent, LIST_COLUMN, row->key, row->help);
        if (below != NULL)
            print_rows_below(out, below, indent + 2);
    }
}

void jr_field_explain(struct jr_buf *out, const struct jr_spec_field *field)
{
    const struct jr_field_note *note = jr_field_note(field);
    const struct jr_spec_field *below = jr_field_below(field->type);
    const struct jr_spec_word *words = jr_field_words(field->type);
    jr_field_path(out, field);
    jr_buf_printf(out, ": %s\n\n", field->help);
    jr_field_facts(field, print_fact, out);
    if (note != NULL && note->text[0] != '\0') {
        jr_buf_char(out, '\n');
        jr_buf_wrapped(out, note->text, 0);
        jr_buf_char(out, '\n');
    }
    if (words != NULL)
        jr_buf_str(out, "\nwords:\n");
    for (; words != NULL && words->word != NULL; words++)
        print_row(out, 2, LIST_COLUMN, words->word, words->help);
    if (below != NULL) {
        jr_buf_str(out, "\nfields:\n");
        print_rows_below(out, below, 2);
    }
    if (note != NULL)
        print_example(out, note->example);
}

void jr_field_list(struct jr_buf *out)
{
    jr_buf_str(out, "The fields of a spec:\n");
    print_rows_below(out, jr_field_root()->fields, 2);
}
