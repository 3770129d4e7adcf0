/* A part of the HTML report: when each rank ran, drawn, and what happened, as a list. */
#ifndef JR_PAGE_TIME_H
#define JR_PAGE_TIME_H

#include "report/page.h"

/* When each rank ran, drawn; and what happened, as a list. */
void jr_html_page_time(const struct jr_html_page *html);

#endif
