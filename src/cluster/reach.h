/*
 * Whether ranks on one host would reach those on another: a listener that greets whoever connects
 * with a token, and the connection that wants that token. A name that means another machine over
 * there is found out by it.
 */
#ifndef JR_REACH_H
#define JR_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include <jobrun/error.h>

/* What became of a connection. */
enum jr_reach {
    JR_REACH_OK,
    JR_REACH_UNKNOWN,   /* the name means nothing there */
    JR_REACH_REFUSED,   /* nobody listens, or a firewall says so */
    JR_REACH_TIMED_OUT, /* a firewall drops it, or the address is another's */
    JR_REACH_ANOTHER,   /* somebody else answers */
    JR_REACH_FAILED
};

/* Listen at *port on all addresses; where that is taken and not `stated`, at one of the next.
 * Returns a descriptor that does not block, and the port. -1 with `err`. listen(2) */
int jr_reach_listen(uint32_t *port, bool stated, struct jr_error *err);

/* Who greets, and what is wanted of who answers. */
struct jr_greeting {
    const char *token;
    int listener; /* -1: none is here */
};

/* Greet everybody who has connected meanwhile. */
void jr_reach_greet(const struct jr_greeting *greeting);

/* Connect to a name or an address, of which an IPv6 one may be in brackets, and
 * wait for the token; five seconds in all. The listener here greets meanwhile:
 * it may be the one that is reached. Why the token did not come is appended to
 * `why`. getaddrinfo(3), connect(2) */
enum jr_reach jr_reach_connect(const char *address, uint32_t port,
                               const struct jr_greeting *greeting, struct jr_buf *why);

/* Whether a name or an address means anything here, as is found out within ten seconds: a resolver
 * may take minutes. -1 with why not in `err`: the text of gai_strerror(3), or that there was no
 * answer. *ret_own, unless it is NULL, is whether it is an address of this machine. getaddrinfo(3)
 * in a process of its own, bind(2) */
int jr_reach_resolve(const char *address, bool *ret_own, struct jr_error *err);

#endif
