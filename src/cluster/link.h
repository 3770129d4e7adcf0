/*
 * The controller's end of the three streams of a carrier (transport.h): what is sent waits for
 * room, and what comes is taken line by line. Not for other layers.
 */
#ifndef JR_LINK_H
#define JR_LINK_H

#include "base/inlet.h"
#include "cluster/transport.h"
#include "eventloop/loop.h"

struct jr_controller;

struct jr_link {
    struct jr_controller *controller;
    uint32_t node; /* that it reaches, where the transport has one for each */
    pid_t pid;     /* 0: it has ended */
    struct jr_watch in, out, err, process;
    struct jr_inlet out_lines, err_lines;
    struct jr_buf outbox; /* what the program has not taken yet */
    size_t sent;
    const char *bulk; /* borrowed bytes that go before that; NULL: none do */
    size_t bulk_len, bulk_sent;
    void (*feed)(struct jr_link *link); /* sends more, where nothing waits;
                                           NULL: there is no more */
    bool in_watched;
    bool answered;         /* something has come of the agent */
    struct jr_inlet early; /* lines of its standard error before that */
    bool closed;           /* nothing is sent any more */
    bool ended;            /* the program is gone, and all it had is read */
    int status;            /* of waitpid(2), then */
    char last_line[512];   /* of its standard error */
    char telling[512];     /* the first of its lines that says why the node cannot
                              be reached; "": none has */
};

/* Prepare a link, with nothing behind it. */
void jr_link_init(struct jr_link *link, struct jr_controller *controller, uint32_t node);

/* Start its program. -1 with `err`; jr_link_close closes it in any case. */
int jr_link_open(struct jr_link *link, struct jr_error *err);

/* Send bytes; what there is no room for waits. False: there was no memory for them, and they are
 * not sent. */
bool jr_link_send(struct jr_link *link, const char *bytes, size_t len);

/* Send bytes that stay where they are until jr_link_close, before all that waits. Once. */
void jr_link_send_bulk(struct jr_link *link, const char *bytes, size_t len);

/* Have `feed` called whenever the program has taken all that was sent, for what is too much to wait
 * for room; NULL: no longer. */
void jr_link_feed(struct jr_link *link, void (*feed)(struct jr_link *link));

/* Send no more: who reads sees the end. */
void jr_link_close_input(struct jr_link *link);

/* Take note of the end of its program, if it has ended. */
void jr_link_reap(struct jr_link *link);

/* The same where somebody else has waited for it. */
void jr_link_take_end(struct jr_link *link, int status);

/* Kill the program, and wait for its end. */
void jr_link_kill(struct jr_link *link);

/* The line that says why a node was not reached, as far as the program has said anything; NULL: it
 * has not. */
const char *jr_link_refusal(const struct jr_link *link);

/* Append how its program ended: "srun ended with exit code 1; its last output:
 * ...", and where no agent has `answered` what is to be done about it. */
void jr_link_describe_end(struct jr_buf *out, const struct jr_link *link, bool answered);

/* Close what is open, once its program has ended. */
void jr_link_close(struct jr_link *link);

#endif
