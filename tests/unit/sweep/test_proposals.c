/* Cells that a sampler proposes. */
#include "sweep/swept_spec.h"

#include "swept.h"

#define BODY "sweep: {sampler: [./propose, --fast], sampler_timeout: 3s}\n"

static int propose(struct swept *s, const char *text, struct jr_diags *diags)
{
    json_t *values = jr_json_parse(text, strlen(text), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    *diags = JR_DIAGS_INIT;
    int result = jr_swept_spec_propose(&s->spec, values, diags);
    json_decref(values);
    return result;
}

static void begin(struct swept *s)
{
    swept_open(s, BODY, NULL);
    CU_ASSERT_EQUAL_FATAL(s->status, 0);
    CU_ASSERT_EQUAL(s->spec.cells.count, 1); /* the spec as it is */
    JR_ASSERT_TEXT(s->spec.axes.sampler[1], "--fast");
    CU_ASSERT_EQUAL(s->spec.axes.sampler_ms, 3000);
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_begin_proposals(&s->spec), 0);
    CU_ASSERT_EQUAL(s->spec.cells.count, 0);
}

static void are_cells_in_their_order(void)
{
    struct swept s;
    struct jr_diags diags;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    begin(&s);
    CU_ASSERT_EQUAL(propose(&s, "{\"vars.lr\": 1e-05, \"vars.seed\": 3}", &diags), 0);
    CU_ASSERT_EQUAL(propose(&s, "{\"threads\": 2, \"vars.lr\": \"a b\"}", &diags), 0);
    CU_ASSERT_EQUAL_FATAL(s.spec.cells.count, 2);
    jr_cells_text(&text, &s.spec.cells, 0);
    jr_buf_char(&text, ' ');
    jr_cells_text(&text, &s.spec.cells, 1);
    JR_ASSERT_TEXT(text.data, "vars.lr=1e-5,vars.seed=3 threads=2,vars.lr=a b");
    struct jr_spec_file *file = NULL;
    CU_ASSERT_EQUAL(jr_swept_spec_load(&file, &s.spec, 1, &diags), 0);
    CU_ASSERT_EQUAL(*jr_spec_get(file)->threads, 2);
    jr_diags_release(&diags);
    jr_spec_free(file);
    swept_close(&s);
}

/* What is wrong is told once, and where it is in the sampler's line. */
static void are_held_to_the_spec(void)
{
#define DEEP(list) "[[[[[[[[[[" list "]]]]]]]]]]"
    static const char *const wrong[] = {
        "{\"vars.learning\": 1}",
        "{\"vars.lr\": 1, \"thread\": 1}",
        "{\"devices\": [1]}",
        "{\"env.API_TOKEN\": \"x\"}",
        "{\"\": 1}",
        "{\"vars.lr\": " DEEP(DEEP(DEEP(DEEP(DEEP(DEEP(DEEP("1"))))))) "}"};
#undef DEEP
    struct swept s;
    struct jr_diags diags;
    begin(&s);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CU_ASSERT_EQUAL(propose(&s, wrong[i], &diags), -1);
        CU_ASSERT_EQUAL_FATAL(diags.errors, 1);
        CU_ASSERT_EQUAL(diags.items[0].span.line, 1);
        CU_ASSERT_EQUAL(s.spec.cells.count, 0);
        jr_diags_release(&diags);
    }
    CU_ASSERT_EQUAL(propose(&s, "{\"vars.lr\": 1}", &diags), 0);
    CU_ASSERT_EQUAL(s.spec.cells.count, 1);
    jr_diags_release(&diags);
    swept_close(&s);
}

static void have_256_fields_at_most(void)
{
    struct swept s;
    struct jr_diags diags;
    begin(&s);
    for (int count = 256; count < 258; count++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        for (int i = 0; i < count; i++)
            jr_buf_printf(&text, "%s\"env.V%d\": %d", i == 0 ? "{" : ", ", i, i);
        jr_buf_char(&text, '}');
        CU_ASSERT_EQUAL(propose(&s, text.data, &diags), count == 256 ? 0 : -1);
        CU_ASSERT_EQUAL(s.spec.cells.count, 1);
        if (count > 256)
            JR_ASSERT_TEXT(diags.items[0].message, "a cell with more than 256 fields");
        jr_diags_release(&diags);
    }
    json_t *values = jr_cells_json(&s.spec.cells, 0);
    CU_ASSERT_EQUAL(json_object_size(values), 256);
    CU_ASSERT_EQUAL(jr_json_get_int(values, "env.V255"), 255);
    CU_ASSERT_TRUE(s.spec.cells.most_values >= 256);
    json_decref(values);
    struct jr_spec_file *file = NULL;
    diags = JR_DIAGS_INIT;
    CU_ASSERT_EQUAL(jr_swept_spec_load(&file, &s.spec, 0, &diags), 0);
    CU_ASSERT_EQUAL(jr_spec_get(file)->env_count, 256);
    jr_diags_release(&diags);
    jr_spec_free(file);
    swept_close(&s);
}

/* As of a sampler that has proposed all but the last two of them. */
static void are_100000_at_most(void)
{
    struct swept s;
    struct jr_diags diags;
    begin(&s);
    s.spec.cells.count = 99999;
    CU_ASSERT_EQUAL(propose(&s, "{\"vars.lr\": 1}", &diags), 0);
    CU_ASSERT_EQUAL(s.spec.cells.count, 100000);
    jr_diags_release(&diags);
    CU_ASSERT_EQUAL(propose(&s, "{\"vars.lr\": 2}", &diags), -1);
    CU_ASSERT_EQUAL(s.spec.cells.count, 100000);
    CU_ASSERT_EQUAL_FATAL(diags.errors, 1);
    JR_ASSERT_TEXT(diags.items[0].message, "more than 100000 cells");
    jr_diags_release(&diags);
    swept_close(&s);
}

JR_UNIT_MAIN("proposals", CASE(are_cells_in_their_order), CASE(have_256_fields_at_most),
             CASE(are_100000_at_most), CASE(are_held_to_the_spec))
