#include "spec/load.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/utf8.h"
#include "doc/extends.h"
#include "doc/interpolate.h"
#include "doc/doc.h"
#include "spec/foreign.h"
#include "spec/internal.h"

#include "base/banned.h"

char *jr_spec_stem(struct jr_arena *arena, const char *path)
{
    static const char *const suffixes[] = {".yaml", ".yml", ".jobrun"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    enum { LONGEST = 63 };
    const char *slash = strrchr(path, '/');
    char *stem = jr_arena_strdup(arena, slash == NULL ? path : slash + 1);
    size_t len = stem == NULL ? 0 : strlen(stem);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (len > suffix && strcmp(stem + len - suffix, suffixes[i]) == 0)
            stem[len -= suffix] = '\0';
    }
    if (len == 0)
        return jr_arena_strdup(arena, "job");
    if (len > LONGEST)
        stem[LONGEST] = '\0';
    for (size_t i = 0; stem[i] != '\0'; i++) {
        if (strchr(letters, stem[i]) != NULL)
            continue;
        if (i == 0)
            stem[i] = 'x';
        else if (strchr("._", stem[i]) == NULL)
            stem[i] = '-';
    }
    return stem;
}

void jr_spec_free(struct jr_spec_file *file)
{
    if (file == NULL)
        return;
    jr_bind_free(file->spec);
    jr_doc_release(&file->doc);
    free(file);
}

int jr_spec_bind(struct jr_spec_file *file, struct jr_diags *diags)
{
    struct jr_lint lint = {
        .arena = &file->doc.arena,
        .diags = diags,
        .folder = file->folder,
        .here = file->here,
    };
    int ret = 0;
    if (!file->base && file->spec == NULL)
        ret = jr_bind_spec(&file->spec, &lint, file->tree, file->stem);
    jr_lint_release(&lint);
    return ret;
}

/* Everything after the tree is complete: lint and check. `errors` is how many there were before it
 * was read. */
static int lint_and_check(struct jr_spec_file *file, struct jr_lint *lint, size_t errors)
{
    struct jr_diags *diags = lint->diags;
    const struct jr_node *root = file->doc.root;
    lint->base = jr_assembly_is_template(root);
    if (lint->base && !lint->validate) {
        const struct jr_node_step at = {.key = "template"};
        struct jr_diag *diag =
            jr_lint_error(lint, JR_CODE_SPEC_IS_TEMPLATE, jr_doc_pair(root, "template")->key->span,
                          &at, "this is a template: it is only a base for others");
        jr_diag_help(diags, diag, "run a spec that extends it");
    }
    file->tree = jr_lint_spec(lint, root);
    if (file->tree != NULL)
        jr_check_spec(lint, root, file->tree);
    file->base = lint->base;
    if (lint->arena->failed)
        (void)jr_diags_error(diags, JR_CODE_INTERNAL, root->span, NULL, "out of memory");
    if (lint->arena->failed || file->tree == NULL || diags->errors > errors)
        return -1;
    return 0;
}

/* Everything after the document is loaded. */
static int read_spec_doc(struct jr_spec_file *file, const struct jr_assembly *assembly,
                         struct jr_diags *diags, size_t errors)
{
    const struct jr_spec_options *options = assembly->options;
    struct jr_lint lint = {
        .arena = &file->doc.arena,
        .diags = diags,
        .folder = assembly->file.folder,
        .here = assembly->here,
        .validate = options->validate,
        .strict = options->strict,
        .cell = options->cell || options->values_count > 0,
        .pools = options->pools,
        .composed = options->sets != NULL || (file->doc.root->kind == JR_NODE_MAPPING &&
                                              jr_doc_pair(file->doc.root, "extends") != NULL),
    };
    int ret = -1;
    size_t before = diags->errors, first = diags->count;
    if (jr_other_kind_report(diags, file->doc.root))
        return -1;
    file->pools = options->pools;
    int assembled = jr_assemble(&file->doc, assembly, diags);
    lint.garbled = diags->errors > before;
    if (assembled == 0) {
        file->folder = lint.folder;
        file->here = jr_arena_strdup(lint.arena, lint.here);
        file->stem = jr_spec_stem(lint.arena, assembly->file.name);
        file->sweeps = jr_assembly_sweeps(assembly, &file->doc);
        if (!file->sweeps)
            ret = lint_and_check(file, &lint, errors);
        else /* it is several, and its reading ends here */
            ret = diags->errors > errors ? -1 : 0;
    }
    jr_extends_relate(&file->doc, diags, first);
    jr_lint_release(&lint);
    return ret != 0 || options->unbound || file->sweeps ? ret : jr_spec_bind(file, diags);
}

