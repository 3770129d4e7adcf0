/* What survey_hosts.c finds out, and hosts_text.c tells. Not for other files.
 */
#ifndef JR_HOSTS_REPORT_H
#define JR_HOSTS_REPORT_H

#include "cluster/reach.h"
#include "host/host.h"
#include "session/survey_hosts.h"

struct jr_host_fault {
    const char *message;
    const char *help; /* NULL: nothing is known to be done */
};

struct jr_host_report {
    const char *name;    /* as it was stated */
    bool answered;       /* it has sent its facts: */
    struct jr_host host; /* of which `devices` and the like are read */
    const char *version; /* of its jobrun; NULL: not known */
    const char *devices; /* "8 NVIDIA H100", or its CPUs */
    bool timed;
    int64_t clock_offset_ns; /* its wall clock less ours */
    uint64_t clock_error_ns; /* how exactly that is known */
    bool tried;              /* to connect to where ranks would meet: */
    enum jr_reach reach;
    struct jr_host_fault *faults;
    size_t faults_count;
    bool unable; /* no rank can run there as it is */
};

/* A value, and the hosts that have it. */
struct jr_host_group {
    const char *value;
    const char **hosts;
    size_t count;
};

/* What is not the same on all hosts that have answered. */
struct jr_host_difference {
    const char *name;
    struct jr_host_group *groups;
    size_t count;
};

struct jr_hosts_report {
    struct jr_arena arena;
    struct jr_host_report *hosts;
    uint32_t count;
    const char *meeting; /* "gpu01:29500"; NULL: nobody listened */
    struct jr_host_difference *differences;
    size_t differences_count;
};

#endif
