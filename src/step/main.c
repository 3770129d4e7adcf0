#include "step.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "banned.h"

/* A rank has no other descriptor, so a socket there is the runner's. */
static int control_fd(void)
{
    struct stat st;
    if (fstat(JR_STEP_CONTROL, &st) != 0 || !S_ISSOCK(st.st_mode))
        return -1;
    (void)fcntl(JR_STEP_CONTROL, F_SETFD, FD_CLOEXEC);
    return JR_STEP_CONTROL;
}

/* As a helper it says to the runner, in the words of run/start_helper.h, that
 * it is none. */
static int refuse_to_serve(void)
{
    static const char text[] =
        "failed import\na library is not loaded by a helper yet: leave "
        "start_method out, or write start_method: spawn";
    (void)send(JR_STEP_CONTROL, text, sizeof text - 1, MSG_NOSIGNAL);
    return JR_STEP_UNSTARTED;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return refuse_to_serve();
    if (argc < 3) {
        (void)fprintf(stderr, "usage: jobrun-step PATH SYMBOL [ARG]...\n");
        return JR_STEP_UNSTARTED;
    }
    struct jr_step step = {.path = argv[1],
                           .symbol = argv[2],
                           .argc = argc - 3,
                           .argv = argv + 3,
                           .control = control_fd()};
    return jr_step_run(&step);
}
