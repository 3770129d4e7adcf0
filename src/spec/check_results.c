/*
 * The rules of internal.h on results: where they come from, their fields and comparisons, streams
 * that are kept, and files that several ranks share.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/rank_set.h"
#include "base/regex.h"
#include "spec/entry_arguments.h"
#include "spec/internal.h"

#include "base/banned.h"

/* Where results come from; "" if that is stated but not known. */
static const char *result_source(const struct jr_check *check)
{
    const char *from = jr_check_text(check, "results.from");
    const struct jr_node *stated = jr_check_raw(check, "results.from");
    if (from != NULL)
        return from;
    if (stated != NULL && stated->filled != NULL && stated->filled->unknown)
        return "";
    return jr_call_returns(jr_doc_get(check->tree, "entrypoint")) ? "return" : "file";
}

static bool is_stream(const char *from)
{
    return strcmp(from, "stdout") == 0 || strcmp(from, "stderr") == 0;
}

/* The named groups of results.pattern, NULL-terminated; NULL when results do not come from one. */
static const char **group_names(const struct jr_check *check)
{
    const char *pattern = jr_check_text(check, "results.pattern");
    struct jr_arena *arena = check->lint->arena;
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t bad;
    if (pattern == NULL || !is_stream(result_source(check)))
        return NULL;
    if (jr_regex_new(&regex, pattern, &bad, &err) != 0) {
        arena->failed |= err.status == JR_STATUS_LAUNCH;
        return NULL;
    }
    size_t count = jr_regex_group_count(regex);
    const char **names = jr_arena_array(arena, count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = jr_arena_strdup(arena, jr_regex_group_name(regex, i));
    jr_regex_free(regex);
    return names;
}

/* `pattern` goes with streams, `file` with files, `return` with functions. */
void jr_check_source(const struct jr_check *check)
{
    struct jr_diags *diags = check->lint->diags;
    const struct jr_node *results = jr_doc_get(check->tree, "results");
    const char *from = result_source(check);
    if (results == NULL || *from == '\0')
        return;
    const struct jr_node *where = jr_doc_get(results, "from");
    const struct jr_node *file = jr_doc_get(results, "file");
    const struct jr_node *pattern = jr_doc_get(results, "pattern");
    const struct jr_node *entry = jr_check_raw(check, "entrypoint");
    const char **groups = group_names(check);
    struct jr_diag *diag;
    /* an entrypoint that is not stated yet may be a function; one that is stated twice is among
     * what was typed as it was first, and in the tree as it counts */
    if (strcmp(from, "return") == 0 && entry != NULL && !jr_call_returns(entry) &&
        !jr_call_returns(jr_doc_get(check->tree, "entrypoint"))) {
        diag = jr_check_clash(check, JR_CODE_PROGRAM_RETURNS_NOTHING, where, NULL,
                              "only a Python function or a library returns a result");
        jr_diag_help(diags, diag,
                     "a program writes its result to a file (from: file), or "
                     "prints it (from: stdout, with a pattern)");
    }
    if (is_stream(from) && jr_check_raw(check, "results.pattern") == NULL) {
        diag =
            jr_check_clash(check, JR_CODE_RESULT_SOURCE_CONFLICT, where, NULL,
                           "'results.from: %s' wants a pattern", jr_lint_said(check->lint, where));
        jr_diag_help(diags, diag, "pattern: 'loss=(?<loss>[0-9.]+)'");
    }
    if (groups != NULL && groups[0] == NULL) {
        diag = jr_check_clash(check, JR_CODE_RESULT_SOURCE_CONFLICT, pattern, NULL,
                              "the pattern has no named group, so a result would have no field");
        jr_diag_help(diags, diag, "name one: (?<loss>[0-9.]+)");
    }
    if (pattern != NULL && !is_stream(from))
        (void)jr_check_clash(check, JR_CODE_RESULT_SOURCE_CONFLICT, pattern, where,
                             "'results.pattern' is only read with from: stdout or stderr");
    if (file != NULL && strcmp(from, "file") != 0)
        (void)jr_check_clash(check, JR_CODE_RESULT_SOURCE_CONFLICT, file, where,
                             "'results.file' is only read with from: file");
}

/* A key of a field that only some types have. */
static void check_trait(const struct jr_check *check, const struct jr_node *field, const char *key,
                        const char *types)
{
    const struct jr_node *type = jr_doc_get(field, "type");
    const struct jr_pair *pair = jr_doc_pair(field, key);
    if (type != NULL && pair != NULL && strstr(types, type->text) == NULL)
        (void)jr_check_clash(check, JR_CODE_RESULT_FIELD_CONFLICT, pair->key, type,
                             "%s is for %s, not for type %s", key, types,
                             jr_lint_said(check->lint, type));
}

static bool fits_type(const struct jr_node *value, const char *type)
{
    int64_t whole;
    double real;
    if (strcmp(type, "integer") == 0)
        return value->plain && jr_num_i64(value->text, &whole);
    if (strcmp(type, "number") == 0)
        return value->plain && jr_num_double(value->text, &real);
    if (strcmp(type, "boolean") == 0)
        return jr_scalar_type(value) == JR_SCALAR_BOOL;
    return true;
}

/* What a field says of its values can be met. */
static void check_field(const struct jr_check *check, const struct jr_node *field)
{
    const struct jr_node *type = jr_doc_get(field, "type");
    const struct jr_node *words = jr_doc_get(field, "enum");
    const struct jr_node *low = jr_doc_get(field, "min");
    const struct jr_node *high = jr_doc_get(field, "max");
    struct jr_exact_number min, max;
    check_trait(check, field, "min", "integer or number");
    check_trait(check, field, "max", "integer or number");
    check_trait(check, field, "pattern", "string");
    check_trait(check, field, "enum", "integer, number, string or boolean");
    if (low != NULL && high != NULL && jr_exact_number_read(&min, low->text) &&
        jr_exact_number_read(&max, high->text) && jr_exact_number_compare(&min, &max) > 0)
        (void)jr_check_clash(check, JR_CODE_RESULT_FIELD_CONFLICT, high, low,
                             "no value is at least %s and at most %s",
                             jr_lint_said(check->lint, low), jr_lint_said(check->lint, high));
    for (size_t i = 0; type != NULL && words != NULL && i < words->count; i++)
        if (!fits_type(words->items[i], type->text))
            (void)jr_check_clash(
                check, JR_CODE_RESULT_FIELD_CONFLICT, words->items[i], type, "%s is not of type %s",
                jr_lint_shown(check->lint, words->items[i]), jr_lint_said(check->lint, type));
}

void jr_check_fields(const struct jr_check *check)
{
    const struct jr_node *fields = jr_doc_find(check->tree, "results.fields");
    const char **groups = group_names(check);
    for (size_t i = 0; fields != NULL && i < fields->count; i++) {
        const struct jr_node *key = fields->pairs[i].key;
        const struct jr_node *required = jr_doc_get(fields->pairs[i].value, "required");
        const char **group = groups;
        check_field(check, fields->pairs[i].value);
        while (group != NULL && *group != NULL && strcmp(*group, key->text) != 0)
            group++;
        if (group != NULL && *group == NULL &&
            (required == NULL || strcmp(required->text, "true") == 0))
            (void)jr_check_clash(
                check, JR_CODE_UNKNOWN_RESULT_FIELD, key,
                jr_doc_find(check->tree, "results.pattern"), "the pattern has no group named '%s'",
                jr_lint_path(check->lint, &(struct jr_node_step){.key = key->text}));
    }
}

static int compare_result_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names that a result can have, sorted and NULL-terminated; NULL when any name will do. */
static const char **result_names(const struct jr_check *check, size_t *ret_count)
{
    const struct jr_node *fields = jr_doc_find(check->tree, "results.fields");
    const char **names = group_names(check);
    size_t count = 0;
    if (names == NULL && fields != NULL) {
        names = jr_arena_array(check->lint->arena, fields->count + 1, sizeof *names);
        for (size_t i = 0; names != NULL && i < fields->count; i++)
            names[i] = fields->pairs[i].key->text;
    }
    while (names != NULL && names[count] != NULL)
        count++;
    if (names != NULL)
        qsort(names, count, sizeof *names, compare_result_names);
    *ret_count = count;
    return names;
}

/* One entry of `equal` or `distinct`. */
struct compared {
    const struct jr_node *node;
    const char *list;
    size_t order;
};

static int compare_compared(const void *left, const void *right)
{
    const struct compared *a = left, *b = right;
    int order = strcmp(a->node->text, b->node->text);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

/* equal and distinct name fields that there are, each once. */
void jr_check_comparisons(const struct jr_check *check)
{
    enum { MOST_NAMES = 256 }; /* among more, no near one is looked for: nobody wrote them */
    static const char *const lists[] = {"equal", "distinct"};
    const struct jr_node *results = jr_doc_get(check->tree, "results");
    struct compared *entries = NULL;
    size_t count = 0, names_count;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct jr_node *list = jr_doc_get(results, lists[i]);
        for (size_t j = 0; list != NULL && j < list->count; j++) {
            struct compared *entry =
                jr_arena_push(check->lint->arena, &entries, &count, sizeof *entry);
            if (entry == NULL)
                return;
            *entry = (struct compared){list->items[j], lists[i], count};
        }
    }
    if (count == 0)
        return;
    const char **names = result_names(check, &names_count);
    qsort(entries, count, sizeof *entries, compare_compared);
    for (size_t i = 0; i < count; i++) {
        const struct compared *entry = &entries[i], *before = i > 0 ? entry - 1 : NULL;
        const char *name = entry->node->text, *source = jr_lint_source(entry->node);
        const char *said = jr_lint_quoted(check->lint, source, strlen(source));
        if (names != NULL &&
            bsearch(&name, names, names_count, sizeof *names, compare_result_names) == NULL) {
            struct jr_diag *diag =
                jr_check_clash(check, JR_CODE_UNKNOWN_RESULT_FIELD, entry->node, NULL,
                               "'results.%s' names an unknown field: %s", entry->list, said);
            if (names_count <= MOST_NAMES)
                jr_lint_suggest(check->lint, diag, entry->node, names);
        }
        if (before == NULL || strcmp(before->node->text, name) != 0)
            continue;
        if (before->list == entry->list)
            (void)jr_check_clash(check, JR_CODE_UNKNOWN_RESULT_FIELD, entry->node, before->node,
                                 "'results.%s' names %s twice", entry->list, said);
        else
            (void)jr_check_clash(check, JR_CODE_UNKNOWN_RESULT_FIELD, entry->node, before->node,
                                 "%s cannot be both equal and distinct", said);
    }
}

bool jr_check_takes(const struct jr_check *check, const struct jr_node *rules, const char *word,
                    uint32_t rank)
{
    struct jr_set set;
    const char *bad;
    if (rules == NULL)
        return false;
    if (rules->kind == JR_NODE_SCALAR)
        return strcmp(rules->text, word) == 0 || strcmp(rules->text, "all") == 0;
    for (size_t i = 0; i < rules->count; i++) {
        const struct jr_pair *rule = &rules->pairs[i];
        if ((strcmp(rule->value->text, word) == 0 || strcmp(rule->value->text, "all") == 0) &&
            jr_set_parse(&set, check->lint->arena, rule->key->text, &bad) && jr_set_has(&set, rank))
            return true;
    }
    return false;
}

/* Without `tee` both streams are. */
void jr_check_kept(const struct jr_check *check, const struct jr_node *at, const char *stream)
{
    enum { MOST_FOLLOWED = 64 }; /* local ranks */
    const char *word = strcmp(stream, "stderr") == 0 ? "err" : "out";
    const struct jr_node *tee = jr_doc_get(check->tree, "tee");
    const struct jr_node *redirects = jr_doc_get(check->tree, "redirects");
    struct jr_known local = jr_check_number(check, "local_world_size");
    uint64_t ranks = local.node == NULL ? 1 : local.value;
    for (uint32_t rank = 0; tee != NULL && rank < ranks && rank < MOST_FOLLOWED; rank++) {
        if (jr_check_takes(check, tee, word, rank) || jr_check_takes(check, redirects, word, rank))
            continue;
        (void)jr_check_clash(check, JR_CODE_STREAM_NOT_KEPT, at, tee,
                             "the %s of local rank %u is not kept in a file", stream, rank);
        return;
    }
}

/* A stream that results are read from must be kept. */
void jr_check_capture(const struct jr_check *check)
{
    const char *from = result_source(check);
    const char *required = jr_check_text(check, "results.required");
    if (is_stream(from) && (required == NULL || strcmp(required, "all") == 0))
        jr_check_kept(check, jr_doc_find(check->tree, "results.from"), from);
}

/* Ranks that must deliver, each to a file of its own: a path that is the same for all of them, or
 * for all of a node, cannot be that. Which ranks share one that differs in some way is known with
 * the plan (plan/planner.c). */

/* Whether a path has a word that differs between the ranks of a node, and one that differs between
 * nodes. */
static void read_path_words(const char *path, bool *ret_rank, bool *ret_node)
{
    static const char *const ranks[] = {"rank",      "local_rank", "model_rank", "pipeline_rank",
                                        "data_rank", "rank_dir",   "device"};
    while (path != NULL && (path = strchr(path, '%')) != NULL) {
        size_t len = path[1] == '{' ? strcspn(path + 2, "}") : 0;
        if (strncmp(path, "%%{", 3) == 0) {
            path += 2;
            continue;
        }
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
            *ret_rank |= strlen(ranks[i]) == len && strncmp(ranks[i], path + 2, len) == 0;
        *ret_node |= len == 9 && strncmp(path + 2, "node_rank", len) == 0;
        path++;
    }
}

/* Whether the spec alone says that several ranks must deliver. */
static bool must_several_deliver(const struct jr_check *check, const struct jr_sizes *sizes)
{
    const char *required = jr_check_text(check, "results.required"), *bad;
    uint64_t named = 0;
    struct jr_set set;
    if (!jr_set_parse(&set, check->lint->arena, required == NULL ? "all" : required, &bad))
        return false;
    if (set.all)
        return (sizes->world.node != NULL && sizes->world.value > 1) ||
               (sizes->nodes.node != NULL && sizes->nodes.value > 1) ||
               (sizes->local.node != NULL && sizes->local.value > 1);
    for (size_t i = 0; i < set.count; i++)
        named += set.ranges[i].last > set.ranges[i].first ? 2 : 1;
    return named > 1;
}

void jr_check_shared(const struct jr_check *check)
{
    const struct jr_node *at = jr_doc_find(check->tree, "results.file");
    const char *file = jr_check_text(check, "results.file");
    const char *required = jr_check_text(check, "results.required");
    bool all = required == NULL || strcmp(required, "all") == 0, rank = false, node = false;
    if (file == NULL || jr_check_is_open(check, "results.required") ||
        jr_check_is_open(check, "workdir") || (at->filled != NULL && at->filled->unknown))
        return;
    read_path_words(file, &rank, &node);
    if (file[0] != '/')
        read_path_words(jr_check_text(check, "workdir"), &rank, &node);
    const struct jr_sizes sizes = jr_check_known(check);
    /* where all of a node share a path, one with one rank each has no such node */
    bool shared = !rank && (!node || (all && sizes.local.node != NULL && sizes.local.value > 1));
    if (!shared || !must_several_deliver(check, &sizes))
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RESULT_FILE_SHARED, at, NULL,
                       "'results.file' is the same for several ranks that must deliver");
    jr_diag_help(check->lint->diags, diag,
                 "put %%{rank} into it; or, if one rank delivers for all, name "
                 "that rank: " JR_SETTING("results.required", "0"));
}
