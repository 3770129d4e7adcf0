/* A spec from a text, and what was found in it, for the tests of the spec. */
#ifndef JR_TEST_SPEC_CASE_H
#define JR_TEST_SPEC_CASE_H

#include "doc/doc.h"
#include "spec/load.h"
#include "unit.h"

#define HEAD "version: 1\nentrypoint: [./train]\n"

struct spec_case {
    struct jr_diags diags;
    struct jr_spec_file *file;
    struct jr_buf found; /* "JR0211@3:13 world_size", one per line */
};

/* Fill in `found`. */
static inline void case_list_found(struct spec_case *c)
{
    jr_diags_sort(&c->diags);
    for (size_t i = 0; i < c->diags.count; i++) {
        const struct jr_diag *diag = &c->diags.items[i];
        jr_buf_printf(&c->found, "%s%s@%u:%u", i == 0 ? "" : "\n", diag->code, diag->span.line,
                      diag->span.column);
        if (diag->path != NULL)
            jr_buf_printf(&c->found, " %s", diag->path);
    }
}

static inline void case_open(struct spec_case *c, const char *text)
{
    *c = (struct spec_case){0};
    (void)jr_spec_load_text(&c->file, "train.jobrun.yaml", "/jobs", text, strlen(text), &c->diags);
    case_list_found(c);
}

/* The same with the two required fields before it, on lines 1 and 2. */
static inline void case_open_body(struct spec_case *c, const char *body)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s%s", HEAD, body);
    case_open(c, text.data);
    jr_buf_release(&text);
}

static inline const struct jr_spec *case_spec(const struct spec_case *c)
{
    return jr_spec_get(c->file);
}

static inline void case_close(struct spec_case *c)
{
    jr_buf_release(&c->found);
    jr_diags_release(&c->diags);
    jr_spec_free(c->file);
}

/* A case for the rest of the block. */
#define SPEC_CASE(name, text)                                                                      \
    struct spec_case name RELEASE(case_close);                                                     \
    case_open(&name, text)

#define BODY_CASE(name, body)                                                                      \
    struct spec_case name RELEASE(case_close);                                                     \
    case_open_body(&name, body)

/* What is found in a body; "" for nothing. */
static inline void check_found(const char *body, const char *expected)
{
    struct spec_case c;
    case_open_body(&c, body);
    const char *found = c.found.data == NULL ? "" : c.found.data;
    if (strcmp(found, expected) != 0)
        printf("\n  in: %s\n", body);
    JR_ASSERT_TEXT(found, expected);
    CU_ASSERT_EQUAL(case_spec(&c) == NULL, expected[0] != '\0');
    case_close(&c);
}

struct vector {
    const char *body, *found;
};

#define CHECK_VECTORS(table)                                                                       \
    for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)                                   \
    check_found((table)[i].body, (table)[i].found)

#endif
