#include "doc/extends.h"

#include <errno.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "doc/merge.h"
#include "doc/doc.h"

#include "base/banned.h"

#define EXTENDS  "extends"
#define TEMPLATE "template"

/* Names are steps of the path of --set. */
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* A file of the family. */
struct member {
    struct jr_file file;
    struct jr_node *root;       /* as read; later merged with its parents */
    const struct member *child; /* on whose behalf it is being read */
    bool open;                  /* its parents are being read */
    struct member *next;
};

struct family {
    struct jr_doc *doc; /* the top one, whose arena holds all */
    struct jr_extends *extends;
    struct jr_diags *diags;
    struct member *members;
    size_t files, times, bytes;
    bool failed, stopped; /* at a mistake; at a limit */
};

static struct jr_node *merge_parents(struct family *family, struct member *member);

static struct jr_diag *report_extends(struct family *family, enum jr_diag_code code,
                                      const struct jr_node *at, const char *message)
{
    family->failed = true;
    return jr_diags_error(family->diags, code, at->span, EXTENDS, "%s",
                          message == NULL ? "out of memory" : message);
}

/* "a.yaml -> b.yaml -> ", from `first` down to `last`. */
static void add_parent_chain(struct jr_buf *out, const struct member *first,
                             const struct member *last)
{
    if (last != first)
        add_parent_chain(out, first, last->child);
    jr_buf_str(out, last->file.name);
    jr_buf_str(out, " -> ");
}

/* base: the file base.jobrun.yaml, or one whose name is nearest. */
static bool help_with_near_parent(const struct family *family, const struct jr_reading *reading,
                                  const struct jr_node *path, struct jr_diag *diag)
{
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT, near = JR_BUF_INIT;
    size_t len = strlen(reading->from->folder) + 1;
    if (path->text[0] == '/' || path->filled != NULL)
        return false;
    jr_buf_printf(&whole, "%s/%s", reading->from->folder, path->text);
    if (whole.failed || !jr_near_file_find(&near, whole.data) || near.failed || near.len <= len)
        return false;
    jr_buf_clear(&whole);
    jr_buf_escaped(&whole, near.data + len, near.len - len);
    if (!whole.failed)
        jr_diag_help(family->diags, diag, "did you mean '%s'?", whole.data);
    return true;
}

static void refuse_unread_parent(struct family *family, const struct jr_reading *reading,
                                 const struct jr_node *path, const struct jr_error *err)
{
    struct jr_arena *arena = &family->doc->arena;
    struct jr_buf quoted JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_char(&quoted, '\'');
    jr_buf_escaped(&quoted, path->text, path->len);
    jr_buf_char(&quoted, '\'');
    const char *message =
        jr_arena_printf(arena, "cannot extend %s: %s", quoted.failed ? "" : quoted.data, err->text);
    if (err->sys == ENOMEM) {
        (void)report_extends(family, JR_CODE_INTERNAL, path, NULL);
        return;
    }
    struct jr_diag *diag = report_extends(
        family, reading->outside ? JR_CODE_PARENT_OUTSIDE_ROOT : JR_CODE_PARENT_UNREADABLE, path,
        message);
    if (reading->outside)
        jr_diag_help(family->diags, diag,
                     "--root DIR sets the folder below which files may be read");
    else if (strstr(path->text, "://") != NULL)
        jr_diag_help(family->diags, diag, "a parent is a file: download it, and write its path");
    else if (path->text[0] == '~')
        jr_diag_help(family->diags, diag,
                     "only a shell expands ~: write the path from the folder of this file");
    else if (err->sys == ENOENT && !help_with_near_parent(family, reading, path, diag))
        jr_diag_help(family->diags, diag, "paths are relative to %s",
                     reading->from->name[0] == '\0' ? "the current folder"
                                                    : "the folder of this file");
}

static struct member *add_family_member(struct family *family, const struct jr_file *file,
                                        const struct member *child)
{
    struct member *member = jr_arena_alloc(&family->doc->arena, sizeof *member);
    if (member == NULL)
        return NULL;
    *member = (struct member){.file = *file, .child = child, .next = family->members};
    family->members = member;
    family->files++;
    return member;
}

static const struct jr_route *find_route(const struct jr_doc *doc, const struct jr_source *source)
{
    size_t i = 0;
    while (i < doc->routes_count && doc->routes[i].source != source)
        i++;
    return source == NULL || i == doc->routes_count ? NULL : &doc->routes[i];
}

