/*
 * The report as one HTML file, in parts; page.c puts them together, and has the first and the last
 * of them: verdict, origin, place and files. Nothing in the file is fetched or executed: text,
 * tables and drawings. The parts between are page_time.h, page_curves.h, page_ranks.h and
 * page_result.h.
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

/* A cell of a table with text from outside. */
void jr_html_page_cell(const struct jr_html_page *html, const char *text);

/* The same with a time, in seconds. */
void jr_html_page_seconds(const struct jr_html_page *html, uint64_t ns);

/* The same with a size, in MiB. */
void jr_html_page_bytes(const struct jr_html_page *html, uint64_t bytes);

/* The file's own head, up to its <body>: the title, of which `status` is a word of ours, and how
 * all of it looks. */
void jr_html_page_head(struct jr_buf *out, const char *title, const char *status);

/* The opening of a part: <section id> and its <h2>. */
void jr_html_page_open(const struct jr_html_page *html, const char *id, const char *title);

/* The end of a part. */
void jr_html_page_close(const struct jr_html_page *html);

/* A state as people read it: "after the first failure". */
const char *jr_html_page_state(enum jr_rank_state state);

#endif
