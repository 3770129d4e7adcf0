/* Profiles of the user's own, which internal.h declares: the files that `env_profiles` names beside
 * its words. */
#include <errno.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "spec/internal.h"

#include "base/banned.h"

#define PROFILES "env_profiles"
#define ENV      "env"
#define REMOVE   "env_remove"

enum { MOST_FILES = 16 };

struct work {
    struct jr_doc *doc;
    const struct jr_shapes *shapes;
    const struct jr_reader *reader;
    struct jr_diags *diags;
    struct jr_node *env, *remove; /* of the files so far, or NULL */
    size_t files;
    bool failed;
};

/* A word has neither. */
static bool is_profile_file(const struct jr_node *node)
{
    static const char *const ends[] = {".yaml", ".yml"};
    if (node->kind != JR_NODE_SCALAR)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t len = strlen(ends[i]);
        if (node->len >= len && memcmp(node->text + node->len - len, ends[i], len) == 0)
            return true;
    }
    return strchr(node->text, '/') != NULL;
}

static const struct jr_node *stated_profiles(const struct jr_node *root)
{
    if (root == NULL || root->kind != JR_NODE_MAPPING)
        return NULL;
    const struct jr_node *profiles = jr_doc_get(root, PROFILES);
    bool list = profiles != NULL && profiles->kind == JR_NODE_SEQUENCE;
    return list ? profiles : NULL;
}

bool jr_profiles_named(const struct jr_node *root)
{
    const struct jr_node *profiles = stated_profiles(root);
    for (size_t i = 0; profiles != NULL && i < profiles->count; i++)
        if (is_profile_file(profiles->items[i]))
            return true;
    return false;
}

static struct jr_diag *report_profile(struct work *work, enum jr_diag_code code,
                                      const struct jr_node *at, const char *message)
{
    work->failed = true;
    return jr_diags_error(work->diags, code, at->span, PROFILES, "%s",
                          message == NULL ? "out of memory" : message);
}

/* With `what` as in its source, made safe to show. */
static struct jr_diag *report_profile_text(struct work *work, enum jr_diag_code code,
                                           const struct jr_node *at, const char *before,
                                           const char *after)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "%s'", before);
    jr_buf_escaped(&text, at->text, at->len);
    jr_buf_printf(&text, "'%s", after);
    return report_profile(work, code, at, text.failed ? NULL : text.data);
}

/* Whether a value is of its kind; null states nothing. */
static bool has_value_kind(struct work *work, const struct jr_pair *pair, enum jr_node_kind kind,
                           const char *wants)
{
    const struct jr_node *value = pair->value;
    if (value->kind == kind)
        return true;
    if (value->kind != JR_NODE_SCALAR || jr_scalar_type(value) != JR_SCALAR_NULL) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text, "'%s' wants %s", pair->key->text, wants);
        (void)report_profile(work, JR_CODE_ENV_PROFILE_UNREADABLE, value,
                             text.failed ? NULL : text.data);
    }
    return false;
}

static void add_env(struct work *work, struct jr_node *env)
{
    struct jr_merger merger = {&work->doc->arena, work->shapes};
    struct jr_shape shape = work->shapes->child(&work->shapes->root, ENV);
    work->env = work->env == NULL ? env : jr_merge(&merger, &shape, work->env, env);
}

static void add_remove(struct work *work, const struct jr_node *remove)
{
    struct jr_arena *arena = &work->doc->arena;
    if (work->remove == NULL)
        work->remove = jr_node_sequence(arena);
    for (size_t i = 0; work->remove != NULL && i < remove->count; i++)
        jr_node_append(arena, work->remove, remove->items[i]);
}

static void take_pair(struct work *work, const struct jr_pair *pair)
{
    static const char *const keys[] = {ENV, REMOVE, "description", NULL};
    const char *key = pair->key->text;
    if (strcmp(key, ENV) == 0) {
        if (has_value_kind(work, pair, JR_NODE_MAPPING, "a mapping of variables"))
            add_env(work, pair->value);
    } else if (strcmp(key, REMOVE) == 0) {
        if (has_value_kind(work, pair, JR_NODE_SEQUENCE, "a list of names or globs"))
            add_remove(work, pair->value);
    } else if (strcmp(key, "description") != 0 && !jr_shapes_is_own(key)) {
        const char *near = jr_did_you_mean(key, keys);
        struct jr_diag *diag = report_profile_text(work, JR_CODE_ENV_PROFILE_UNREADABLE, pair->key,
                                                   "a profile has no field ", "");
        jr_diag_help(work->diags, diag,
                     near != NULL ? "did you mean '%s'?"
                                  : "a profile has env, env_remove and "
                                    "description; put variables below `env`",
                     near);
    }
}

