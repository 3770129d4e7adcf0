#include "session/specs/spec_help.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/near_file.h"
#include "spec/foreign_names.h"
#include "spec/jsonschema.h"
#include "spec/manual.h"

#include "base/banned.h"

/* How much of a word that is nothing is repeated. */
enum { MAX_WORD = 64 };

void jr_spec_help_list(struct jr_buf *out)
{
    jr_field_list(out);
}

/* Append the paths whose last word this is: "min" is results.fields.*.min. */
static void same_end(struct jr_buf *out, const char **paths, const char *word)
{
    for (; *paths != NULL; paths++) {
        const char *dot = strrchr(*paths, '.');
        if (dot != NULL && strcmp(dot + 1, word) == 0)
            jr_buf_printf(out, "%s'%s'", out->len > 0 ? " or " : "", *paths);
    }
}

/* Append what was probably meant by a word that is no field: "'nodes'". */
static void add_near_fields(struct jr_buf *out, const char *word)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    if (paths != NULL)
        same_end(out, paths, word);
    const char *near = paths != NULL ? jr_did_you_mean(word, paths) : NULL;
    if (out->len == 0 && near != NULL)
        jr_buf_printf(out, "'%s'", near);
    jr_arena_release(&arena);
}

static int refuse_unknown_field(const char *word, struct jr_error *err)
{
    const char *foreign = jr_field_foreign(word);
    if (foreign != NULL)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "'%s' is called '%s' here: jobrun explain %s", word,
                            foreign, foreign);
    const char *needless = jr_field_needless(word);
    if (needless != NULL)
        return jr_error_set(err, JR_STATUS_USAGE, "there is no field '%s': %s",
                            word, needless);
    JR_BUF_CLEANUP struct jr_buf near = JR_BUF_INIT;
    add_near_fields(&near, word);
    if (near.len > 0 && !near.failed)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "there is no field '%s'; did you mean %s?", word,
                            near.data);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "there is no field or code '%.*s'; jobrun explain "
                        "lists the fields",
                        MAX_WORD, word);
}

/* The field of a path as a finding shows it: [2] is an item of a list. */
static const struct jr_spec_field *find_field(const char *word)
{
    struct jr_arena arena = JR_ARENA_INIT;
    char *path = jr_arena_strndup(&arena, word, strcspn(word, "["));
    const struct jr_spec_field *field = NULL;
    if (path != NULL)
        field = jr_field_find(path);
    jr_arena_release(&arena);
    return field;
}

int jr_spec_help_field(struct jr_buf *out, const char *path,
                       struct jr_error *err)
{
    const struct jr_spec_field *field = find_field(path);
    if (field == NULL)
        return refuse_unknown_field(path, err);
    jr_field_explain(out, field);
    return 0;
}

void jr_spec_help_schema(struct jr_buf *out)
{
    jr_spec_schema(out);
}

const char *jr_spec_help_schema_file(void)
{
    return JR_SCHEMA_FILE;
}

bool jr_spec_help_is_schema(const char *text, size_t len)
{
    return jr_spec_is_schema(text, len);
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

/* What `field=` may continue with. */
static void offer_field_values(const struct offering *to, const char *path,
                               const struct jr_spec_field *field)
{
    static const struct jr_spec_word booleans[] = {
        {"true", NULL}, {"false", NULL}, {0}};
    static const struct jr_spec_word missing[] = {{"auto", "filled by jobrun"},
                                                  {0}};
    offer_field_words(to, path, jr_field_words(field->type));
    if (field->type->kind == JR_KIND_BOOLEAN)
        offer_field_words(to, path, booleans);
    if (field->need == JR_NEED_RESOLVED)
        offer_field_words(to, path, missing);
}

/* Fields as they are set: "nodes=", and once that is typed, what may follow. */
static void offer_setting(const struct offering *to, const char *path,
                          const struct jr_spec_field *field)
{
    if (field->since == NULL || strchr(path, '*') != NULL)
        return;
    size_t len = strlen(path);
    if (strncmp(to->word, path, len) == 0 && to->word[len] == '=') {
        offer_field_values(to, path, field);
        return;
    }
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s=", path);
    if (!text.failed)
        to->offer(to->data, text.data, field->help);
}

void jr_spec_help_paths(jr_spec_help_offer *offer, void *data)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    for (; paths != NULL && *paths != NULL; paths++)
        offer(data, *paths, jr_field_find(*paths)->help);
    jr_arena_release(&arena);
}

void jr_spec_help_settings(const char *word, jr_spec_help_offer *offer,
                           void *data)
{
    const struct offering to = {offer, data, word};
    struct jr_arena arena = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    for (; paths != NULL && *paths != NULL; paths++)
        offer_setting(&to, *paths, jr_field_find(*paths));
    jr_arena_release(&arena);
}
