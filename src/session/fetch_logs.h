/*
 * Logs of which only the end has come back from a host that does not see the run folder
 * (left_files.h): all of a log is fetched from there, by ssh, when somebody wants to read it, and
 * takes its place.
 */
#ifndef JR_FETCH_LOGS_H
#define JR_FETCH_LOGS_H

#include <stdint.h>

struct jr_set;

/* Whose logs. */
struct jr_fetch_logs {
    const char *log_dir, *id;
    const struct jr_set *ranks;
    const uint32_t *attempt;                    /* NULL: the last */
    char *const *envp;                          /* of ssh */
    void (*note)(void *data, const char *line); /* what was not fetched, and
                                                   why */
    void *data;
};

/* Fetch what is not here. A run of another user is left as it is: what says where its logs are is a
 * word for ssh. */
void jr_fetch_logs(const struct jr_fetch_logs *wanted);

#endif
