#include "worker/c/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

/* A rank has no other descriptor, so a socket there is the runner's. */
static void find_control(struct jr_worker *step)
{
    struct stat st;
    step->control = -1;
    if (fstat(JR_STEP_CONTROL, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    (void)fcntl(JR_STEP_CONTROL, F_SETFD, FD_CLOEXEC);
    step->control = JR_STEP_CONTROL;
    step->control_ino = st.st_ino;
}

int main(int argc, char **argv)
{
    struct jr_worker_words words = {argc, argv};
    bool refuse = argc == 4 && strcmp(argv[2], "--refuse-threads") == 0;
    bool serves = argc == 3 + refuse && strcmp(argv[1], "serve") == 0;
    if (serves)
        jr_worker_serve(argv[2 + refuse], refuse, &words);
    if (words.argc < 3) {
        (void)fprintf(stderr, "usage: jobrun-step PATH SYMBOL [ARG]...\n"
                              "       jobrun-step serve "
                              "[--refuse-threads] PATH\n");
        return JR_STEP_UNSTARTED;
    }
    struct jr_worker step = {.path = words.argv[1],
                             .symbol = words.argv[2],
                             .argc = words.argc - 3,
                             .argv = words.argv + 3,
                             .forked = serves};
    find_control(&step);
    return jr_worker_run(&step);
}