char *jr_spec_folder(const char *path)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *copy = NULL;
    if (here == NULL)
        return NULL;
    if (path == NULL || strcmp(path, "-") == 0)
        return jr_io_absolute(here, ".");
    copy = strdup(path);
    return copy == NULL ? NULL : jr_io_absolute(here, dirname(copy));
}

static int refuse_no_folder(struct jr_diags *diags)
{
    (void)jr_diags_error(diags, JR_CODE_INTERNAL, (struct jr_span){0}, NULL, "%s",
                         errno == ENOMEM ? "out of memory"
                                         : "the current folder cannot be determined");
    return -1;
}

/* What becomes part of a spec can only be what a spec can say: anything else would come out of it
 * as another name. */
static int check_text(struct jr_diags *diags, const char *what, const char *text)
{
    if (jr_utf8_is_text(text))
        return 0;
    (void)jr_diags_error(diags, JR_CODE_NOT_UTF8, (struct jr_span){0}, NULL,
                         "%s is not UTF-8, which a spec must be: %s", what, text);
    return -1;
}

/* The spec of a bare command: what is written for it, and where its parts stand. */

void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena, uint32_t n,
                           char *const *argv)
{
    struct jr_node *root = jr_node_mapping(arena);
    struct jr_node *list = jr_node_sequence(arena);
    jr_node_set(arena, root, "version", jr_node_scalar(arena, "1", true));
    jr_node_set(arena, root, "name", jr_node_scalar(arena, jr_spec_stem(arena, argv[0]), false));
    for (; *argv != NULL; argv++)
        jr_node_append(arena, list, jr_node_scalar(arena, *argv, false));
    jr_node_set(arena, root, "entrypoint", list);
    const char *count = jr_arena_printf(arena, "%u", n);
    if (n > 0 && count != NULL)
        jr_node_set(arena, root, "world_size", jr_node_scalar(arena, count, true));
    if (arena->failed)
        return;
    jr_spec_escape(arena, root);
    jr_doc_emit(out, root);
}

/* A source for the command line; NULL if memory runs out. */
static struct jr_source *new_implied_source(struct jr_doc *doc, const char *name, const char *text,
                                            const char *folder)
{
    struct jr_source *source = jr_arena_alloc(&doc->arena, sizeof *source);
    if (source == NULL || text == NULL)
        return NULL;
    *source = (struct jr_source){
        .name = name, .text = text, .len = strlen(text), .folder = folder, .option = true};
    return source;
}

/* Whether a word is shown in quotes: otherwise it would be taken for several, or for none. */
static bool needs_word_quotes(const char *word)
{
    return *word == '\0' || strpbrk(word, " \t\n'\"") != NULL;
}

/* The words with blanks between them. A node says how it is shown, so that what is wrong in a
 * template can be pointed at. */
static char *write_words(struct jr_arena *arena, const struct jr_node *words, char *const *argv)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < words->count; i++) {
        bool quoted = needs_word_quotes(argv[i]);
        const char *quote = quoted ? "'" : "";
        if (quoted || strstr(argv[i], "%{") != NULL)
            words->items[i]->plain = !quoted;
        jr_buf_printf(&text, "%s%s%s%s", i == 0 ? "" : " ", quote, argv[i], quote);
    }
    return jr_buf_keep(&text, arena);
}

