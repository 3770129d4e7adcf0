/* A part of the HTML report: the mesh and what became of each rank. */
#ifndef JR_PAGE_RANKS_H
#define JR_PAGE_RANKS_H

#include "report/page.h"

/* Of a run that hung, what the ranks were doing. */
void jr_html_page_hang(const struct jr_html_page *html);

/* The mesh. */
void jr_html_page_mesh(const struct jr_html_page *html);

/* What became of each rank. */
void jr_html_page_ranks(const struct jr_html_page *html);

#endif
