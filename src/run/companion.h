/*
 * The other process of a run. Each of guard and runner can write the record of the run when the
 * other was killed: the guard does it as ever; the runner, which is a fork of the guard and so has
 * all that the guard knows, does it where the guard is gone. For that it stays, when its ranks have
 * ended, until the guard says that the record is written, or the next attempt has begun.
 */
#ifndef JR_COMPANION_H
#define JR_COMPANION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/run.h>

struct jr_companion {
    /* Write the record; called in the runner, once nothing is left of the run, where the guard was
     * killed. `run_fd` is the run folder. What it returns from is the end of the process. */
    void (*complete)(void *data, const struct jr_outcome *outcome, int run_fd);
    void *data;
    uint64_t key;  /* of the run's guard */
    pid_t pid;     /* of the runner that stays; 0: none does */
    int fd;        /* its pidfd; -1: none */
    int life_fd;   /* what it sees our end by, without pidfds; -1: none */
    bool *written; /* in memory that both share: the guard has written the
                      record, whatever else its folder holds; NULL: there is no
                      such memory */
};

/* That memory, with false in it; NULL. It is jr_companion_close's to free. */
bool *jr_companion_share(void);

/* In the guard: the runner that stays is not needed any more. Ends and reaps it; where none stays,
 * nothing happens. */
void jr_companion_release(struct jr_companion *companion);

/* The same at the end of all attempts; what both shared is freed. */
void jr_companion_close(struct jr_companion *companion);

struct jr_runner;

/* In the runner: its last act. Where the record is the guard's to write, tell it so by the
 * eventfd(2) `done_fd`, and stay until that is done; where the guard has ended, or ends meanwhile,
 * write it. Never returns. */
_Noreturn void jr_companion_end(struct jr_runner *runner, int done_fd);

/* The identity of a guard: a number made from its record: boot, pid and start time. A NULL boot is
 * not known. */
uint64_t jr_companion_key(const char *boot_id, int64_t pid, uint64_t ticks);

/* In the runner of the guard `key`: be known as the one that completes the record of the folder
 * `run_fd`, for as long as the process lives. */
void jr_companion_hold(int run_fd, uint64_t key);

/* The process that completes the record of the folder `run_fd`, which says that its guard was
 * `key`; 0: none does; -1: one that cannot be seen from here. */
pid_t jr_companion_of(int run_fd, uint64_t key);

/* How a process ended that is not our child: the signal that killed it, as the kernel reports it;
 * 0: the kernel does not say. `pid` is its number in the /proc at `proc_fd`. */
int jr_companion_signal(int pidfd, pid_t pid, int proc_fd);

#endif