static void place_words(struct jr_node *words, char *const *argv, const struct jr_source *source)
{
    struct jr_place place = {0}, first = {0};
    for (size_t i = 0; i < words->count; i++) {
        struct jr_place start = place;
        size_t size = strlen(argv[i]) + (needs_word_quotes(argv[i]) ? 2 : 0);
        jr_place_to_byte(&place, source, place.byte + size);
        words->items[i]->span = jr_place_span(source, start, place);
        words->span = jr_place_span(source, first, place);
        jr_place_to_byte(&place, source, place.byte + 1);
    }
}

/* Give the nodes of that spec, as loaded, positions that its user knows: the number is in a source
 * named -n, the words are in one named `command`; everything else has no position. `folder` is what
 * paths are relative to, in the document's arena. */
static void place_command(struct jr_doc *doc, char *const *argv, const char *folder)
{
    const struct jr_span nowhere = {.source = doc->source};
    struct jr_node *words = jr_doc_get(doc->root, "entrypoint");
    struct jr_node *count = jr_doc_get(doc->root, "world_size");
    const struct jr_source *source;
    doc->root->span = nowhere;
    for (size_t i = 0; i < doc->root->count; i++) {
        doc->root->pairs[i].key->span = nowhere;
        doc->root->pairs[i].value->span = nowhere;
    }
    const char *text = write_words(&doc->arena, words, argv);
    source = new_implied_source(doc, "command", text, folder);
    if (source != NULL)
        place_words(words, argv, source);
    source = count == NULL ? NULL : new_implied_source(doc, "-n", count->text, folder);
    if (source == NULL)
        return;
    struct jr_place start = {0}, end = {0};
    jr_place_to_byte(&end, source, source->len);
    count->span = jr_place_span(source, start, end);
}

static int load_path(struct jr_spec_file *file, const struct jr_spec_source *source,
                     struct jr_assembly *assembly, struct jr_diags *diags)
{
    JR_FREE char *folder = jr_spec_folder(source->path);
    if (folder == NULL)
        return refuse_no_folder(diags);
    JR_FREE char *real = realpath(source->path, NULL);
    bool is_stdin = strcmp(source->path, "-") == 0;
    size_t errors = diags->errors;
    if (check_text(diags, "the spec's folder", folder) != 0)
        return -1;
    if (jr_doc_load_file(&file->doc, source->path, diags) != 0)
        return -1;
    struct jr_arena *arena = &file->doc.arena;
    assembly->file = (struct jr_file){
        .id = is_stdin ? NULL : jr_arena_strdup(arena, real),
        .name = file->doc.source->name,
        .folder = jr_arena_strdup(arena, folder),
    };
    return read_spec_doc(file, assembly, diags, errors);
}

static int load_text(struct jr_spec_file *file, const struct jr_spec_source *source,
                     struct jr_assembly *assembly, struct jr_diags *diags)
{
    size_t errors = diags->errors;
    if (jr_doc_load(&file->doc, source->name, source->text, source->len, diags) != 0)
        return -1;
    assembly->file = (struct jr_file){
        .name = file->doc.source->name,
        .folder = jr_arena_strdup(&file->doc.arena, source->folder),
    };
    if (source->argv != NULL)
        place_command(&file->doc, source->argv, assembly->file.folder);
    return read_spec_doc(file, assembly, diags, errors);
}

/* Load a copy of what was composed before, which points at its source. */
static int load_composed(struct jr_spec_file *file, const struct jr_spec_source *source,
                         struct jr_assembly *assembly, struct jr_diags *diags)
{
    const struct jr_doc *composed = assembly->options->composed;
    size_t errors = diags->errors;
    file->doc.source = composed->source;
    file->doc.dollars = composed->dollars;
    file->doc.root = jr_node_copy(&file->doc.arena, composed->root);
    assembly->file = (struct jr_file){.name = composed->source->name, .folder = source->folder};
    if (!file->doc.arena.failed)
        return read_spec_doc(file, assembly, diags, errors);
    (void)jr_diags_error(diags, JR_CODE_INTERNAL, (struct jr_span){0}, NULL, "out of memory");
    return -1;
}

