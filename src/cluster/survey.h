/*
 * A survey of hosts (`jobrun doctor --hosts`): an agent is started on each as for a job, but one
 * that does not answer ends nothing. Those that do are asked for their clock, the first of them
 * listens where rank 0 would, and all connect to it as other ranks would.
 */
#ifndef JR_SURVEY_H
#define JR_SURVEY_H

#include "cluster/controller.h"

/* What became of a connection. */
enum jr_reach {
    JR_REACH_OK,
    JR_REACH_UNKNOWN,   /* the name means nothing there */
    JR_REACH_REFUSED,   /* nobody listens, or a firewall says so */
    JR_REACH_TIMED_OUT, /* a firewall drops it, or the address is another's */
    JR_REACH_ANOTHER,   /* somebody else answers */
    JR_REACH_FAILED
};

struct jr_survey;

/* Where ranks would meet. */
struct jr_survey_options {
    const char *address; /* of the first host; NULL: as it is called */
    uint32_t port;       /* 0: the one that it offers, or one of the next */
    uint64_t limit_ms;   /* for an answer; 0: a minute */
};

/* What became of a host. */
struct jr_survey_host {
    const char *failure; /* why it cannot take part; NULL: it can */
    const char *advice;  /* what to do about that; NULL: nothing is known */
    const char *facts;   /* YAML; "": it did not answer */
    size_t facts_len;
    const char *version;     /* of its jobrun; NULL: it did not answer */
    bool timed;              /* its clock is known: */
    int64_t clock_offset_ns; /* its wall clock less ours */
    uint64_t clock_error_ns; /* how exactly that is known */
    bool tried;              /* it was told to connect: */
    enum jr_reach reach;     /* how that went */
    const char *reach_why;   /* in the system's words; "": it went well */
};

/* Ask all hosts at once, each within its limit. -1 with `err` where nobody could be asked. The
 * options are borrowed until jr_survey_end. */
int jr_survey_hosts(struct jr_survey **ret, const struct jr_controller_options *options,
                    const struct jr_survey_options *meeting, struct jr_error *err);

/* One of them. Valid until jr_survey_end. */
struct jr_survey_host jr_survey_host(const struct jr_survey *survey, uint32_t node);

/* The host that listens, and the port there; -1: none does, and if one was asked, why not is in
 * *ret_why, else that is NULL. */
int jr_survey_meeting(const struct jr_survey *survey, uint32_t *ret_port, const char **ret_why);

/* Let the agents go. NULL is allowed. */
void jr_survey_end(struct jr_survey *survey);

/*
 * Whether ranks on one host would reach those on another: a listener that greets whoever connects
 * with a token, and the connection that wants that token. A name that means another machine over
 * there is found out by it.
 */

/* Listen at *port on all addresses; where that is taken and not `stated`, at one of the next.
 * Returns a descriptor that does not block, and the port. -1 with `err`. listen(2) */
int jr_reach_listen(uint32_t *port, bool stated, struct jr_error *err);

/* Greet everybody with a token who has connected to the listener meanwhile. */
void jr_reach_greet(int listener, const char *token);

/* Connect to a name or an address, of which an IPv6 one may be in brackets, and
 * wait for the token; five seconds in all. The `listener` here (-1: there is none) greets with it
 * meanwhile: it may be the one that is reached. Why the token did not come is appended to `why`.
 * getaddrinfo(3), connect(2) */
enum jr_reach jr_reach_connect(const char *address, uint32_t port, const char *token, int listener,
                               struct jr_buf *why);

/* Whether a name or an address means anything here, as is found out within ten seconds: a resolver
 * may take minutes. -1 with why not in `err`: the text of gai_strerror(3), or that there was no
 * answer. *ret_own, unless it is NULL, is whether it is an address of this machine. getaddrinfo(3)
 * in a process of its own, bind(2) */
int jr_reach_resolve(const char *address, bool *ret_own, struct jr_error *err);

#endif
