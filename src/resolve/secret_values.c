#include "resolve/secret_values.h"

#include <ctype.h>
#include <string.h>

#include "base/redact.h"
#include "base/strv.h"
#include "doc/doc.h"

#include "base/banned.h"

enum { LEAST_READ = 4, LEAST = 8, NAME_MAX_LEN = 96 };

struct found {
    struct jr_resolver *r;
    struct jr_strv values, names;
};

/* The longest come first: one may be a part of another. */
static void sort_secret_in(struct jr_strv *values, struct jr_strv *names)
{
    size_t i = values->count - 1;
    char *value = values->items[i], *name = names->items[i];
    for (; i > 0 && strlen(values->items[i - 1]) < strlen(value); i--) {
        values->items[i] = values->items[i - 1];
        names->items[i] = names->items[i - 1];
    }
    values->items[i] = value;
    names->items[i] = name;
}

static void add_secret_value(struct found *found, const char *name, const char *value, size_t least)
{
    struct jr_arena *arena = found->r->arena;
    if (value == NULL || name == NULL || !jr_redact_wanted(value, least))
        return;
    for (size_t i = 0; i < found->values.count; i++)
        if (strcmp(found->values.items[i], value) == 0)
            return;
    jr_strv_push(&found->values, arena, jr_arena_strdup(arena, value));
    jr_strv_push(&found->names, arena, jr_arena_strdup(arena, name));
    if (!arena->failed)
        sort_secret_in(&found->values, &found->names);
}

/* Where the name of NAME=VALUE, of `len` bytes, is a secret's. */
static void add_item(struct found *found, const char *name, size_t len, const char *value)
{
    const struct jr_job *job = &found->r->out->job;
    char copy[NAME_MAX_LEN + 1];
    if (len == 0 || len > NAME_MAX_LEN ||
        !jr_env_matches(job->secrets, job->secrets_count, name, len))
        return;
    for (size_t i = 0; i < len; i++)
        copy[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    copy[len] = '\0';
    add_secret_value(found, copy, value, LEAST);
}

static void add_environ(struct found *found, char *const *environ)
{
    const struct jr_job *job = &found->r->out->job;
    for (; environ != NULL && *environ != NULL; environ++) {
        size_t len = strcspn(*environ, "=");
        if ((*environ)[len] == '=' &&
            jr_env_matches(job->secrets, job->secrets_count, *environ, len))
            add_secret_value(found, jr_arena_strndup(found->r->arena, *environ, len),
                             *environ + len + 1, LEAST);
    }
}

static void add_entries(struct found *found, const struct jr_env_entry *env, size_t count)
{
    const struct jr_job *job = &found->r->out->job;
    for (size_t i = 0; i < count; i++)
        if (env[i].value != NULL &&
            jr_env_matches(job->secrets, job->secrets_count, env[i].name, strlen(env[i].name)))
            add_secret_value(found, env[i].name, env[i].value, LEAST);
}

static bool is_plain_word(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
            return false;
    return true;
}

static void add_arguments(struct found *found, char *const *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = args[i] + strspn(args[i], "-");
        size_t len = strcspn(name, "=");
        if (name[len] == '=' && is_plain_word(name, len))
            add_item(found, name, len, name + len + 1);
    }
}

static bool is_secret_read(const struct jr_resolver *r, const char *value)
{
    const struct jr_strv *hidden = &jr_spec_doc(r->file)->hidden;
    for (size_t i = 0; i < hidden->count; i++)
        if (strcmp(hidden->items[i], value) == 0)
            return true;
    return false;
}

/* Without the line, which is not to be quoted. */
static struct jr_span place_of_argument(const struct jr_resolver *r)
{
    struct jr_span span = jr_spec_where(r->file, "entrypoint");
    const struct jr_source *from = span.source != NULL ? span.source : jr_spec_doc(r->file)->source;
    struct jr_source *source = jr_arena_alloc(r->arena, sizeof *source);
    if (source == NULL)
        return span;
    source->name = from->name;
    source->option = from->option;
    span.source = source;
    return span;
}

/* Values that a shell put after "--" are reported here; for those that the spec reads or states,
 * its checks have done so. */
static void warn_of_argument(struct jr_resolver *r, const char *name, const char *value)
{
    const char *stated = jr_env_get(r->options->environ, name);
    char *const *args = r->out->job.entrypoint.argv;
    uint32_t i = 0, count = r->out->job.entrypoint.argv_count;
    if (stated == NULL || strcmp(stated, value) != 0 || is_secret_read(r, value))
        return;
    while (i < count && strstr(args[i], value) == NULL)
        i++;
    if (i == count)
        return;
    struct jr_diag *diag =
        jr_diags_warning(r->diags, JR_CODE_SECRET_EXPOSED, place_of_argument(r), "entrypoint",
                         "every user of the machine can read the value of "
                         "'%s', because it is an argument",
                         name);
    jr_diag_help(r->diags, diag, "let the program read it from the environment");
}

void jr_secrets_find(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    const struct jr_doc *doc = jr_spec_doc(r->file);
    struct found found = {.r = r};
    if (job->secrets_count == 0)
        return;
    for (size_t i = 0; i < doc->hidden.count; i++)
        add_secret_value(&found, doc->hidden_names.items[i], doc->hidden.items[i], LEAST_READ);
    add_environ(&found, r->options->environ);
    add_entries(&found, job->env, job->env_count);
    for (uint32_t i = 0; i < job->per_rank_count; i++) {
        const struct jr_rank_entry *entry = &job->per_rank[i];
        add_entries(&found, entry->env, entry->env_count);
        add_arguments(&found, entry->args, entry->args_count);
    }
    add_arguments(&found, job->entrypoint.argv, job->entrypoint.argv_count);
    job->hidden = found.values.items;
    job->hidden_names = found.names.items;
    for (size_t i = 0; i < found.values.count; i++)
        warn_of_argument(r, found.names.items[i], found.values.items[i]);
}
