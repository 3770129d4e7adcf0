/*
 * What comes of a link, line by line: frames of agents, and what else its program prints, which is
 * for the console. Not for other layers.
 */
#ifndef JR_LINK_LINES_H
#define JR_LINK_LINES_H

#include "cluster/link.h"

/* Take the whole lines of the program's standard output. */
void jr_link_take_output(struct jr_link *link);

/* The same of its standard error. Where each node has a link of its own, lines wait until it has
 * answered. */
void jr_link_take_errors(struct jr_link *link);

/* There will be no answer: show the lines that wait for it. */
void jr_link_forward_early(struct jr_link *link);

#endif
