/* What is told of a run that did not happen, by one printer or another. */
#ifndef TOLD_H
#define TOLD_H

#include "report/internal.h"

#include "fake_run.h"
#include "quoted.h"
#include "report/summary.h"

static inline struct jr_page page_of(struct fake *fake, struct jr_buf *out)
{
    return (struct jr_page){.out = out,
                            .report = &fake->report,
                            .plan = &fake->plan,
                            .outcome = &fake->outcome,
                            .run_fd = fake->fd,
                            .run = "latest"};
}

/* Hold what the calls with &page print of a run to `expected`. */
#define CHECK_TOLD(fake, expected, ...)                                                            \
    do {                                                                                           \
        JR_BUF_CLEANUP struct jr_buf told = JR_BUF_INIT;                                           \
        struct jr_page page = page_of(fake, &told);                                                \
        __VA_ARGS__;                                                                               \
        JR_ASSERT_TEXT(told.data == NULL ? "" : told.data, expected);                              \
    } while (0)

#endif
