/*
 * The report as one HTML file, in parts; page.c puts them together. Nothing in
 * it is fetched or executed: text, tables and drawings. This is the header of
 * page.c and of its parts: page_time.c, page_ranks.c, page_result.c and
 * page_origin.c.
 */
#ifndef JR_PAGE_H
#define JR_PAGE_H

#include "record/load_results.h"
#include "record/timeline.h"
#include "report/html.h"

struct jr_html_page {
    struct jr_buf *out;
    const struct jr_loaded_run *past;
    const json_t *run;     /* run.json; NULL: unreadable */
    const json_t *explain; /* explain.json; NULL: the run kept none */
    struct jr_timeline timeline;
    int fd;           /* of the run folder */
    const char *base; /* what links to its files begin with */
};

/* page_ranks.c: of a run that hung, what the ranks were doing. */
void jr_html_page_hang(const struct jr_html_page *web);

/* page_time.c: when each rank ran, drawn; and what happened, as a list. */
void jr_html_page_time(const struct jr_html_page *web);

/* The same file: the mesh. */
void jr_html_page_mesh(const struct jr_html_page *web);

/* The same file: what became of each rank. */
void jr_html_page_ranks(const struct jr_html_page *web);

/* page_result.c: what the ranks delivered. */
void jr_html_page_results(const struct jr_html_page *web);

/* The same file: what they used. */
void jr_html_page_usage(const struct jr_html_page *web);

/* page_origin.c: where values came from. */
void jr_html_page_origin(const struct jr_html_page *web);

/* The same file: where it ran. */
void jr_html_page_place(const struct jr_html_page *web);

/* The same file: its files. */
void jr_html_page_files(const struct jr_html_page *web);

/* A cell of a table with text from outside. */
void jr_html_page_cell(const struct jr_html_page *web, const char *text);

/* The same with a time, in seconds. */
void jr_html_page_seconds(const struct jr_html_page *web, uint64_t ns);

/* The same with a size, in MiB. */
void jr_html_page_bytes(const struct jr_html_page *web, uint64_t bytes);

/* The opening of a part: <section id> and its <h2>. */
void jr_html_page_open(const struct jr_html_page *web, const char *id,
                       const char *title);

/* The end of a part. */
void jr_html_page_close(const struct jr_html_page *web);

/* A state as people read it: "after the first failure". */
const char *jr_html_page_state(enum jr_rank_state state);

/* How a report is to be. */
struct jr_record_look {
    bool html;
    bool color;       /* of text */
    const char *base; /* of HTML: the run folder, from where the file will be */
};

/* Append the report of a run that has results: the lines that it ended with, or
 * one HTML file with all that its folder says, which loads and runs nothing. */
int jr_record_report(struct jr_buf *out, const char *log_dir, const char *id,
                     const struct jr_record_look *look, struct jr_error *err);

#endif