static int load_command(struct jr_spec_file *file, const struct jr_spec_source *source,
                        struct jr_assembly *assembly, struct jr_diags *diags)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf text = JR_BUF_INIT;
    int status = -1;
    for (char *const *word = source->argv; *word != NULL; word++)
        if (check_text(diags, "an argument", *word) != 0)
            return -1;
    jr_spec_write_command(&text, &arena, source->ranks, source->argv);
    diags->no_spec = true;
    const struct jr_spec_source implied = {.name = "command line",
                                           .folder = assembly->here,
                                           .text = text.data,
                                           .len = text.len,
                                           .argv = source->argv};
    if (text.data != NULL && !text.failed)
        status = load_text(file, &implied, assembly, diags);
    jr_buf_release(&text);
    return status;
}

int jr_spec_load(struct jr_spec_file **ret, const struct jr_spec_source *source,
                 const struct jr_spec_options *options, struct jr_diags *diags)
{
    bool is_text = source->path == NULL && source->argv == NULL;
    const char *stated = options->here == NULL && is_text ? source->folder : options->here;
    JR_FREE char *here = stated != NULL ? strdup(stated) : jr_spec_folder(NULL);
    struct jr_assembly assembly = {.options = options, .here = here};
    *ret = NULL;
    if (here == NULL)
        return refuse_no_folder(diags);
    if (check_text(diags, "the current folder", here) != 0)
        return -1;
    struct jr_spec_file *file = *ret = calloc(1, sizeof *file);
    if (file == NULL) {
        (void)jr_diags_error(diags, JR_CODE_INTERNAL, (struct jr_span){0}, NULL, "out of memory");
        return -1;
    }
    if (options->composed != NULL)
        return load_composed(file, source, &assembly, diags);
    if (source->path != NULL)
        return load_path(file, source, &assembly, diags);
    return source->argv != NULL ? load_command(file, source, &assembly, diags)
                                : load_text(file, source, &assembly, diags);
}

int jr_spec_load_text(struct jr_spec_file **ret, const char *name, const char *folder,
                      const char *text, size_t len, struct jr_diags *diags)
{
    const struct jr_spec_source source = {.name = name, .folder = folder, .text = text, .len = len};
    return jr_spec_load(ret, &source, &(struct jr_spec_options){0}, diags);
}

/*
 * What a spec that was read can be asked.
 */

enum jr_status jr_spec_status(const struct jr_diags *diags)
{
    size_t own = 0, outside = 0;
    for (size_t i = 0; i < diags->count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        if (diag->severity != JR_SEVERITY_ERROR)
            continue;
        own += jr_diag_is(diag, JR_CODE_INTERNAL);
        outside += jr_diag_is(diag, JR_CODE_VALUE_NOT_SUPPLIED) ||
                   jr_diag_is(diag, JR_CODE_UNKNOWN_VARIABLE);
    }
    if (own > 0 || diags->errors == 0 || diags->arena.failed)
        return JR_STATUS_LAUNCH;
    return outside == diags->errors ? JR_STATUS_UNRESOLVED : JR_STATUS_INVALID;
}

const char *jr_spec_folder_of(const struct jr_spec_file *file)
{
    return file->folder;
}

bool jr_spec_sweeps(const struct jr_spec_file *file)
{
    return file->sweeps;
}

bool jr_spec_states_ssh(const struct jr_spec_file *file)
{
    return jr_assembly_states_ssh(file->doc.root);
}

bool jr_spec_pools_hosts(const struct jr_spec_file *file)
{
    return file->pools && file->spec != NULL && file->spec->policy.engine.ssh != NULL;
}

const struct jr_spec *jr_spec_get(const struct jr_spec_file *file)
{
    return file->spec;
}

const struct jr_doc *jr_spec_doc(const struct jr_spec_file *file)
{
    return &file->doc;
}

const struct jr_node *jr_spec_tree(const struct jr_spec_file *file)
{
    return file->tree;
}

void jr_spec_escape(struct jr_arena *arena, struct jr_node *root)
{
    const struct jr_shapes shapes = jr_shapes_make();
    jr_interpolate_undo(arena, &shapes, root);
}

