/* Places in a text, for findings about them. */
#ifndef JR_SPANS_H
#define JR_SPANS_H

#include "diag/diag.h"
#include "quoted.h"

static inline struct jr_source source(const char *name, const char *text)
{
    return (struct jr_source){.name = name, .text = text, .len = text == NULL ? 0 : strlen(text)};
}

static inline struct jr_span span(const struct jr_source *where, uint32_t line, uint32_t column,
                                  uint32_t end_column)
{
    return (struct jr_span){where, line, column, line, end_column};
}

#endif
