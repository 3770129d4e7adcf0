/*
 * Driving rundriver from a test: a folder of its own, its output in files, and every wait bounded.
 */
#ifndef JR_DRIVE_H
#define JR_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What hangs is given up after this; what does not hang never takes so long. */
#define JR_DRIVE_WAIT_MS 60000

struct jr_drive {
    char folder[64]; /* the working folder of the run */
    char mark[64];   /* in the environment of every process of the run */
    pid_t pid;       /* the guard; 0 once it was waited for */
    int status;      /* of waitpid */
    int terminal;    /* our end of its terminal; -1: it has none */
    int from;        /* our end of a pipe that is its standard output; -1 */
};

enum jr_drive_how {
    JR_DRIVE_FILES = 0,    /* out and err are files in the folder */
    JR_DRIVE_TERMINAL = 1, /* both are a terminal */
    JR_DRIVE_PIPE = 2,     /* out is a pipe that the test reads, or does not */
    JR_DRIVE_CLOSED = 4,   /* 0, 1 and 2 are closed */
    JR_DRIVE_NOHUP = 8,    /* HUP and INT are ignored */
    JR_DRIVE_NOCHLD = 32,  /* SIGCHLD is ignored */
    JR_DRIVE_CROWDED = 16  /* as many descriptors as its second byte says are
                              open from 3 on: JR_DRIVE_CROWD(count) */
};
#define JR_DRIVE_CROWD(count) (JR_DRIVE_CROWDED | (count) << 8)

/* Start rundriver with these words, split at blanks; %F is fakerank. Two FIFOs stand in the folder:
 * "ready" for ranks that tell, "go" for ranks that await jr_drive_go. */
void jr_drive_start(struct jr_drive *drive, unsigned how, const char *words);

/* Wait for `count` bytes in "ready". */
bool jr_drive_ready(struct jr_drive *drive, unsigned count);

/* Let one rank go on that awaits "go". */
void jr_drive_go(const struct jr_drive *drive);

/* Let all ranks go on that await "go", or are about to. */
void jr_drive_go_all(const struct jr_drive *drive);

/* Whether the guard ends within that time; it is not reaped. */
bool jr_drive_ends(const struct jr_drive *drive, int limit_ms);

/* Wait until the guard has ended; kills it when it takes too long. */
bool jr_drive_end(struct jr_drive *drive);

/* Start and end. */
bool jr_drive_run(struct jr_drive *drive, const char *words);

/* A file of the folder ("out", "err", "outcome", or a path below it), NUL behind it; malloc'ed, ""
 * when there is none. *ret_len may be NULL. */
char *jr_drive_read(const struct jr_drive *drive, const char *name, size_t *ret_len);

/* Whether such a file holds this text; tells what it holds when not. */
bool jr_drive_has(const struct jr_drive *drive, const char *name, const char *text);

/* How many processes bear the mark; waits up to `ms` for there to be none. */
unsigned jr_drive_survivors(const struct jr_drive *drive, unsigned ms);

/* Wait until such a file holds this text, or so many bytes. */
bool jr_drive_await(const struct jr_drive *drive, const char *name, const char *text);
bool jr_drive_holds(const struct jr_drive *drive, const char *name, size_t size);

/* The guard's one child, and the runner's i-th, waited for; 0 when there is none. */
pid_t jr_drive_runner(const struct jr_drive *drive);
pid_t jr_drive_rank(const struct jr_drive *drive, unsigned i);

/* The state letter of a process by /proc/PID/stat; waits for it to be `wanted` and returns whether
 * it came to that. */
bool jr_drive_state(pid_t pid, char wanted);

/* kill(2), never with a number that means more than one process. */
void jr_drive_kill(pid_t pid, int sig);

/* Whether it holds each of these texts, between |. */
void jr_drive_check(const struct jr_drive *drive, const char *name, const char *parts);

/* Remove the folder. */
void jr_drive_close(struct jr_drive *drive);

/* What is closed, or freed, with its block. */
#define DRIVE(name) struct jr_drive name __attribute__((cleanup(jr_drive_close)))
#define TEXT(name)  char *name __attribute__((cleanup(jr_drive_free)))
void jr_drive_free(char *const *text);

#endif
