/* Signals by name, as people and records have them. */
#ifndef JR_SIGNAL_NAME_H
#define JR_SIGNAL_NAME_H

/* "SIGTERM", "SIGRTMIN+3", or "signal 99" for what is none; and back, 0 when
 * unknown. */
#define JR_SIGNAL_NAME 24 /* bytes of it */
void jr_signal_name(char out[static JR_SIGNAL_NAME], int signal);
int jr_signal_of(const char *name);

#endif
