/*
 * A toy language for the tests of putting documents together:
 *
 *   env      null is a value            vars    ??? is told by the reader
 *   back     short for {default: X}     size    MISSING where null, auto, ???
 *   entry    short for {command: X}, or of the form {shell: X}, whose dollars
 *            are its own                x-...   the user's own
 *   extends  read early                 else    as it comes
 */
#ifndef JR_TEST_TOY_H
#define JR_TEST_TOY_H

#include "doc/merge.h"
#include "tree.h"
#include "unit.h"

static inline struct jr_shape toy_child(const struct jr_shape *shape, const char *key)
{
    static const char *const forms[] = {"command", "shell", NULL};
    static const struct {
        const char *in, *key;
        struct jr_shape shape;
    } rows[] = {{"root", "env", {.type = "env", .open = true, .keeps_null = true}},
                {"root", "vars", {.type = "vars", .open = true, .declared = true}},
                {"root", "back", {.type = "back", .shorthand = "default"}},
                {"root", "size", {.type = "size", .resolvable = true}},
                {"root", "list", {.type = "list"}},
                {"root", "map", {.type = "map"}},
                {"root", "extends", {.type = "extends", .early = true}},
                {"root", "entry", {.type = "entry", .shorthand = "command", .forms = forms}},
                {"back", "default", {.type = "scalar"}},
                {"entry", "command", {.type = "list"}},
                {"entry", "shell", {.type = "scalar", .literal = true}},
                {"entry", "args", {.type = "list"}},
                {"map", "a", {.type = "map"}},
                {"map", "b", {.type = "scalar"}}};
    struct jr_shape none = {0};
    if (shape->type == NULL)
        return none;
    if (key != NULL && strncmp(key, "x-", 2) == 0)
        return (struct jr_shape){.own = true};
    if (shape->open || key == NULL)
        return (struct jr_shape){.type = "scalar", .awaited = strcmp(shape->type, "vars") == 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].in, shape->type) == 0 && strcmp(rows[i].key, key) == 0)
            return rows[i].shape;
    return none;
}

static const struct jr_shapes toy = {{.type = "root"}, toy_child};

/* Load what has to be good. */
static inline struct loaded toy_load(const char *text)
{
    struct loaded got = load(text, strlen(text));
    CU_ASSERT_EQUAL(got.diags.count, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
    return got;
}

/* A tree as text is what it should be. */
static inline void toy_check(const struct jr_node *root, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_doc_emit(&text, root);
    JR_ASSERT_TEXT(text.data, expected);
}

/* The findings, "0221@3:7 vars.a", one a line. */
static inline void toy_found(const struct jr_diags *diags, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < diags->count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        jr_buf_printf(&text, "%s%s@%u:%u%s%s", i == 0 ? "" : "\n", diag->code + 2, diag->span.line,
                      diag->span.column, diag->path == NULL ? "" : " ",
                      diag->path == NULL ? "" : diag->path);
    }
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

#endif
