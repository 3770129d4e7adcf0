/* A sweep from a text, for the tests of this folder. */
#ifndef JR_TEST_SWEPT_H
#define JR_TEST_SWEPT_H

#include "sweep/swept_spec.h"
#include "unit.h"

#define SWEPT_HEAD                                                                                 \
    "version: 1\nentrypoint: [./t, \"${vars.lr}\", \"${vars.seed}\"]\n"                            \
    "vars: {lr: 0, seed: 0}\n"

struct swept {
    struct jr_diags diags;
    struct jr_swept_spec spec;
    int status; /* of jr_swept_spec_open */
};

/* A spec that is a sweep, before it is opened. */
struct swept_text {
    struct jr_buf text;
    struct jr_spec_source source;
    struct jr_spec_options options;
    struct jr_swept_words words;
    struct jr_spec_file *file; /* taken over by who opens it */
};

/* Read SWEPT_HEAD and `body`, with the words of --sweep, or NULL. */
static inline void swept_read(struct swept *s, struct swept_text *ret, const char *body,
                              char *const *sweeps)
{
    *s = (struct swept){0};
    *ret = (struct swept_text){.text = JR_BUF_INIT};
    jr_buf_printf(&ret->text, "%s%s", SWEPT_HEAD, body);
    ret->source = (struct jr_spec_source){
        .name = "s.jobrun.yaml", .folder = "/jobs", .text = ret->text.data, .len = ret->text.len};
    ret->options = (struct jr_spec_options){.sweeps = true, .swept = sweeps != NULL};
    ret->words = (struct jr_swept_words){&ret->source, &ret->options, sweeps};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&ret->file, &ret->source, &ret->options, &s->diags), 0);
    CU_ASSERT_TRUE_FATAL(jr_spec_sweeps(ret->file));
}

/* Read it, and open it. */
static inline void swept_open(struct swept *s, const char *body, char *const *sweeps)
{
    struct swept_text text;
    swept_read(s, &text, body, sweeps);
    s->status = jr_swept_spec_open(&s->spec, text.file, &text.words, &s->diags);
    jr_buf_release(&text.text);
}

static inline void swept_close(struct swept *s)
{
    jr_diags_release(&s->diags);
    jr_swept_spec_close(&s->spec);
}

/* A sweep for the rest of the block. */
#define SWEPT(name, body, sweeps)                                                                  \
    struct swept name RELEASE(swept_close);                                                        \
    swept_open(&name, body, sweeps)

#endif
