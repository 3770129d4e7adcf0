/*
 * The logs of a run: the bytes that the ranks wrote, as they wrote them, except for what would move
 * a terminal's cursor or set its title; with a heading for each file where there are several, as
 * tail(1) does it.
 *
 * To follow them is to continue, through the attempts of a run, until that has its results, or is
 * gone without them, woken by inotify(7) and a pidfd; then it is lines with the rank before them
 * where there are several files. Of what other machines write inotify tells nothing: there, a look
 * is taken each second.
 */
#ifndef JR_FOLLOW_LOGS_H
#define JR_FOLLOW_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

struct jr_set;

/* Which logs, and how they are to be printed. */
struct jr_logs_view {
    const struct jr_set *ranks;
    const uint32_t *attempt; /* NULL: the last, and with `follow` later ones */
    const uint32_t *tail;    /* lines of each to begin with; NULL: all */
    bool follow;
    bool terminal;                              /* it is one that is printed to */
    bool color;                                 /* it shows colours */
    void (*note)(void *data, const char *line); /* of what is not to be seen;
                                                   NULL */
    void *data;
};

/* Print the logs of the run LOG_DIR/ID to `out_fd`, of which nobody reads any more being no
 * failure. -1 with `err`: JR_STATUS_USAGE where there are no such logs, JR_STATUS_LAUNCH where they
 * cannot be printed, or a run that was followed left no results. */
int jr_logs_print(int out_fd, const char *log_dir, const char *id, const struct jr_logs_view *view,
                  struct jr_error *err);

#endif
