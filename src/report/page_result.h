/* A part of the HTML report: what the ranks delivered and used. */
#ifndef JR_PAGE_RESULT_H
#define JR_PAGE_RESULT_H

#include "report/page.h"

/* What the ranks delivered. */
void jr_html_page_results(const struct jr_html_page *html);

/* What the ranks used. */
void jr_html_page_usage(const struct jr_html_page *html);

#endif
