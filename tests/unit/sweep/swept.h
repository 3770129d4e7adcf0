/* A sweep from a text, for the tests of this folder. */
#ifndef JR_TEST_SWEPT_H
#define JR_TEST_SWEPT_H

#include "sweep/swept_spec.h"
#include "unit.h"

#define SWEPT_HEAD                                                             \
    "version: 1\nentrypoint: [./t, \"${vars.lr}\", \"${vars.seed}\"]\n"        \
    "vars: {lr: 0, seed: 0}\n"

struct swept {
    struct jr_diags diags;
    struct jr_swept_spec spec;
    int status; /* of jr_swept_spec_open */
};

/* Open SWEPT_HEAD and `body`, with the words of --sweep, or NULL. */
static inline void swept_open(struct swept *s, const char *body,
                              char *const *sweeps)
{
    struct jr_spec_file *file = NULL;
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s%s", SWEPT_HEAD, body);
    const struct jr_spec_source source = {.name = "s.jobrun.yaml",
                                          .folder = "/jobs",
                                          .text = text.data,
                                          .len = text.len};
    const struct jr_spec_options options = {.sweeps = true,
                                            .swept = sweeps != NULL};
    const struct jr_swept_words words = {&source, &options, sweeps};
    *s = (struct swept){0};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &s->diags), 0);
    CU_ASSERT_TRUE_FATAL(jr_spec_sweeps(file));
    s->status = jr_swept_spec_open(&s->spec, file, &words, &s->diags);
    jr_buf_release(&text);
}

static inline void swept_close(struct swept *s)
{
    jr_diags_release(&s->diags);
    jr_swept_spec_close(&s->spec);
}

#endif
