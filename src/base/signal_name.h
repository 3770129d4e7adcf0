/* Signals by name, as people and records have them. */
#ifndef JR_SIGNAL_NAME_H
#define JR_SIGNAL_NAME_H

#define JR_SIGNAL_NAME 24 /* bytes of a name */

/* Write the name of a signal: "SIGTERM", "SIGRTMIN+3", or "signal 99" for what
 * is none. */
void jr_signal_name(char out[static JR_SIGNAL_NAME], int signal);

/* The number of the signal that has this name; 0 when none has. */
int jr_signal_of(const char *name);

#endif
