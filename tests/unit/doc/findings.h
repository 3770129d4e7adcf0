/* Findings, word for word: each on a line of its own as
 *
 *     LINE:COLUMN-END CODE MESSAGE | HELP | @LINE:COLUMN-END RELATED | FIX
 *
 * where what it has not is left out; END is LINE:COLUMN where the line is another one. */
#ifndef JR_TEST_FINDINGS_H
#define JR_TEST_FINDINGS_H

#include "tree.h"
#include "unit.h"

static inline void print_span(struct jr_buf *out, const struct jr_span *span)
{
    jr_buf_printf(out, "%u:%u-", span->line, span->column);
    if (span->end_line != span->line)
        jr_buf_printf(out, "%u:", span->end_line);
    jr_buf_printf(out, "%u", span->end_column);
}

static inline void print_finding(struct jr_buf *out, const struct jr_diag *diag)
{
    print_span(out, &diag->span);
    jr_buf_printf(out, " %s %s", diag->code + 2, diag->message);
    if (diag->help != NULL)
        jr_buf_printf(out, " | %s", diag->help);
    for (const struct jr_related *related = diag->related; related != NULL;
         related = related->next) {
        jr_buf_str(out, " | @");
        print_span(out, &related->span);
        jr_buf_printf(out, " %s", related->message);
    }
    if (diag->fix != NULL) {
        jr_buf_str(out, " | ");
        print_span(out, &diag->fix->span);
        jr_buf_printf(out, " -> '%s'", diag->fix->text);
    }
    jr_buf_char(out, '\n');
}

static inline void check_findings(const char *text, const struct jr_diags *diags,
                                  const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "");
    for (size_t i = 0; i < diags->count; i++)
        print_finding(&out, &diags->items[i]);
    if (strcmp(out.data, expected) != 0)
        printf("\n    of       '%s'", text);
    JR_ASSERT_TEXT(out.data, expected);
}

#endif
