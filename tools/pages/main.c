/*
 * Prints a page of the manual or a schema, made from the program's own tables:
 *
 *   jobrun_pages docs/spec.md | docs/diagnostics.md | man/jobrun.1 | ...
 *
 * Without an argument it prints the names. Exit status: 0, 2 for another name,
 * 1 when the page could not be written.
 */
#include <stdio.h>
#include <string.h>

#include "pages.h"

#include "base/banned.h"

struct entry {
    const char *name;
    enum page_form form;
    void (*write)(struct page *page);
};

static const struct entry pages[] = {
    {"docs/spec.md", PAGE_MARKDOWN, page_of_spec},
    {"docs/diagnostics.md", PAGE_MARKDOWN, page_of_diagnostics},
    {"man/jobrun.1", PAGE_ROFF, page_of_program},
    {"man/jobrun.yaml.5", PAGE_ROFF, page_of_spec},
    {"schemas/events-v1.schema.json", PAGE_SCHEMA, page_of_events},
    {"schemas/results-v1.schema.json", PAGE_SCHEMA, page_of_results},
    {"schemas/sweep-v1.schema.json", PAGE_SCHEMA, page_of_sweeps},
};

int main(int argc, char **argv)
{
    struct jr_buf out = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct page page = {.out = &out, .form = pages[i].form};
        if (argc == 1)
            jr_buf_printf(&out, "%s\n", pages[i].name);
        else if (strcmp(pages[i].name, argv[1]) == 0)
            pages[i].write(&page);
    }
    if (out.len == 0 && !out.failed) {
        fprintf(stderr, "jobrun_pages: no such page: %s\n", argv[1]);
        return 2;
    }
    bool good = !out.failed && fwrite(out.data, out.len, 1, stdout) == 1 && fflush(stdout) == 0;
    jr_buf_release(&out);
    return good ? 0 : 1;
}
