/* A part of the HTML report: the metrics that a job has told with its steps,
 * one drawing each, and a table with the same in numbers. */
#ifndef JR_PAGE_CURVES_H
#define JR_PAGE_CURVES_H

#include "report/page.h"

/* The metrics over the steps, drawn, and their extremes. Nothing where there
 * are none. */
void jr_html_page_curves(const struct jr_html_page *html);

#endif
