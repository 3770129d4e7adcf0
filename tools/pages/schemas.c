#include "pages.h"
#include "store/event_line.h"

#include "base/banned.h"
#include "record/results_run.h"

void page_of_results(struct page *page)
{
    jr_schema_results(page->out);
}

void page_of_events(struct page *page)
{
    jr_schema_events(page->out);
}
