#include "pages.h"
#include "store/events.h"

#include "base/banned.h"
#include "record/results_json.h"
#include "sweep/sweep_file.h"

void page_of_results(struct page *page)
{
    jr_schema_results(page->out);
}

void page_of_sweeps(struct page *page)
{
    jr_sweep_record_schema(page->out);
}

void page_of_events(struct page *page)
{
    jr_schema_events(page->out);
}
