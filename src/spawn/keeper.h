/*
 * A command of the user's that belongs to no rank, with a process above it that sees it through:
 * the keeper. It limits the time that the command takes, and ends whatever the command has left
 * behind. As it is a process of its own, it does so where jobrun is killed meanwhile, too.
 */
#ifndef JR_KEEPER_H
#define JR_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

struct jr_keeper_command {
    char *const *argv, *const *env; /* NULL-terminated */
    const char *workdir;            /* absolute */
    int out_fd;                     /* its output and errors; -1: nowhere */
    unsigned limit_ms;              /* then it is killed */
};

enum jr_keeper_end {
    JR_KEEPER_LOST,      /* the keeper was killed: nobody knows */
    JR_KEEPER_NO_FOLDER, /* value: an errno */
    JR_KEEPER_NO_START,  /* value: an errno */
    JR_KEEPER_EXITED,    /* value: the exit code */
    JR_KEEPER_SIGNALED,  /* value: the signal */
    JR_KEEPER_TIMED_OUT, /* it was killed at the limit */
    JR_KEEPER_STOPPED    /* it was killed because of jr_keeper_stop */
};

/* What became of a command. */
struct jr_keeper_report {
    enum jr_keeper_end end;
    int value;
    bool left; /* it had ended, and processes that it started had not */
};

struct jr_keeper {
    pid_t pid; /* 0: there is none */
    int fd;    /* readable once there is a report */
};

/* Start the command under a keeper of its own, in a session of its own, with /dev/null as its
 * input, and no signal blocked. `command` is not needed afterwards. 0, or -1 with errno where no
 * process can be made; a command that cannot be executed has a report like any other. */
int jr_keeper_start(struct jr_keeper *ret, const struct jr_keeper_command *command);

/* Kill the command, and all that it started; there is a report soon. */
void jr_keeper_stop(const struct jr_keeper *keeper);

/* Wait for the report, and reap the keeper: afterwards there is none. */
void jr_keeper_finish(struct jr_keeper *keeper, struct jr_keeper_report *ret);

#endif
