#include "diag/diag.h"
#include "pages.h"

#include "base/banned.h"

/* What the first two digits of a code stand for. */
static const char *group_title(unsigned group)
{
    static const char *const titles[] = {"",
                                         "Reading",
                                         "Single fields",
                                         "Fields against each other",
                                         "Resolution on a machine",
                                         "The plan"};
    return group < sizeof titles / sizeof *titles ? titles[group] : "";
}

void page_of_diagnostics(struct page *page)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    page_begin(page, "Diagnostics", "7", "what the codes mean");
    page_text(page, "This page lists every diagnostic code about a spec, with an "
                    "example before and after. `jobrun explain CODE` prints one of "
                    "them; `jobrun explain JR03` lists the codes that begin with "
                    "JR03.");
    for (size_t i = 0; i < count; i++) {
        JR_BUF_CLEANUP struct jr_buf title = JR_BUF_INIT;
        unsigned group = codes[i].number / 100;
        if (i == 0 || codes[i - 1].number / 100 != group)
            page_heading(page, 1, group_title(group));
        jr_buf_printf(&title, "JR%04u: %s", codes[i].number, codes[i].title);
        page_heading(page, 2, title.failed ? "" : title.data);
        page_text(page, codes[i].text);
    }
}
