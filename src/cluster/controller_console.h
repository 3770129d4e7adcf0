/*
 * The controller's console: lines of all nodes, while they run and afterwards.
 *
 * A full console blocks no rank and no message of an agent: agents are told to keep their lines,
 * and on each node the runner continues to write its files and catches up from them (catch_up.h).
 * What a node has not shown when its ranks have ended follows its `done`, and then comes `shown`.
 */
#ifndef JR_CONTROLLER_CONSOLE_H
#define JR_CONTROLLER_CONSOLE_H

#include "cluster/controller_parts.h"

/* Open the console of all runs on these descriptors (-1: closed); a second time nothing is done. */
void jr_controller_open_console(struct jr_controller *controller, int out_fd, int err_fd);

/* Show the whole lines of a channel of a node. */
void jr_controller_read_lines(struct jr_controller *controller, uint32_t node,
                              enum jr_channel type);

/* Show bytes that end a line, on standard output (`stream` 0) or standard error (1). */
void jr_controller_show(struct jr_controller *controller, int stream, const char *bytes,
                        size_t len);

#endif
