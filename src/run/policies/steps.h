/* The steps that ranks tell; see steps.c. */
#ifndef JR_STEPS_H
#define JR_STEPS_H

#include "eventloop/loop.h"
#include "output/step_lines.h"
#include "run/policies/policies.h"
#include "store/step_tracker.h"

struct jr_step_file;

/* What the policy remembers. */
struct jr_step_watch {
    bool open;
    struct jr_step_tracker tracker;
    struct jr_step_lines streams, lines; /* of the streams, of the files */
    struct jr_watch folder;              /* inotify(7); -1: not watched */
    int folder_fd;                       /* of the files; -1: none */
    struct jr_step_file *files;          /* one a rank */
    char *bytes;                         /* of a file, read just now */
    struct jr_timer flush, limit;
    struct jr_timer watch; /* when the folder's begins, if not at once */
    struct jr_step_limit limits;
};

extern const struct jr_runner_policy jr_steps_policy;

/* All that the ranks wrote has been read: write the files for the last time. */
void jr_steps_finish(struct jr_runner *runner);

#endif
