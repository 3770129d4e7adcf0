/*
 * The report as one HTML file, in parts; page.c puts them together. Nothing in
 * it is fetched or executed: text, tables and drawings.
 */
#ifndef JR_PAGE_H
#define JR_PAGE_H

#include "record/load_results.h"
#include "record/timeline.h"
#include "report/html.h"

struct jr_web {
    struct jr_buf *out;
    const struct jr_past *past;
    const json_t *run;     /* run.json; NULL: unreadable */
    const json_t *explain; /* explain.json; NULL: the run kept none */
    struct jr_timeline timeline;
    int fd;           /* of the run folder */
    const char *base; /* what links to its files begin with */
};

/* page_hang.c: of a run that hung, what the ranks were doing. */
void jr_web_hang(const struct jr_web *web);

/* page_time.c: when each rank ran, drawn; and what happened, as a list. */
void jr_web_time(const struct jr_web *web);

/* page_ranks.c: the mesh, and what became of each rank. */
void jr_web_mesh(const struct jr_web *web);
void jr_web_ranks(const struct jr_web *web);

/* page_result.c: what the ranks delivered, and what they used. */
void jr_web_results(const struct jr_web *web);
void jr_web_usage(const struct jr_web *web);

/* page_origin.c: where values came from, where it ran, and its files. */
void jr_web_origin(const struct jr_web *web);
void jr_web_place(const struct jr_web *web);
void jr_web_files(const struct jr_web *web);

/* A cell of a table with text from outside, and one with a number. */
void jr_web_cell(const struct jr_web *web, const char *text);
void jr_web_seconds(const struct jr_web *web, uint64_t ns);
void jr_web_bytes(const struct jr_web *web, uint64_t bytes);

/* The opening and the end of a part: <section id> and its <h2>. */
void jr_web_open(const struct jr_web *web, const char *id, const char *title);
void jr_web_close(const struct jr_web *web);

/* A state as people read it: "after the first failure". */
const char *jr_web_state(enum jr_rank_state state);

#endif
