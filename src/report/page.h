/*
 * The report as one HTML file, in parts; page.c puts them together, and has the
 * first and the last of them: verdict, origin, place and files. Nothing in the
 * file is fetched or executed: text, tables and drawings. This is the header of
 * page.c and of its parts: page_time.c, page_curves.c, page_ranks.c and
 * page_result.c.
 */
#ifndef JR_PAGE_H
#define JR_PAGE_H

#include "record/load_results.h"
#include "record/timeline.h"
#include "report/html.h"

struct jr_html_page {
    struct jr_buf *out;
    const struct jr_loaded_run *loaded;
    const json_t *run;     /* run.json; NULL: unreadable */
    const json_t *explain; /* explain.json; NULL: the run kept none */
    struct jr_timeline timeline;
    int fd;           /* of the run folder */
    const char *base; /* what links to its files begin with */
};

/* page_ranks.c: of a run that hung, what the ranks were doing. */
void jr_html_page_hang(const struct jr_html_page *html);

/* page_time.c: when each rank ran, drawn; and what happened, as a list. */
void jr_html_page_time(const struct jr_html_page *html);

/* page_curves.c: the metrics over the steps, drawn, and their extremes. Nothing
 * where there are none. */
void jr_html_page_curves(const struct jr_html_page *html);

/* page_ranks.c: the mesh. */
void jr_html_page_mesh(const struct jr_html_page *html);

/* The same file: what became of each rank. */
void jr_html_page_ranks(const struct jr_html_page *html);

/* page_result.c: what the ranks delivered. */
void jr_html_page_results(const struct jr_html_page *html);

/* The same file: what they used. */
void jr_html_page_usage(const struct jr_html_page *html);

/* A cell of a table with text from outside. */
void jr_html_page_cell(const struct jr_html_page *html, const char *text);

/* The same with a time, in seconds. */
void jr_html_page_seconds(const struct jr_html_page *html, uint64_t ns);

/* The same with a size, in MiB. */
void jr_html_page_bytes(const struct jr_html_page *html, uint64_t bytes);

/* The opening of a part: <section id> and its <h2>. */
void jr_html_page_open(const struct jr_html_page *html, const char *id,
                       const char *title);

/* The end of a part. */
void jr_html_page_close(const struct jr_html_page *html);

/* A state as people read it: "after the first failure". */
const char *jr_html_page_state(enum jr_rank_state state);

#endif
