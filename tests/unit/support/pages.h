/* Files that a spec reads, from a table that ends with a row without a name. */
#ifndef JR_PAGES_H
#define JR_PAGES_H

#include "doc/source_reader.h"
#include "unit.h"

struct page {
    const char *name, *text;
};

/* For a jr_reader, whose context is the table. */
static inline int read_page(const struct jr_reader *reader, struct jr_reading *reading,
                            struct jr_error *err)
{
    const struct page *page = reader->context;
    while (page->name != NULL && strcmp(page->name, reading->path) != 0)
        page++;
    if (page->name == NULL)
        return jr_error_set(err, JR_STATUS_INVALID, "there is none");
    jr_buf_str(&reading->text, page->text);
    reading->file = (struct jr_file){page->name, page->name, "/bases"};
    return 0;
}

#endif
