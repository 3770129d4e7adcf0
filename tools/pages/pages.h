/* The pages of the manual, and the schemas. Each function appends one whole
 * page. */
#ifndef JR_PAGES_H
#define JR_PAGES_H

#include "page.h"

void page_of_spec(struct page *page);        /* every field */
void page_of_program(struct page *page);     /* every verb and option */
void page_of_diagnostics(struct page *page); /* every code */
void page_of_results(struct page *page);     /* the schema of results.json */
void page_of_sweeps(struct page *page);      /* that of sweep.json */
void page_of_events(struct page *page);      /* that of events.jsonl */

#endif