static void compose_profile(struct work *work, const struct jr_reading *reading,
                            const struct jr_node *path)
{
    struct jr_doc doc;
    size_t errors = work->diags->errors;
    const char *bytes = reading->text.data == NULL ? "" : reading->text.data;
    (void)jr_doc_load(&doc, reading->file.name, bytes, reading->text.len, work->diags);
    if (doc.source != NULL)
        doc.source->folder = reading->file.folder;
    jr_arena_adopt(&work->doc->arena, &doc.arena);
    work->doc->dollars |= doc.dollars;
    work->failed |= work->diags->errors > errors;
    if (doc.root == NULL)
        return;
    if (doc.root->kind != JR_NODE_MAPPING) {
        (void)report_profile_text(work, JR_CODE_ENV_PROFILE_UNREADABLE, path, "the profile ",
                                  " is not a mapping with env and env_remove");
        return;
    }
    for (size_t i = 0; i < doc.root->count; i++)
        take_pair(work, &doc.root->pairs[i]);
}

static void take_file(struct work *work, const struct jr_node *path)
{
    const struct jr_source *source = path->span.source;
    const struct jr_file from = {.name = source->name, .folder = source->folder};
    struct jr_reading reading = {.path = path->text, .from = &from, .arena = &work->doc->arena};
    struct jr_error err = {0};
    if (strstr(path->text, "${") != NULL) {
        (void)report_profile(work, JR_CODE_ENV_PROFILE_UNREADABLE, path,
                             "the path of a profile cannot contain ${...}: profiles are read "
                             "before references are replaced");
    } else if (++work->files > MOST_FILES) {
        (void)report_profile(work, JR_CODE_ENV_PROFILE_UNREADABLE, path,
                             "at most 16 profiles are read");
    } else if (work->reader->read(work->reader, &reading, &err) == 0) {
        compose_profile(work, &reading, path);
    } else if (err.sys == ENOMEM) {
        work->doc->arena.failed = true;
    } else {
        struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&why, ": %s", err.text);
        struct jr_diag *diag = report_profile_text(
            work, reading.outside ? JR_CODE_PARENT_OUTSIDE_ROOT : JR_CODE_ENV_PROFILE_UNREADABLE,
            path, "cannot read the profile ", why.failed ? "" : why.data);
        jr_diag_help(work->diags, diag, "%s",
                     reading.outside ? "--root DIR sets the folder below which files may be read"
                                     : "paths are relative to the folder of this file");
    }
    jr_buf_release(&reading.text);
}

static bool is_stated(const struct jr_node *node)
{
    return node != NULL && (node->kind != JR_NODE_SCALAR || jr_scalar_type(node) != JR_SCALAR_NULL);
}

int jr_profiles_merge(struct jr_doc *doc, const struct jr_shapes *shapes,
                      const struct jr_reader *reader, struct jr_diags *diags)
{
    struct work work = {.doc = doc, .shapes = shapes, .reader = reader, .diags = diags};
    const struct jr_node *profiles = stated_profiles(doc->root);
    struct jr_node *words = profiles == NULL ? NULL : jr_node_sequence(&doc->arena);
    struct jr_node *env = jr_doc_get(doc->root, ENV), *remove = jr_doc_get(doc->root, REMOVE);
    for (size_t i = 0; words != NULL && i < profiles->count; i++)
        if (is_profile_file(profiles->items[i]))
            take_file(&work, profiles->items[i]);
        else
            jr_node_append(&doc->arena, words, profiles->items[i]);
    if (words != NULL) {
        words->span = profiles->span;
        words->flow = profiles->flow;
        jr_node_set(&doc->arena, doc->root, PROFILES, words);
    }
    /* the spec's own over them; what is no mapping or list is left to the reader of the tree, which
     * refuses it */
    if (work.env != NULL && is_stated(env))
        add_env(&work, env);
    if (work.env != NULL)
        jr_node_set(&doc->arena, doc->root, ENV, work.env);
    if (work.remove != NULL && (!is_stated(remove) || remove->kind == JR_NODE_SEQUENCE)) {
        if (is_stated(remove))
            add_remove(&work, remove);
        jr_node_set(&doc->arena, doc->root, REMOVE, work.remove);
    }
    return work.failed || doc->arena.failed ? -1 : 0;
}