void jr_extends_relate(const struct jr_doc *doc, struct jr_diags *diags, size_t first)
{
    for (size_t i = first; i < diags->count; i++) {
        const struct jr_route *route = find_route(doc, diags->items[i].span.source);
        for (size_t steps = 0; route != NULL && steps < JR_EXTENDS_MAX_FILES;
             steps++, route = find_route(doc, route->at.source))
            jr_diag_relate_route(diags, &diags->items[i], route->at, "extended here");
    }
}

/* Make a tree of what was read. */
static void compose_parent(struct family *family, struct member *member, const struct jr_buf *text,
                           const struct jr_node *path)
{
    struct jr_doc doc;
    size_t errors = family->diags->errors;
    const char *bytes = text->data == NULL ? "" : text->data;
    (void)jr_doc_load(&doc, member->file.name, bytes, text->len, family->diags);
    if (doc.source != NULL) {
        doc.source->folder = member->file.folder;
        /* Remember on whose behalf it is read. */
        struct jr_route *route = jr_arena_push(&family->doc->arena, &family->doc->routes,
                                               &family->doc->routes_count, sizeof *route);
        if (route != NULL)
            *route = (struct jr_route){doc.source, path->span};
    }
    if (doc.root != NULL && doc.root->kind != JR_NODE_MAPPING)
        (void)report_extends(family, JR_CODE_PARENT_UNREADABLE, path,
                             "cannot extend a file that is not a mapping of fields");
    else
        member->root = doc.root;
    family->failed |= family->diags->errors > errors;
    family->doc->dollars |= doc.dollars;
    jr_arena_adopt(&family->doc->arena, &doc.arena);
}

static bool is_within_limits(struct family *family, const struct jr_node *path, size_t bytes,
                             bool is_new)
{
    family->bytes += bytes;
    family->times++;
    const char *passed = NULL;
    if (family->bytes > JR_EXTENDS_MAX_BYTES)
        passed = "the extended files have more than 16 MiB in total";
    else if (is_new && family->files == JR_EXTENDS_MAX_FILES)
        passed = "more than 64 files are extended in total";
    else if (family->times > JR_EXTENDS_MAX_TIMES)
        passed = "files are extended more than 256 times in total";
    family->stopped = passed != NULL;
    if (passed != NULL)
        (void)report_extends(family, JR_CODE_TOO_MANY_PARENTS, path, passed);
    return passed == NULL;
}

/* The tree of a file that was read, merged with its parents. */
static struct jr_node *load_parent(struct family *family, struct member *child,
                                   const struct jr_reading *reading, const struct jr_node *path)
{
    const char *id = reading->file.id;
    struct member *member = id == NULL ? NULL : family->members;
    while (member != NULL && (member->file.id == NULL || strcmp(member->file.id, id) != 0))
        member = member->next;
    if (!is_within_limits(family, path, reading->text.len, member == NULL))
        return NULL;
    if (member != NULL && !member->open)
        return member->root;
    if (member != NULL) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&text, "'extends' goes in a circle: ");
        add_parent_chain(&text, member, child);
        jr_buf_str(&text, member->file.name);
        (void)report_extends(family, JR_CODE_CIRCULAR_EXTENDS, path, text.data);
        return NULL;
    }
    member = add_family_member(family, &reading->file, child);
    if (member == NULL)
        return NULL;
    compose_parent(family, member, &reading->text, path);
    return merge_parents(family, member);
}

/* The tree of the file at `path`; NULL after a complaint. */
static struct jr_node *parent_tree(struct family *family, struct member *child,
                                   const struct jr_node *path)
{
    const struct jr_reader *reader = family->extends->reader;
    struct jr_file here;
    struct jr_reading reading = {
        .path = path->text,
        .from = jr_parent_choices_from(&family->extends->choices, path, &child->file, &here),
        .arena = &family->doc->arena};
    struct jr_error err = {0};
    struct jr_node *root = NULL;
    if (family->stopped)
        return NULL;
    if (reader->read(reader, &reading, &err) != 0)
        refuse_unread_parent(family, &reading, path, &err);
    else
        root = load_parent(family, child, &reading, path);
    jr_buf_release(&reading.text);
    return root;
}

static bool is_no_parent(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR && jr_scalar_type(node) == JR_SCALAR_NULL;
}

static size_t count_parents(const struct jr_node *value)
{
    return value->kind == JR_NODE_SCALAR ? 1 : value->count;
}

