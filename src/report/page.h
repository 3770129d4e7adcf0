/*
 * The report as one HTML file, and what the page of a sweep has in common with it. Nothing in the
 * file is fetched or executed: text, tables and drawings.
 */
#ifndef JR_PAGE_H
#define JR_PAGE_H

#include "record/load_results.h"
#include "record/timeline.h"
#include "base/buf.h"

/* Append text of our own making: & < > " ' as references. */
void jr_html_escape(struct jr_buf *out, const char *text, size_t len);

/* Append text from outside: control bytes, broken UTF-8 and what turns the direction of writing as
 * \xNN, then as above. NULL is nothing. */
void jr_html_text(struct jr_buf *out, const char *text);

/* Append it between two pieces of markup. */
void jr_html_put(struct jr_buf *out, const char *before, const char *text, const char *after);

/* Append a link to the file `path` beneath the folder `base`, both relative or absolute paths and
 * no URLs: what is not a letter, a digit or one of /-._~ is percent-encoded (RFC 3986, 2.1), so
 * that it cannot begin with a scheme. The text of the link is `label`. */
void jr_html_link(struct jr_buf *out, const char *base, const char *path, const char *label);

/* Append a small plot of `count` values by their index, with `label` (our own text, escaped by the
 * caller) for those who do not see it. NAN: no value there. Nothing where all are the same or
 * missing. */
void jr_html_plot(struct jr_buf *out, const char *label, const double *values, size_t count);

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

/* The file's own head, up to its <body>: the title, of which `status` is a word of ours, and how
 * all of it looks. */
void jr_html_page_head(struct jr_buf *out, const char *title, const char *status);

/* The opening of a part: <section id> and its <h2>. */
void jr_html_page_open(const struct jr_html_page *html, const char *id, const char *title);

/* The end of a part. */
void jr_html_page_close(const struct jr_html_page *html);

/* Draw the metrics of several runs, which stand for the ranks of `metrics`: cells of a sweep, by
 * their numbers. For each metric a drawing with a line for each of them. */
void jr_html_cell_curves(const struct jr_html_page *html, const struct jr_metrics *metrics);

#endif
