/* What the files of this folder share: the parts of the summary (summary.h) and of the HTML report
 * (page.h), and the terminal of `top`. */
#ifndef JR_REPORT_INTERNAL_H
#define JR_REPORT_INTERNAL_H

#include <signal.h>
#include <termios.h>

#include "report/page.h"
#include "report/summary.h"

/* summary.c: what became of the run, its nodes and ranks, and what these delivered. */

/* That of a run of the past, whose folder is open. */
struct jr_page jr_page_of(const struct jr_loaded_run *loaded, int fd, struct jr_buf *out);

/* "FAILED after 14.2 s: rank 3 exited with code 1". */
void jr_print_headline(const struct jr_page *page);

/* The first line: the headline, with the exit status at the right. */
void jr_print_verdict(const struct jr_page *page);

/* How the first cause ended, as "rank 3 exited with code 1". */
void jr_print_end(const struct jr_page *page);

/* The processes that are left. */
void jr_print_left(const struct jr_page *page);

/* Append how the nodes ended (jr_multinode_nodes) as lines: those that did not succeed, a few of
 * them, each behind `before`. */
void jr_multinode_print(struct jr_buf *out, const json_t *nodes, const char *before);

/* The line of what the ranks delivered, with its newline:
 * "accuracy 0.953 .. 0.961   weights_sha equal". Nothing when there are no
 * fields. */
void jr_print_fields(const struct jr_page *page);

/* Append what the ranks delivered as one field, in full: "0.953125 .. 0.961", a value that all
 * have, or "differs". Nothing where none delivered it. */
void jr_print_field(struct jr_buf *out, const struct jr_judgement *report, const char *name);

/* The result of the lowest rank that delivered an object; borrowed, or NULL. */
json_t *jr_print_first_result(const struct jr_judgement *report);

/* failure_text.c: how ranks ended, and what to do. */

/* Rank `i` of the outcome: who it was, its exception, its last lines. */
void jr_print_rank(const struct jr_page *page, size_t i);

/* The same of the first cause, and who failed together with it. */
void jr_print_cause(const struct jr_page *page);

/* The ranks that had ended with 0 by the first failure, if there are any. */
void jr_print_early(const struct jr_page *page);

/* What became of the other ranks that are not the cause, a line for each kind of end; `label` is
 * before the first of them, NULL: no column for it. */
void jr_print_others(const struct jr_page *page, const char *label);

/* Append "rank 3" or "ranks 0-2,5": the ranks in `state`, but for the first cause; a long list is
 * cut and counted. Returns how many they are. */
size_t jr_print_ranks(struct jr_buf *out, const struct jr_page *page, enum jr_rank_state state);

/* The log of a rank that holds something: stderr, else stdout. NULL: nothing was written, or
 * captured. */
const char *jr_print_log(const struct jr_page *page, const struct jr_plan_rank *rank);

/* Text from outside, escaped. NULL is nothing. */
void jr_print_text(const struct jr_page *page, const char *text);

/* Append a line with what to try about the end of rank `i` of the outcome, by its exception, its
 * last lines and how it ended; nothing where that is not known. */
void jr_print_next_step(const struct jr_page *page, size_t i);

/* The same about the ranks that wrote no result. */
void jr_print_result_step(const struct jr_page *page);

/* page.c and page_plots.c: parts of the HTML report. */

/* When each rank ran, drawn; and what happened, as a list. */
void jr_html_page_time(const struct jr_html_page *html);

/* The metrics over the steps, drawn, and their extremes. Nothing where there are none. */
void jr_html_page_curves(const struct jr_html_page *html);

/* A state as people read it: "after the first failure". */
const char *jr_html_page_state(enum jr_rank_state state);

/* Of a run that hung, what the ranks were doing. */
void jr_html_page_hang(const struct jr_html_page *html);

/* The mesh. */
void jr_html_page_mesh(const struct jr_html_page *html);

/* What became of each rank. */
void jr_html_page_ranks(const struct jr_html_page *html);

/* What the ranks delivered. */
void jr_html_page_results(const struct jr_html_page *html);

/* What the ranks used. */
void jr_html_page_usage(const struct jr_html_page *html);

/* screen.c: a terminal that is drawn on. */

struct jr_screen {
    int out;               /* the terminal that is drawn on; it never blocks */
    int in;                /* the one that is typed on; -1: there is none */
    int keys;              /* the same while keys may come from it; else -1 */
    int signals;           /* a signalfd(2); -1: the screen is not open */
    bool taken, raw;       /* the terminals are ours at present */
    struct termios before; /* of `in` */
    sigset_t mask;         /* before it was opened */
};

/* What happened to an open screen. */
enum jr_screen_event {
    JR_SCREEN_NOTHING,
    JR_SCREEN_REDRAW, /* another size, or back in the foreground */
    JR_SCREEN_DIE     /* by a signal, once the screen is closed */
};

struct jr_screen_size {
    unsigned lines, columns;
};

/* Take the terminals `out` and, if that is one, `in`. False with errno if they or the signals
 * cannot be had. */
bool jr_screen_open(struct jr_screen *ret, int in, int out);

/* Give them back, and unblock the signals. A screen that is not open stays as it is. */
void jr_screen_close(struct jr_screen *screen);

/* Its size now; 24 lines of 80 columns where it does not say. */
struct jr_screen_size jr_screen_size(const struct jr_screen *screen);

/* Read the keys that were typed. The length; 0: there are none, and once the terminal has gone
 * there never will be. */
size_t jr_screen_keys(struct jr_screen *screen, char *ret, size_t size);

/* Read the signals that came. A stop gives the terminal back, stops the
 * process, and takes it again when the process continues. For DIE,
 * *ret_signal is the signal to raise after jr_screen_close. */
enum jr_screen_event jr_screen_signals(struct jr_screen *screen, int *ret_signal);

/* Draw `text` from the upper left corner, in lines that fit, and erase what was there before. False
 * if it cannot be written. */
bool jr_screen_draw(const struct jr_screen *screen, const struct jr_buf *text);

#endif