void jr_spec_emit(struct jr_buf *out, const struct jr_spec_file *file)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = jr_node_copy(&arena, file->tree);
    if (root != NULL)
        jr_spec_escape(&arena, root);
    if (arena.failed)
        out->failed = true;
    else
        jr_doc_emit(out, root);
}

static const struct jr_node *find_spec_node(const struct jr_spec_file *file, const char *path)
{
    return file->tree == NULL ? NULL : jr_doc_find(file->tree, path);
}

/* What a message, or a record, has for a scalar. */
typedef const char *teller(struct jr_arena *arena, const struct jr_node *node);

static const char *text_of_source(struct jr_arena *arena, const struct jr_node *node)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (node->filled == NULL)
        return NULL;
    jr_point_text(&out, node->filled->written, strlen(node->filled->written));
    return jr_buf_keep(&out, arena);
}

static const char *text_of_kept(struct jr_arena *arena, const struct jr_node *node)
{
    (void)arena;
    return node->filled == NULL ? NULL : node->filled->kept;
}

static const char *text_of_field(const struct jr_spec_file *file, struct jr_arena *arena,
                                 const char *path, teller *tell)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_node *node = find_spec_node(file, path);
    bool any = false; /* a list is told if any item has something else than its text */
    for (size_t i = 0; node != NULL && node->kind == JR_NODE_SEQUENCE && i < node->count; i++) {
        const struct jr_node *item = node->items[i];
        bool scalar = item->kind == JR_NODE_SCALAR;
        const char *told = scalar ? tell(arena, item) : NULL;
        any = any || told != NULL;
        jr_buf_printf(&out, "%s%s", i == 0 ? "" : ",",
                      told != NULL ? told
                      : scalar     ? item->text
                                   : "...");
    }
    if (node != NULL && node->kind == JR_NODE_SEQUENCE)
        return any ? jr_buf_keep(&out, arena) : NULL;
    if (node != NULL && node->kind == JR_NODE_MAPPING)
        node = jr_doc_find(file->doc.root, path); /* its short form */
    return node != NULL && node->kind == JR_NODE_SCALAR ? tell(arena, node) : NULL;
}

const char *jr_spec_written(const struct jr_spec_file *file, struct jr_arena *arena,
                            const char *path)
{
    return text_of_field(file, arena, path, text_of_source);
}

const char *jr_spec_kept(const struct jr_spec_file *file, struct jr_arena *arena, const char *path)
{
    return text_of_field(file, arena, path, text_of_kept);
}

static bool is_value_unknown(const struct jr_node *node)
{
    bool unknown = node->filled != NULL && node->filled->unknown;
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        unknown = unknown || is_value_unknown(node->items[i]);
    return unknown;
}

bool jr_spec_is_unknown(const struct jr_spec_file *file, const char *path)
{
    char group[64];
    const char *dot = strrchr(path, '.');
    const struct jr_node *node = jr_doc_find(file->doc.root, path);
    if (node != NULL || dot == NULL)
        return node != NULL && is_value_unknown(node);
    (void)snprintf(group, sizeof group, "%.*s", (int)(dot - path), path);
    return jr_spec_is_unknown(file, group);
}

struct jr_span jr_spec_where(const struct jr_spec_file *file, const char *path)
{
    const struct jr_node *node = find_spec_node(file, path);
    return node == NULL ? (struct jr_span){0} : node->span;
}

struct jr_span jr_spec_where_within(const struct jr_spec_file *file, const char *path)
{
    struct jr_span span = {0};
    JR_FREE char *part = strdup(path);
    for (size_t len = strlen(path); part != NULL && len > 0 && span.line == 0; len--) {
        bool whole = strchr(".[", part[len]) != NULL; /* or the end */
        part[len] = '\0';
        if (whole)
            span = jr_spec_where(file, part);
    }
    return span;
}

struct jr_span jr_spec_overridden(const struct jr_spec_file *file, const char *path, size_t i)
{
    const struct jr_node *node = find_spec_node(file, path);
    node = node == NULL ? NULL : node->under;
    for (; node != NULL && i > 0; i--)
        node = node->under;
    return node == NULL ? (struct jr_span){0} : node->span;
}
