/* A part of the HTML report: the metrics that a job has told with its steps, one drawing each, and
 * a table with the same in numbers. */
#ifndef JR_PAGE_CURVES_H
#define JR_PAGE_CURVES_H

#include "record/load_results.h"
#include "report/page.h"

/* The metrics over the steps, drawn, and their extremes. Nothing where there are none. */
void jr_html_page_curves(const struct jr_html_page *html);

/* Draw the metrics of several runs, which stand for the ranks of `metrics`:
 * cells of a sweep, by their numbers. For each metric a drawing with a line for
 * each of them. */
void jr_html_cell_curves(const struct jr_html_page *html, const struct jr_metrics *metrics);

#endif