/* What is stated for a parent, or was chosen for its name. */
static struct jr_node *parent_path(const struct family *family, struct jr_node *value, size_t i)
{
    if (value->kind == JR_NODE_SCALAR)
        return value;
    if (value->kind == JR_NODE_SEQUENCE)
        return value->items[i];
    const struct jr_pair *pair = &value->pairs[i];
    struct jr_node *chosen = jr_parent_choices_path(&family->extends->choices, pair->key->text);
    return chosen != NULL ? chosen : pair->value;
}

/* Whether the value of `extends` is what it may be. */
static bool check_paths(struct family *family, struct jr_node *value)
{
    const struct jr_node *bad = NULL, *filled = NULL;
    for (size_t i = 0; i < count_parents(value); i++) {
        const struct jr_node *path = parent_path(family, value, i);
        if (value->kind == JR_NODE_MAPPING && is_no_parent(path))
            continue;
        if (path->kind != JR_NODE_SCALAR || path->len == 0 || is_no_parent(path))
            bad = bad != NULL ? bad : path;
        else if (strstr(path->text, "${") != NULL)
            filled = filled != NULL ? filled : path;
    }
    if (bad != NULL)
        (void)report_extends(family, JR_CODE_WRONG_VALUE, bad,
                             value->kind == JR_NODE_MAPPING
                                 ? "a named parent wants a path, or null"
                                 : "'extends' wants a path, a list of paths, "
                                   "or a mapping of names to paths");
    if (filled != NULL)
        (void)report_extends(family, JR_CODE_WRONG_VALUE, filled,
                             "'extends' wants paths without ${...}: parents "
                             "are read before references are replaced");
    return bad == NULL && filled == NULL;
}

/* A mapping without what is about its file. */
static struct jr_node *copy_without(struct jr_arena *arena, struct jr_node *mapping,
                                    const char *key)
{
    if (mapping == NULL || jr_doc_pair(mapping, key) == NULL)
        return mapping;
    struct jr_node *out = jr_node_mapping(arena);
    if (out == NULL)
        return NULL;
    out->span = mapping->span;
    out->flow = mapping->flow;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_pair *pair = &mapping->pairs[i];
        if (strcmp(pair->key->text, key) != 0)
            jr_node_add(arena, out, pair->key, pair->value);
    }
    return out;
}

static struct jr_node *merge_over(struct family *family, struct jr_node *base, struct jr_node *over)
{
    const struct jr_shapes *shapes = family->extends->shapes;
    const struct jr_merger merger = {&family->doc->arena, shapes};
    if (base == NULL || over == NULL)
        return base == NULL ? over : base;
    return jr_merge(&merger, &shapes->root, base, over);
}

/* Read the parents of a member and merge it over them. */
static struct jr_node *merge_parents(struct family *family, struct member *member)
{
    struct jr_arena *arena = &family->doc->arena;
    struct jr_node *value = NULL, *base = NULL;
    if (member->root != NULL)
        value = jr_doc_get(member->root, EXTENDS);
    for (size_t i = 0; value != NULL && value->kind == JR_NODE_MAPPING && i < value->count; i++) {
        const struct jr_node *key = value->pairs[i].key;
        if (key->len == 0 || key->text[strspn(key->text, NAME_BYTES)] != '\0')
            (void)report_extends(family, JR_CODE_WRONG_VALUE, key,
                                 "a parent's name has letters, digits, '_' and '-' only");
        jr_parent_choices_note(&family->extends->choices, arena, key->text);
    }
    if (value == NULL || !check_paths(family, value))
        return member->root;
    member->open = true;
    for (size_t i = 0; i < count_parents(value); i++) {
        const struct jr_node *path = parent_path(family, value, i);
        if (is_no_parent(path))
            continue;
        struct jr_node *parent = parent_tree(family, member, path);
        base = merge_over(family, base, copy_without(arena, parent, TEMPLATE));
    }
    member->open = false;
    member->root = merge_over(family, base, copy_without(arena, member->root, EXTENDS));
    return member->root;
}

int jr_extends_merge(struct jr_doc *doc, struct jr_extends *extends, struct jr_diags *diags)
{
    struct family family = {.doc = doc, .extends = extends, .diags = diags};
    if (doc->root->kind == JR_NODE_MAPPING && jr_doc_pair(doc->root, EXTENDS) != NULL) {
        struct member *top = add_family_member(&family, &extends->file, NULL);
        if (top == NULL)
            return -1;
        top->root = doc->root;
        family.bytes = doc->source->len;
        doc->root = merge_parents(&family, top);
        family.failed |= doc->arena.failed;
    }
    return !family.failed && jr_parent_choices_check(&extends->choices, diags) ? 0 : -1;
}
